//! Reading a list as a caller does: what is looked at counts once it is received.

use std::sync::atomic::AtomicU64;

use boardlot::{
    decode::PageSlice,
    error::Result,
    pages::{Gathering, Limits, Pages, Unit},
};

/// Returns true if there is a next item; it is left to the first to receive it.
pub async fn fill(pages: &Pages, unit: Unit) -> Result<bool> {
    pages.fill(&mut *pages.lock().await?, unit).await.map(|claim| claim.is_some())
}

/// The next record, if it is in memory.
pub fn receive_row(pages: &Pages) -> Option<PageSlice> {
    let (ticket, page, index) = pages.delivery.next_row(None)?;
    pages.delivery.receive(ticket, Unit::Row).then(|| PageSlice {
        page,
        range: index..index + 1,
        key: None,
    })
}

/// The rest of the page in memory.
pub fn receive_page(pages: &Pages) -> Option<PageSlice> {
    let (ticket, slice) = pages.delivery.next_page(None)?;
    pages.delivery.receive(ticket, Unit::Page).then_some(slice)
}

/// Gathers what follows, without receiving it.
pub async fn gather(
    pages: &Pages,
    items: Option<usize>,
    most_pages: Option<usize>,
    progress: &AtomicU64,
) -> Result<(Gathering<()>, Vec<PageSlice>)> {
    let limits = Limits { items, pages: most_pages };
    let mut fetcher = pages.lock().await?;
    let (gathering, slices) = pages.gather(&mut fetcher, limits, progress, Vec::new).await?;
    Ok((gathering, slices.concat()))
}
