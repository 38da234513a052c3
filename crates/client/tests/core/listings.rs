//! Continuation of a list, page by page: what is requested, accepted and abandoned.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use boardlot_client::extension::{
    api::{CursorPaging, FirstPage, NEXT_KEY, PAGE_FLAG, Paging},
    error::{ErrorKind, Result},
    pages::{Limits, PagePosition, PagedCall, Position, PreviousRows, checkpoint},
};

use super::{
    reading::Reader,
    scripted::{self, Query, body, in_turn, listing, pages, rest},
};

fn next_key() -> Paging {
    Paging::Cursor(NEXT_KEY)
}

fn page_flag(first: FirstPage) -> Paging {
    Paging::Cursor(CursorPaging { first, ..PAGE_FLAG })
}

fn asked(listing: &PagedCall, range: Option<(i64, i64)>, cursor: Option<&str>) -> String {
    Query::of(listing, cursor, range).text()
}

#[test]
fn the_first_page_is_requested_as_its_style_requires_and_as_the_caller_wrote() {
    assert_eq!(asked(&listing(next_key(), &[]), None, None), "next_key=");
    assert_eq!(asked(&listing(next_key(), &[("next_key", "k")]), None, None), "next_key=k");
    assert_eq!(asked(&listing(next_key(), &[("next_key", "k")]), None, Some("l")), "next_key=l");
    let flag = |first, given| asked(&listing(page_flag(first), given), None, None);
    for first in [FirstPage::Empty, FirstPage::Omitted] {
        assert_eq!(flag(first, &[("page_flag", "f")]), "page_flag=f");
    }
    assert_eq!(flag(FirstPage::Empty, &[]), "page_flag=");
    assert_eq!(flag(FirstPage::Omitted, &[]), "");
    let ranged = asked(&listing(page_flag(FirstPage::Omitted), &[]), Some((1, 2)), Some("f"));
    assert_eq!(ranged, "start=1&end=2&page_flag=f");
}

fn advanced(listing: &PagedCall, beside: &str) -> Result<Option<String>> {
    let mut page = scripted::read(listing, &body([1], beside)).expect("a page");
    let (next, rows) = listing.advance(&mut page, None, &PreviousRows::default())?;
    assert!(rows.is_empty());
    Ok(next)
}

#[test]
fn a_page_states_whether_and_where_the_list_continues() {
    let keyed = listing(next_key(), &[]);
    let next = |beside| advanced(&keyed, beside).expect("no error");
    let more = "\"pagination\":{\"has_more\":true,\"next_key\":\"k\"}";
    assert_eq!(next(more).as_deref(), Some("k"));
    assert_eq!(next("\"pagination\":{\"has_more\":false,\"next_key\":\"k\"}"), None);
    for beside in [
        "\"has_more\":true,\"next_key\":\"k\"",
        "\"pagination\":{\"has_more\":1,\"next_key\":\"k\"}",
        "\"pagination\":{\"has_more\":true}",
        "\"pagination\":{\"has_more\":true,\"next_key\":true}",
    ] {
        let error = advanced(&keyed, beside).expect_err("refused");
        assert!(matches!(*error.kind, ErrorKind::Protocol { .. }), "{beside}: {error}");
    }
}

#[tokio::test]
async fn an_empty_or_repeated_cursor_is_an_error_that_keeps_the_position() {
    let page = |id: i64, next: &str| {
        let beside = format!("\"pagination\":{{\"has_more\":true,\"next_key\":\"{next}\"}}");
        body([id], &beside)
    };
    for last in ["", "a"] {
        let bodies = vec![page(1, "a"), page(2, "b"), page(3, last)];
        let responses = in_turn(bodies, Arc::default());
        let mut first =
            Reader::from(pages(listing(next_key(), &[]), None, responses).expect("pages"));
        for _ in 0..2 {
            assert!(first.next_row().await.expect("a page").is_some());
        }
        let before = first.checkpoint();
        // The cursors from before a checkpoint are known after it.
        let responses = in_turn(vec![page(3, last)], Arc::default());
        let second = pages(listing(next_key(), &[]), Some(&before), responses).expect("resumed");
        for mut reader in [first, second.into()] {
            let error = reader.next_row().await.expect_err("refused");
            assert!(matches!(*error.kind, ErrorKind::Pagination(_)), "{error}");
            assert!(error.to_string().contains("cursor"), "{error}");
            assert_eq!(error.checkpoint.as_deref(), Some(before.as_str()));
        }
    }
}

