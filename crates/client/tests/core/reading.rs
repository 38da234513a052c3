//! Reading a list as a caller does: what is looked at counts once it is received.

use std::sync::{Arc, atomic::AtomicU64};

use boardlot_client::{
    decode::PageSlice,
    error::Result,
    pages::{Gathering, Limits, Pages, Unit},
};

/// Returns true if there is a next item; it is left to the first to receive it.
pub async fn fill(pages: &Pages, unit: Unit) -> Result<bool> {
    pages.fill(&mut *pages.lock().await?, unit).await.map(|claim| claim.is_some())
}

/// The next record, or the rest of the page, if it is in memory.
pub fn receive(pages: &Pages, unit: Unit) -> Option<PageSlice> {
    let delivery = &pages.delivery;
    let (ticket, slice) = match unit {
        Unit::Page => delivery.next_page(None)?,
        Unit::Row => {
            let (ticket, page, index) = delivery.next_row(None)?;
            (ticket, PageSlice { page, range: index..index + 1, key: None })
        }
    };
    delivery.receive(ticket, unit).then_some(slice)
}

/// Gathers what follows, without receiving it.
pub async fn gather(
    pages: &Pages,
    items: Option<usize>,
    most_pages: Option<usize>,
    progress: &Arc<AtomicU64>,
) -> Result<(Gathering<()>, Vec<PageSlice>)> {
    let limits = Limits { items, pages: most_pages };
    let mut fetcher = pages.lock().await?;
    let (gathering, slices) = pages.gather(&mut fetcher, limits, progress, Vec::new).await?;
    Ok((gathering, slices.concat()))
}
