//! A page of a list, and the link to the page that follows it.

use std::sync::Arc;

use futures_util::FutureExt;

use super::{
    Position, checkpoint,
    link::{Link, Request},
    list::List,
    part::FetchedPage,
};
use crate::{
    decode::{Page, PageSlice, RecordNumber, RecordRef},
    error::{Error, Result},
};

/// A page of a list. It knows the page that follows it.
pub struct ListedPage {
    list: Arc<List>,
    /// Index of the page's part.
    index: usize,
    fetched: FetchedPage,
    /// Keys that have failed before the end of this page.
    failures: Arc<[Failure]>,
    next: Link<Option<Arc<ListedPage>>>,
}

boardlot_service::shown_as!(ListedPage, |this| "ListedPage({} records)", this.len());

/// A key that failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The key.
    pub key: Arc<str>,
    /// The error.
    pub error: Error,
    /// The position from which a resume retries the key.
    pub(super) position: Position,
}

impl Failure {
    /// Returns the failure of a key at this position; if errors are not collected, the error
    /// itself.
    pub(super) fn of(list: &List, index: usize, position: Position, error: Error) -> Result<Self> {
        let collects = list.shared.listing.keys.as_ref().is_some_and(|keys| keys.collects_errors);
        let key = list.parts.get(index).and_then(|part| part.key()).filter(|_| collects);
        let Some(key) = key.cloned() else { return Err(error) };
        Ok(Failure { key, error: list.shared.located(error), position })
    }
}

impl ListedPage {
    /// Returns the first page of a part, after these failures; none if there is no such part.
    pub(super) async fn first_of(
        list: Arc<List>,
        index: usize,
        failures: Arc<[Failure]>,
    ) -> Result<Option<Arc<Self>>> {
        let Some(pages) = list.first_pages(index).await else { return Ok(None) };
        let start = list.parts.get(index).map(|part| part.start.clone()).unwrap_or_default();
        ListedPage::of_outcome(&list, index, failures, start, pages).map(Some)
    }

    /// Returns the page of an outcome, with the known pages after it. If the key failed and errors
    /// are collected, returns an empty page with the failure.
    pub(super) fn of_outcome(
        list: &Arc<List>,
        index: usize,
        failures: Arc<[Failure]>,
        at: Position,
        outcome: Result<Vec<FetchedPage>>,
    ) -> Result<Arc<Self>> {
        let pages = match outcome {
            Ok(pages) => pages,
            Err(error) => {
                let failure = Failure::of(list, index, at.clone(), error)?;
                let fetched = FetchedPage::without_records(failure.key.clone(), at);
                let failures = failures.iter().cloned().chain([failure]).collect();
                // The key's other windows are not read: a resume retries the key from here.
                let index = list.last_of_key(index);
                let (list, next) = (list.clone(), Link::default());
                return Ok(Arc::new(ListedPage { list, index, fetched, failures, next }));
            }
        };
        let listed = pages.into_iter().rev().fold(None, |next: Option<Arc<Self>>, fetched| {
            let next = next.map_or_else(Link::default, |next| Link::to(Some(next)));
            let (list, failures) = (list.clone(), failures.clone());
            Some(Arc::new(ListedPage { list, index, fetched, failures, next }))
        });
        listed.ok_or_else(|| Error::internal("a part has no first page"))
    }

    /// Returns the page at the end of a list.
    pub(super) fn at_end(
        list: &Arc<List>,
        fetched: FetchedPage,
        failures: Vec<Failure>,
    ) -> Arc<Self> {
        let index = list.parts.len().saturating_sub(1);
        let (list, failures, next) = (list.clone(), failures.into(), Link::default());
        Arc::new(ListedPage { list, index, fetched, failures, next })
    }

    /// Returns the number of records, including the ones that were received before a resume.
    pub fn len(&self) -> usize {
        self.fetched.records.len()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.fetched.records.is_empty()
    }

