//! Lists whose pages a test writes.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
};

use boardlot::{
    api::{Contract, Envelope},
    decode::{Page, PageSlice, RowsAt, Value, parse_page},
    error::{Error, Result},
    http::{Body, Draft},
    pages::{Listing, Pages, PagingStyle, Source},
};

pub const ORIGIN: &str = "https://api.example.com";

/// Answers each request by a function.
pub struct Scripted(Box<dyn Fn(&Draft) -> String + Send + Sync>);

impl std::fmt::Debug for Scripted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Scripted")
    }
}

impl Source for Scripted {
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        draft: &'a Draft,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async { read(listing, &(self.0)(draft)) })
    }

    fn origin(&self) -> &str {
        ORIGIN
    }

    fn now_ms<'a>(
        &'a self,
        _listing: &'a Listing,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async { Err(Error::config("these lists have no open range")) })
    }
}

/// A list of the caller's own, asked for with this query: its rows stand in `data.list`.
pub fn listing(style: PagingStyle, query: &[(&str, &str)]) -> Listing {
    let text = |text: &str| text.to_owned();
    Listing {
        draft: Draft {
            label: text("GET /rows"),
            method: http::Method::GET,
            path: text("/rows"),
            query: query.iter().map(|(name, value)| (text(name), text(value))).collect(),
            body: Body::None,
            headers: http::HeaderMap::new(),
            idempotent: true,
            order: &[],
        },
        contract: Contract::from(Envelope::Code),
        rows_at: RowsAt::Path(vec![text("data"), text("list")]),
        fields: Arc::from([]),
        style,
        span: None,
    }
}

/// A page of rows with these ids; `beside` is the text of the members beside `data`.
pub fn body(ids: impl IntoIterator<Item = i64>, beside: &str) -> String {
    let rows: Vec<String> = ids.into_iter().map(|id| format!("{{\"id\":{id}}}")).collect();
    format!("{{\"code\":0,\"data\":{{\"list\":[{}]}},{beside}}}", rows.join(","))
}

/// The page that an answer holds.
pub fn read(listing: &Listing, body: &str) -> Result<Page> {
    parse_page(listing.contract, &listing.rows_at, &http::Response::new(body.to_owned().into()))
}

pub fn pages(
    listing: Listing,
    resume: Option<&str>,
    answer: impl Fn(&Draft) -> String + Send + Sync + 'static,
) -> Result<Pages> {
    Pages::new(Arc::new(Scripted(Box::new(answer))), listing, resume)
}

/// Answers one after another, the last one again and again; the requests go into `asked`.
pub fn in_turn(
    bodies: Vec<String>,
    asked: Arc<Mutex<Vec<Draft>>>,
) -> impl Fn(&Draft) -> String + Send + Sync + 'static {
    move |draft| {
        let mut asked = asked.lock().expect("a lock");
        asked.push(draft.clone());
        bodies[asked.len().min(bodies.len()) - 1].clone()
    }
}

/// The ids of all rows from here on, one after another.
pub async fn rest(pages: &mut Pages) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    while pages.fill().await? {
        let (page, index) = pages.next_row().expect("a row");
        ids.extend(ids_of(&[PageSlice { page, range: index..index + 1, key: None }]));
        pages.received_row();
    }
    Ok(ids)
}

pub fn ids_of(slices: &[PageSlice]) -> Vec<i64> {
    let mut ids = Vec::new();
    for slice in slices {
        for index in slice.range.clone() {
            let members = slice.page.row(index).expect("a row");
            let (_, id) = members.iter().find(|(name, _)| name == "id").expect("an id");
            ids.push(Value::parse(id.get()).expect("JSON").as_integer().expect("a number"));
        }
    }
    ids
}
