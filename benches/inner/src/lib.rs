//! The page that the benches of `inner.rs` and `instructions.rs` read, and a server of such pages.

pub mod server;

use boardlot_client::extension::{
    api::{Envelope, RecordsLocation},
    decode::{Page, parse_page},
    error::Result,
};
use bytes::Bytes;
use http::Response;

/// The fills of a page.
pub const ROWS: usize = 50;

/// A page of fills as the service sends them, always the same.
pub fn response_body() -> Bytes {
    fills_page("next").into()
}

/// The same page with this cursor; the last page of a list has none.
pub fn fills_page(cursor: &str) -> String {
    let completed = cursor.is_empty();
    format!(
        r#"{{"s":"ok","d":{{"order_fills":{},"page_flag":"{cursor}","completed":{completed}}}}}"#,
        records()
    )
}

/// A page with as many records in the envelope of simulated orders.
pub fn orders_page() -> String {
    format!(r#"{{"ret_code":0,"data":{{"orders":{}}}}}"#, records())
}

fn records() -> String {
    let row = |index: usize| {
        format!(
            concat!(
                r#"{{"trd_side":"BUY","deal_id":"{}","order_id":"{}","code":"HK.{:05}","#,
                r#""stock_name":"港交所","qty":"{}","price":"{}.{:02}","create_time":{},"#,
                r#""updated_time":{},"counter_broker_id":{},"counter_broker_name":"Lion Rock","#,
                r#""trd_market":"HK","status":"OK"}}"#
            ),
            7_400_001_000_000_000_000_u64 - index as u64 * 7,
            6_200_001_000_000_000_000_u64 - index as u64 / 3,
            index * 61 + 1,
            100 * (index + 1),
            3 * index + 1,
            index % 100,
            1_787_000_000_000_000_u64 - index as u64 * 900_000_001,
            1_787_000_000_500_000_u64 - index as u64 * 900_000_001,
            1053 + index % 6,
        )
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    format!("[{}]", rows.join(","))
}

/// A page of fills, scanned.
pub fn parsed(body: &Bytes) -> Result<Page> {
    let at = RecordsLocation::at("d.order_fills");
    parse_page(Envelope::Status, &at, &Response::new(body.clone()))
}