    /// Returns true if the service says that no page follows this one.
    pub fn is_last(&self) -> bool {
        self.fetched.after.is_none() && self.index + 1 >= self.list.parts.len()
    }

    /// Iterates over the records, except the ones that were received before a resume.
    pub fn iter(&self) -> impl Iterator<Item = RecordRef<'_>> {
        (self.first()..self.len()).map(|index| RecordRef {
            page: &self.fetched.records,
            index,
            key: self.fetched.key.as_deref(),
            number: RecordNumber::InPage(index),
        })
    }

    /// Returns the records.
    #[doc(hidden)]
    pub fn records(&self) -> &Arc<Page> {
        &self.fetched.records
    }

    /// Returns the key that the records belong to, in a list of many keys.
    #[doc(hidden)]
    pub fn key(&self) -> Option<&Arc<str>> {
        self.fetched.key.as_ref()
    }

    /// Returns the number of records that were received earlier: not 0 in a page within which an
    /// iteration resumes.
    pub fn first(&self) -> usize {
        self.fetched.first
    }

    /// Returns the keys that have failed before the end of this page.
    #[doc(hidden)]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns the records from this index on.
    #[doc(hidden)]
    pub fn rest(&self, start: usize) -> PageSlice {
        self.fetched.rest(start)
    }

    /// Returns the exact position after this many of the page's records, as a small JSON string
    /// without secrets. Fails if the service's cursor has a secret.
    pub fn checkpoint(&self, records: usize) -> Result<String> {
        checkpoint::write(&self.position(records), &self.list.shared)
    }

    /// Returns the position after this many of the page's records.
    #[doc(hidden)]
    pub fn position(&self, records: usize) -> Position {
        let FetchedPage { records: page, at, after, .. } = &self.fetched;
        let mut index = self.index;
        let here = match records.checked_sub(1) {
            None if !page.is_empty() => Position { keys: None, ..at.clone() },
            Some(last) if records < page.len() => {
                let call = self.list.parts.get(index).and_then(|part| part.call().ok());
                let last = call.map(|call| call.digest(page, last));
                Position { row: records, last, length: Some(page.len()), keys: None, ..at.clone() }
            }
            _ => after.clone().unwrap_or_else(|| {
                index += 1;
                self.list.position_after(self.index)
            }),
        };
        let failed = self.failures.iter().map(|failure| failure.position.clone());
        self.list.with_keys(here, index, failed)
    }

    pub(super) fn list(&self) -> &Arc<List> {
        &self.list
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn fetched(&self) -> &FetchedPage {
        &self.fetched
    }

    /// Waits for the page that follows; none at the end of the list.
    pub(super) async fn next(&self) -> Result<Option<Arc<ListedPage>>> {
        self.next.wait(self.request_next()).await
    }

    /// Waits for the page that follows, if it was requested.
    pub(super) async fn requested_next(&self) -> Option<Result<Option<Arc<ListedPage>>>> {
        self.next.wait_if_begun().await
    }

    /// Requests the page that follows in its part, and the first pages of the next parts.
    pub(super) fn request_ahead(&self) {
        self.list.forget_first(self.index);
        self.list.request_ahead(self.index);
        if self.fetched.after.is_some() {
            self.request_next();
        }
    }

    /// Returns the request for the next page. The request does not keep this page alive, and is
    /// aborted with it.
    fn request_next(&self) -> Arc<Request<Option<Arc<ListedPage>>>> {
        self.next.begin(|| {
            let (list, index, failures) = (self.list.clone(), self.index, self.failures.clone());
            let Some(after) = self.fetched.after.clone() else {
                return ListedPage::first_of(list, index + 1, failures).boxed();
            };
            let counts = self.fetched.counts;
            async move {
                let Some(part) = list.parts.get(index) else { return Ok(None) };
                let fetched = part.fetch_after(after.clone(), counts).await;
                let pages = fetched.map(|page| vec![page]);
                ListedPage::of_outcome(&list, index, failures, after, pages).map(Some)
            }
            .boxed()
        })
    }
}
