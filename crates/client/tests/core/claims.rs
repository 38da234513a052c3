//! Records in memory: who may receive them, and when they count as received.

use std::sync::Arc;

use boardlot_client::pages::Unit;

use crate::{
    positions::{DAY, NOW_MS, PAGE, Range, Service, pages},
    reading,
    scripted::ids_of as times,
};

#[tokio::main(flavor = "current_thread")]
async fn open_range_of_checkpoint(received: usize) -> Option<(i64, i64)> {
    let service = Service::holding((0..5).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    assert!(reading::fill(&pages, Unit::Row).await.expect("a page"));
    (0..received).for_each(|_| assert!(reading::receive(&pages, Unit::Row).is_some()));
    pages.delivery.position().range
}

#[test]
fn an_open_range_is_fixed_by_the_first_record_and_not_before() {
    assert_eq!(open_range_of_checkpoint(0), None);
    let fixed = Some((NOW_MS * 1_000 - 90 * DAY, NOW_MS * 1_000));
    assert_eq!(open_range_of_checkpoint(1), fixed);
}

#[tokio::test]
async fn requests_and_position_can_be_read_during_the_iteration() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    let now = || (pages.requests(), pages.delivery.position().row);
    assert_eq!(now(), (0, 0));
    let mut fetcher = pages.lock().await.expect("a fetcher");
    assert!(pages.fill(&mut fetcher, Unit::Row).await.expect("a page").is_some());
    assert!(reading::receive(&pages, Unit::Row).is_some());
    // The page in memory, and a prefetched one.
    assert_eq!(now(), (2, 1));
}

#[tokio::test]
async fn an_empty_page_is_a_page() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    let mut sizes = Vec::new();
    while let Some(page) = pages.next_page().await.expect("pages") {
        sizes.push(page.range.len());
    }
    assert_eq!(sizes, [3, 0, 3, 0, 1, 0]);
}

#[tokio::test]
async fn whoever_waited_first_gets_the_record_unless_it_does_not_come() {
    let service = Service::holding((0..4).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    let mut claims = Vec::new();
    for _ in 0..PAGE {
        let mut fetcher = pages.lock().await.expect("a fetcher");
        claims.push(pages.fill(&mut fetcher, Unit::Row).await.expect("a page"));
    }
    let delivery = &pages.delivery;
    claims.pop();
    assert!(reading::receive(&pages, Unit::Row).is_none(), "the first is not for the last to come");
    let (ticket, ..) = delivery.next_row(claims[0].as_ref()).expect("its own");
    assert!(delivery.receive(ticket, Unit::Row));
    claims.remove(0);
    assert!(reading::receive(&pages, Unit::Row).is_none());
    // A new waiter has a claim of its own.
    let next = pages.next_row().await.expect("a page").expect("a row");
    assert_eq!(times(&[next]), [NOW_MS * 1_000 - 1]);
}

/// A result that is gathered and never received, as by a task whose event loop has stopped, holds
/// up nobody for long; and it is not received once another caller has received something.
#[tokio::test]
async fn whoever_is_next_waits_for_a_gathered_result_but_not_for_ever() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    let count = Arc::default();
    let (mut gathering, slices) = reading::gather(&pages, None, None, &count).await.expect("rows");
    assert_eq!(times(&slices).len(), 7);
    assert!(reading::receive(&pages, Unit::Row).is_none(), "it may still be received");
    let row = pages.next_row().await.expect("a page").expect("a row");
    assert_eq!(times(&[row]), times(&slices)[..1]);
    assert!(!gathering.receive(true));
    assert!(!pages.delivery.is_exhausted());
    drop(gathering);
    let rest = pages.rest().await.expect("the rest");
    assert_eq!(times(&rest), times(&slices)[1..]);
    assert!(pages.delivery.is_exhausted());
}

/// It comes late, but nothing else has been received: then it is as if it had come in time.
#[tokio::test]
async fn a_gathered_result_that_is_received_late_is_received() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    let count = Arc::default();
    let gathered = reading::gather(&pages, Some(4), None, &count).await;
    let (mut gathering, slices) = gathered.expect("rows");
    assert!(reading::fill(&pages, Unit::Row).await.expect("a page"));
    assert!(gathering.receive(false));
    drop(gathering);
    let rest = pages.rest().await.expect("the rest");
    let all = [times(&slices), times(&rest)].concat();
    assert_eq!(all, (0..7).map(|age| NOW_MS * 1_000 - age).collect::<Vec<_>>());
}

/// Fetching starts again while a caller converts what it has looked at: then it retries.
#[tokio::test]
async fn what_was_looked_at_before_fetching_started_again_is_not_received() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let pages = pages(&service, Range::Open, 1, None);
    assert!(pages.next_row().await.expect("a page").is_some());
    let delivery = &pages.delivery;
    let (row, _, index) = delivery.next_row(None).expect("a row");
    let (page, _) = delivery.next_page(None).expect("a page");
    // It is gathered, and given up.
    let count = Arc::default();
    drop(reading::gather(&pages, None, None, &count).await.expect("rows"));
    assert!(reading::fill(&pages, Unit::Row).await.expect("a page"));
    assert!(!delivery.receive(row, Unit::Row) && !delivery.receive(page, Unit::Page));
    assert_eq!((index, delivery.position().row), (1, 1));
    let rest = pages.rest().await.expect("the rest");
    assert_eq!(times(&rest), (1..7).map(|age| NOW_MS * 1_000 - age).collect::<Vec<_>>());
}