#[tokio::test]
async fn a_checkpoint_is_after_no_more_records_than_its_page_has() {
    for (row, expected) in [(2, Some(vec![3])), (3, Some(Vec::new())), (4, None)] {
        let position = Position { row, cursor: Some("a".into()), ..Position::default() };
        let list = || listing(next_key(), &[]);
        let text = checkpoint::text_of(&position, &list().into(), scripted::ORIGIN);
        let end = body([1, 2, 3], "\"pagination\":{\"has_more\":false}");
        let requests: Arc<Mutex<Vec<Query>>> = Arc::default();
        let responses = in_turn(vec![end], requests.clone());
        let pages = pages(list(), Some(&text), responses).expect("pages");
        match (rest(pages).await, expected) {
            (Ok(ids), Some(expected)) => assert_eq!(ids, expected),
            (Err(error), None) => {
                assert!(error.to_string().contains("after record 4"), "{error}");
            }
            (outcome, expected) => panic!("{outcome:?}, not {expected:?}"),
        }
        let cursor = requests.lock().expect("a lock")[0].get("next_key").map(str::to_owned);
        assert_eq!(cursor.as_deref(), Some("a"));
    }
}

/// The ids that are read after a checkpoint behind so many of the records 1 to 9, which one page had, if the pages
/// after its cursor are these now.
async fn resumed(received: usize, now: &[&[i64]]) -> Result<Vec<i64>> {
    let more = |next: &str| format!("\"pagination\":{{\"has_more\":true,\"next_key\":\"{next}\"}}");
    let first = vec![body(1..=9, &more("a"))];
    let pages_before = pages(listing(next_key(), &[]), None, in_turn(first, Arc::default()));
    let mut before = Reader::from(pages_before.expect("pages"));
    for _ in 0..received {
        before.next_row().await.expect("a page").expect("a row");
    }
    let checkpoint = before.checkpoint();
    let last = now.len() - 1;
    let bodies = now.iter().enumerate().map(|(number, ids)| {
        let end = "\"pagination\":{\"has_more\":false}".to_owned();
        body(ids.iter().copied(), &if number == last { end } else { more(&number.to_string()) })
    });
    let asked: Arc<Mutex<Vec<Query>>> = Arc::default();
    let respond = in_turn(bodies.collect(), asked.clone());
    let pages = pages(listing(next_key(), &[]), Some(&checkpoint), respond).expect("resumed");
    rest(pages).await
}

#[tokio::test]
async fn a_row_is_found_again_where_the_pages_are_cut_otherwise() {
    for (received, now, expected) in [
        (5, &[&[1, 2, 3][..], &[4, 5, 6, 7], &[8, 9]][..], &[6, 7, 8, 9][..]),
        (4, &[&[1, 2], &[3, 4], &[5, 6, 7, 8, 9]], &[5, 6, 7, 8, 9]),
        // As many records as before: it was corrected meanwhile.
        (2, &[&[1, 20, 3, 4, 5, 6, 7, 8, 9]], &[3, 4, 5, 6, 7, 8, 9]),
        // One before it has left a page of the same length, at a cursor that counts.
        (5, &[&[2, 3, 4, 5, 6, 7, 8, 9, 10]], &[6, 7, 8, 9, 10]),
        // Records before it are gone, or there are more.
        (5, &[&[3, 4, 5, 6]], &[6]),
        (3, &[&[1], &[2], &[], &[3], &[], &[4]], &[4]),
        // Of equal records, the last one within the number.
        (3, &[&[3, 3], &[3, 3, 4]], &[3, 4]),
    ] {
        assert_eq!(resumed(received, now).await.expect("found"), expected, "{received} {now:?}");
    }
    let error = resumed(5, &[&[1, 2], &[3, 4], &[6, 7]]).await.expect_err("not found");
    assert!(error.to_string().contains("is not among"), "{error}");
    assert!(matches!(*error.kind, ErrorKind::Pagination(_)), "{error}");
    assert!(error.checkpoint.is_some());
}

