//! Lists whose pages a test writes.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, atomic::AtomicU64},
};

use boardlot_client::extension::{
    api::{Argument, Paging, endpoint},
    decode::{Page, PageSlice, Value},
    error::{Error, Result},
    http::{BaseUrl, Body, RequestPlan},
    pages::{Listing, PagedCall, Pages, Source, Windows},
};

use crate::reading::Reader;

pub const ORIGIN: &str = "https://api.example.com";

/// The query of a request.
#[derive(Debug, Clone)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query that asks for a page.
    pub fn of(listing: &PagedCall, cursor: Option<&str>, range: Option<(i64, i64)>) -> Self {
        let (base, plan) = (BaseUrl::parse(ORIGIN).expect("a base"), &listing.plan.request);
        let headers = http::HeaderMap::new();
        let request = plan.request(&base, &headers, listing.cursor(cursor), range);
        Query(request.expect("a request").url.query_pairs().into_owned().collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        let pairs: Vec<_> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    }
}

/// The code in place of a service: it returns the response to each request, and the time.
pub trait Script: Send + Sync {
    fn respond(&self, query: &Query) -> Result<String>;

    fn now(&self) -> Result<i64> {
        Err(Error::config("these lists have no open range"))
    }
}

impl<F: Fn(&Query) -> String + Send + Sync> Script for F {
    fn respond(&self, query: &Query) -> Result<String> {
        Ok(self(query))
    }
}

struct Scripted<S>(Arc<S>);

impl<S> std::fmt::Debug for Scripted<S> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Scripted")
    }
}

impl<S: Script + 'static> Source for Scripted<S> {
    fn page<'a>(
        &'a self,
        listing: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
        _failed_attempts: &'a AtomicU64,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            read(listing, &self.0.respond(&Query::of(listing, cursor, range))?)
        })
    }

    fn origin(&self) -> &str {
        ORIGIN
    }

    fn now<'a>(
        &'a self,
        _listing: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            self.0.now()
        })
    }
}

/// Fills between these times, by so many windows; by default for 0.
pub fn fills(start: Option<i64>, end: Option<i64>, windows: i64) -> PagedCall {
    let text = |text: &str| Argument::Text(text.to_owned());
    let mut arguments = vec![("acc_id", text("281756")), ("trd_market", text("HK"))];
    for (name, bound) in [("start", start), ("end", end)] {
        arguments.extend(bound.map(|bound| (name, Argument::Integer(bound.into()))));
    }
    let fills = endpoint("fills_history").expect("an endpoint");
    let windows = if windows == 0 { Windows::Auto } else { Windows::Number(windows) };
    PagedCall::new(fills, &arguments, Some(windows)).expect("a listing")
}

/// A custom list, requested with this query: its rows are in `data.list`.
pub fn listing(paging: Paging, query: &[(&str, &str)]) -> PagedCall {
    let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let (method, headers) = (http::Method::GET, http::HeaderMap::new());
    let plan = RequestPlan::custom(method, "/rows", query.collect(), Body::None, headers);
    PagedCall::custom(plan, "data.list", paging)
}

/// A page of rows with these ids; `beside` is the text of the members beside `data`.
pub fn body(ids: impl IntoIterator<Item = i64>, beside: &str) -> String {
    let rows: Vec<String> = ids.into_iter().map(|id| format!("{{\"id\":{id}}}")).collect();
    format!("{{\"ret_code\":0,\"data\":{{\"list\":[{}]}},{beside}}}", rows.join(","))
}

/// The page that a response holds.
pub fn read(listing: &PagedCall, body: &str) -> Result<Page> {
    listing.plan.parse(&http::Response::new(body.to_owned().into()))
}

pub fn pages(
    listing: PagedCall,
    resume: Option<&str>,
    respond: impl Fn(&Query) -> String + Send + Sync + 'static,
) -> Result<Pages> {
    pages_of(&Arc::new(respond), listing, resume)
}

pub fn pages_of<S: Script + 'static>(
    script: &Arc<S>,
    listing: impl Into<Listing>,
    resume: Option<&str>,
) -> Result<Pages> {
    Pages::new(Arc::new(Scripted(script.clone())), listing, resume)
}

/// Responds with these bodies in turn, then always with the last one; stores the requests in `asked`.
pub fn in_turn(
    bodies: Vec<String>,
    asked: Arc<Mutex<Vec<Query>>>,
) -> impl Fn(&Query) -> String + Send + Sync + 'static {
    move |query| {
        let mut asked = asked.lock().expect("a lock");
        asked.push(query.clone());
        bodies[asked.len().min(bodies.len()) - 1].clone()
    }
}

/// The ids of all rows, one after another.
pub async fn rest(pages: Pages) -> Result<Vec<i64>> {
    let (mut reader, mut ids) = (Reader::from(pages), Vec::new());
    while let Some(row) = reader.next_row().await? {
        ids.extend(ids_of(&[row]));
    }
    Ok(ids)
}

/// The ids of records: their first members.
pub fn ids_of(slices: &[PageSlice]) -> Vec<i64> {
    let mut ids = Vec::new();
    for slice in slices {
        for index in slice.range.clone() {
            let members = slice.page.row(index).expect("a row");
            let id = Value::parse(members[0].1.get()).expect("JSON");
            ids.push(id.as_integer().expect("a number"));
        }
    }
    ids
}
