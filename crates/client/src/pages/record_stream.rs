//! The records of a list one after another, in a stream that borrows nothing.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{
    FutureExt, Stream, StreamExt, TryStreamExt,
    stream::{BoxStream, iter, once, try_unfold},
};
use serde::de::DeserializeOwned;

use super::{ListedPage, Pages};
use crate::{
    decode::{Members, Page, RecordNumber, RecordRef},
    error::{Error, Result},
};

/// A record that shares ownership of its page: it can be sent to other threads, and kept.
#[derive(Clone)]
pub struct OwnedRecord {
    page: Arc<Page>,
    index: usize,
    /// The page in its list, if the endpoint returns pages.
    listed: Option<Arc<ListedPage>>,
}

boardlot_service::shown_as!(OwnedRecord, |this| "OwnedRecord({})", this.index);

impl OwnedRecord {
    /// Returns the JSON text of the record, as it was received.
    pub fn text(&self) -> &str {
        self.page.row_text(self.index)
    }

    /// Returns the members of the record, each value as its own JSON text.
    #[doc(hidden)]
    pub fn members(&self) -> Result<Members<'_>> {
        self.borrowed().members()
    }

    /// Deserializes the record into a type. For a type that borrows texts, see
    /// [`borrowed`](OwnedRecord::borrowed).
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        self.borrowed().deserialize()
    }

    /// Returns the same record, borrowed.
    pub fn borrowed(&self) -> RecordRef<'_> {
        let number = RecordNumber::InPage(self.index);
        RecordRef { page: &self.page, index: self.index, key: None, number }
    }

    /// Returns the position after this record, as a small JSON string without secrets, from which
    /// [`Client::pages`] resumes. Store it after the record, or in one transaction with it. None if
    /// the endpoint does not return pages. Fails if the service's cursor has a secret.
    ///
    /// [`Client::pages`]: crate::Client::pages
    pub fn checkpoint(&self) -> Result<Option<String>> {
        self.listed.as_ref().map(|page| page.checkpoint(self.index + 1)).transpose()
    }
}

/// A stream of records: `Stream<Item = Result<OwnedRecord>>`. It ends with the first error, which
/// has the checkpoint to resume from.
pub struct RecordStream(BoxStream<'static, Result<OwnedRecord>>);

boardlot_service::shown_as!(RecordStream, "RecordStream(..)");

impl RecordStream {
    /// Returns the records of the only page of a call.
    pub(crate) fn of_page(page: impl Future<Output = Result<Page>> + Send + 'static) -> Self {
        Self::of_pages(once(page.map(|page| Ok((Arc::new(page?), 0, None)))))
    }

    /// Returns the records of pages, each from an index on, with the page in its list.
    fn of_pages(
        pages: impl Stream<Item = Result<(Arc<Page>, usize, Option<Arc<ListedPage>>)>> + Send + 'static,
    ) -> Self {
        let records = pages.map_ok(|(page, first, listed)| {
            iter(first..page.len()).map(move |index| {
                let (page, listed) = (page.clone(), listed.clone());
                Ok::<_, Error>(OwnedRecord { page, index, listed })
            })
        });
        RecordStream(records.try_flatten().boxed())
    }
}

impl Stream for RecordStream {
    type Item = Result<OwnedRecord>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl Pages {
    /// Returns the records of these pages, one after another.
    pub fn into_records(self) -> RecordStream {
        let start = (Arc::new(self), None);
        let pages = try_unfold(
            start,
            |(pages, before): (Arc<Pages>, Option<Arc<ListedPage>>)| async move {
                let next = pages.after(before.as_deref()).await?;
                Ok(next.map(|page| (page.clone(), (pages, Some(page)))))
            },
        );
        RecordStream::of_pages(
            pages.map_ok(|listed| (listed.records().clone(), listed.first(), Some(listed))),
        )
    }
}