const START: i64 = 1_780_000_000_000_000;

/// A fill that was received is known by the value of its id, however that is written; if it is gone, no other one
/// takes its place.
#[tokio::test]
async fn a_row_with_an_id_is_found_by_that_alone() {
    let page = |ids: [&str; 3]| {
        let rows = ids.map(|id| format!("{{\"number\":{id},\"deal_id\":\"{id}\"}}"));
        format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"completed\":true}}}}",
            rows.join(",")
        )
    };
    let fills = || scripted::fills(Some(START), Some(START + 1), 1);
    let mut before =
        Reader::from(pages(fills(), None, move |_: &Query| page(["1", "2", "3"])).expect("pages"));
    before.next_row().await.expect("a page").expect("a row");
    before.next_row().await.expect("a page").expect("a row");
    let checkpoint = before.checkpoint();
    let resumed = async |body: String| {
        rest(pages(fills(), Some(&checkpoint), move |_: &Query| body.clone()).expect("pages")).await
    };
    let spelled = page(["1", "2", "3"]).replace("\"2\"", "\"\\u0032\"");
    assert_eq!(resumed(spelled).await.expect("rows"), [3]);
    assert_eq!(resumed(page(["2", "3", "4"])).await.expect("rows"), [3, 4]);
    let error = resumed(page(["1", "3", "4"])).await.expect_err("the fill is gone");
    assert!(error.to_string().contains("is not among"), "{error}");
}

#[tokio::test]
async fn pages_without_records_end_after_a_thousand_in_turn() {
    let asked = Arc::new(AtomicU64::new(0));
    let count = asked.clone();
    let respond = move |_: &Query| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let more = format!("\"pagination\":{{\"has_more\":true,\"next_key\":\"{number}\"}}");
        body((number == 600).then_some(7), &more)
    };
    let mut pages = Reader::from(pages(listing(next_key(), &[]), None, respond).expect("pages"));
    assert!(pages.next_row().await.expect("a page").is_some());
    let error = pages.next_row().await.expect_err("no end");
    assert!(matches!(*error.kind, ErrorKind::Pagination(_)), "{error}");
    assert!(error.checkpoint.is_some());
    assert_eq!(asked.load(Ordering::Relaxed), 601 + 1_001);
}

#[tokio::test]
async fn limits_request_no_page_that_is_not_needed() {
    let page = |first: i64| {
        let beside = format!("\"pagination\":{{\"has_more\":true,\"next_key\":\"{first}\"}}");
        body([first, first + 1], &beside)
    };
    let bodies: Vec<String> = (0..9).map(|page_number| page(2 * page_number)).collect();
    for (items, most_pages, expected, expected_requests) in [
        (Some(0), None, 0, 0),
        (None, Some(0), 0, 0),
        (Some(3), None, 3, 2),
        (Some(4), None, 4, 2),
        (None, Some(2), 4, 2),
        (Some(3), Some(1), 2, 1),
        (Some(1), Some(5), 1, 1),
    ] {
        let requests: Arc<Mutex<Vec<Query>>> = Arc::default();
        let responses = in_turn(bodies.clone(), requests.clone());
        let pages = pages(listing(next_key(), &[]), None, responses).expect("pages");
        let progress = Arc::<AtomicU64>::default();
        let limits = Limits { items, pages: most_pages };
        let found = pages.collect(&PagePosition::default(), limits, &progress, Vec::new).await;
        let ids = scripted::ids_of(&found.expect("rows").0.concat());
        assert_eq!(ids, (0..expected).collect::<Vec<i64>>(), "{items:?} {most_pages:?}");
        assert_eq!(progress.load(Ordering::Relaxed), ids.len() as u64);
        assert_eq!(requests.lock().expect("a lock").len(), expected_requests);
    }
}
