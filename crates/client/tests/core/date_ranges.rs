//! Paging backward by moving the end of a range of dates: no row twice, none lost, and an end.

use boardlot_client::extension::{
    api::{DateRange, NextEnd, Paging},
    decode::Page,
    error::{Error, ErrorKind},
    pages::{PreviousRows, advance_range, drop_repeated},
};

use super::scripted;

type Advanced = Result<(Option<String>, PreviousRows), Error>;

fn date_range(unique: Option<&str>) -> DateRange {
    let next = NextEnd::At(vec!["pagination".to_owned(), "next_end".to_owned()]);
    DateRange { end: "end".to_owned(), next, unique: unique.map(str::to_owned) }
}

fn body(ids: &[i64], next: &str) -> String {
    let has_more = next != "0";
    let beside = format!("\"pagination\":{{\"has_more\":{has_more},\"next_end\":{next}}}");
    scripted::body(ids.iter().copied(), &beside)
}

fn page(ids: &[i64], next: &str) -> Page {
    let listing = scripted::listing(Paging::DateRange(date_range(None)), &[]);
    scripted::read(&listing, &body(ids, next)).expect("a page")
}

fn before(ids: &[i64]) -> PreviousRows {
    let range = date_range(Some("id"));
    drop_repeated(&range, &mut page(ids, "1"), &PreviousRows::default()).expect("rows")
}

/// Returns what follows a page of these rows, requested from `start` to `end`, after one of
/// `previous`.
fn advance(ids: &[i64], next: &str, (start, end): (&str, &str), previous: &[i64]) -> Advanced {
    let start: &[_] = if start.is_empty() { &[] } else { &[("start", start)] };
    let listing = scripted::listing(Paging::DateRange(date_range(Some("id"))), start);
    let end = Some(end).filter(|end| !end.is_empty());
    listing.advance(&mut page(ids, next), end, &before(previous))
}

fn next_of(advanced: Advanced) -> Option<String> {
    advanced.expect("no error").0
}

#[test]
fn the_next_end_is_followed_down_to_the_start_and_not_beyond() {
    assert_eq!(next_of(advance(&[9, 8], "8", ("", ""), &[])).as_deref(), Some("8"));
    assert_eq!(next_of(advance(&[9, 8], "8", ("5", "9"), &[])).as_deref(), Some("8"));
    assert_eq!(next_of(advance(&[6, 5], "5", ("5", "9"), &[])).as_deref(), Some("5"));
    assert_eq!(next_of(advance(&[5], "4", ("5", "9"), &[])), None);
    assert_eq!(next_of(advance(&[9], "0", ("", "9"), &[])), None);
    // As the service wrote it.
    let quoted = advance(&[9], "\"2026-01-02\"", ("2026-01-01", "2026-01-03"), &[]);
    assert_eq!(next_of(quoted).as_deref(), Some("2026-01-02"));
}

#[test]
fn an_end_that_comes_again_ends_the_list_only_where_nothing_can_be_hidden_behind_it() {
    let refused = |advanced: Advanced| {
        let error = advanced.expect_err("refused");
        assert!(matches!(*error.kind, ErrorKind::Pagination(_)), "{error}");
        assert!(error.to_string().contains("same as on the previous page"), "{error}");
    };
    // New rows, and the same request would follow: others of that moment would never come.
    refused(advance(&[9, 8], "9", ("1", "9"), &[]));
    refused(advance(&[8], "9", ("1", "9"), &[9, 7]));
    refused(advance(&[9], "9", ("", "9"), &[]));
    // A page that is as full as the one before may hide more rows.
    refused(advance(&[9, 8], "9", ("1", "9"), &[9, 8]));
    // An empty page, and a smaller one of known rows, are all that is left of the range.
    assert_eq!(next_of(advance(&[], "9", ("1", "9"), &[])), None);
    assert_eq!(next_of(advance(&[9], "9", ("1", "9"), &[9, 8])), None);
    assert_eq!(next_of(advance(&[], "9", ("1", "9"), &[9])), None);
    // Without a start the range has no end to come to.
    refused(advance(&[], "9", ("", "9"), &[]));
    // At the start of the range as anywhere else.
    refused(advance(&[9, 8], "9", ("9", "9"), &[]));
    refused(advance(&[8], "9", ("9", "9"), &[9, 7]));
    refused(advance(&[9, 8], "9", ("9", "9"), &[9, 8]));
    assert_eq!(next_of(advance(&[], "9", ("9", "9"), &[])), None);
    assert_eq!(next_of(advance(&[9], "9", ("9", "9"), &[9, 8])), None);
}

#[tokio::test]
async fn rows_of_the_page_before_are_dropped_and_known_after_it() {
    let bodies = [([5, 4, 3], "3"), ([3, 2, 1], "1"), ([3, 1, 0], "0")];
    let bodies = bodies.map(|(ids, next)| body(&ids, next)).to_vec();
    let range = date_range(Some("id"));
    let listing = scripted::listing(Paging::DateRange(range.clone()), &[]);
    let pages = scripted::pages(listing, None, scripted::in_turn(bodies, Default::default()));
    assert_eq!(scripted::rest(pages.expect("pages")).await.expect("rows"), [5, 4, 3, 2, 1, 0]);
    let rows = drop_repeated(&range, &mut page(&[3, 2, 1], "1"), &before(&[3])).expect("rows");
    assert!(!rows.is_empty() && PreviousRows::default().is_empty());
    assert_eq!(rows, before(&[1, 2, 3]), "as they came, the repeated one too");
    assert_ne!(rows, before(&[1, 2]));
    // Nothing is compared where the caller named no field.
    let mut same = page(&[3, 2], "2");
    assert!(drop_repeated(&date_range(None), &mut same, &rows).expect("rows").is_empty());
    assert_eq!(same.len(), 2);
    let error = drop_repeated(&date_range(Some("no")), &mut same, &rows).expect_err("refused");
    assert!(error.to_string().contains("no no, the field that identifies rows"), "{error}");
}

#[test]
fn the_next_end_may_be_the_day_before_the_earliest_row() {
    let next = NextEnd::DayBefore("date".to_owned());
    let range = DateRange { end: "end".to_owned(), next, unique: None };
    let of = |rows: &str| {
        let body = format!("{{\"ret_code\":0,\"data\":{{\"list\":[{rows}]}}}}");
        let listing = scripted::listing(Paging::DateRange(date_range(None)), &[]);
        let mut page = scripted::read(&listing, &body).expect("a page");
        advance_range(&range, &mut page, (None, None), &PreviousRows::default())
    };
    let rows = "{\"date\":\"2026-03-02 15:00\",\"id\":1},{\"id\":2,\"date\":\"2026/03/01\"},\
                {\"date\":\"2026-03-03\"}";
    assert_eq!(next_of(of(rows)).as_deref(), Some("2026-02-28"));
    for rows in ["", "{\"id\":1}", "{\"date\":\"soon\"}"] {
        of(rows).expect_err("refused");
    }
}

#[test]
fn a_next_end_that_is_missing_or_empty_is_rejected() {
    let error = advance(&[1], "null", ("", ""), &[]).expect_err("refused");
    assert!(matches!(*error.kind, ErrorKind::Protocol { .. }), "{error}");
    let error = advance(&[1], "\"\"", ("", ""), &[]).expect_err("refused");
    assert!(matches!(*error.kind, ErrorKind::Pagination(_)), "{error}");
}
