//! Windows of a time range: a record at a border, which two windows return, comes once.

use boardlot_client::extension::error::{Error, ErrorKind};

use super::scripted;

const SECOND: i64 = 1_000_000;
/// On a whole minute, and so is the border.
const START: i64 = 1_779_999_960 * SECOND;
const BORDER: i64 = START + 600 * SECOND;
const END: i64 = START + 1_200 * SECOND;

/// The ids that two windows return of fills at these times; the id of a fill is its time. Both bounds of a range belong
/// to it, or the service returns everything.
async fn received(times: &'static [i64], keeps_to_ranges: bool) -> Result<Vec<i64>, Error> {
    let respond = move |query: &scripted::Query| {
        let bound = |name| query.get(name).expect("a bound").parse().expect("a number");
        let asked: std::ops::RangeInclusive<i64> = bound("start")..=bound("end");
        let rows: Vec<String> = times
            .iter()
            .filter(|time| !keeps_to_ranges || asked.contains(time))
            .map(|time| format!("{{\"deal_id\":{time},\"updated_time\":{time}}}"))
            .collect();
        format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"completed\":true}}}}",
            rows.join(",")
        )
    };
    scripted::rest(scripted::pages(scripted::fills(Some(START), Some(END), 2), None, respond)?)
        .await
}

#[tokio::test]
async fn a_record_at_the_border_of_two_windows_comes_once() {
    let times = &[END, BORDER + 2 * SECOND, BORDER + 1, BORDER, BORDER - 1, BORDER - SECOND, START];
    assert_eq!(received(times, true).await.expect("rows"), times);
}

#[tokio::test]
async fn a_record_outside_the_requested_range_belongs_to_the_window_at_that_end() {
    let times = &[END + 1, END, START, START - 1];
    let one = received(times, false).await.expect_err("the other window returns it, too");
    assert!(matches!(*one.kind, ErrorKind::Protocol { .. }), "{one}");
    assert!(one.to_string().contains("is not within the requested time range"), "{one}");
    assert!(one.hint().contains("Windows::Number(1)"), "{one}");
}

#[tokio::test]
async fn a_record_that_only_the_neighbor_of_its_window_returns_is_an_error() {
    let respond = |query: &scripted::Query| {
        let is_later = query.get("end") == Some(&END.to_string());
        let row = format!("{{\"deal_id\":1,\"updated_time\":{}}}", BORDER - 1);
        let rows = if is_later { row } else { String::new() };
        format!("{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{rows}],\"completed\":true}}}}")
    };
    let pages = scripted::pages(scripted::fills(Some(START), Some(END), 2), None, respond);
    let error = scripted::rest(pages.expect("pages")).await.expect_err("refused");
    assert!(error.to_string().contains("was returned for one of them only"), "{error}");
    assert!(error.hint().contains("Windows::Number(1)"), "{error}");
}
