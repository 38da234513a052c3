//! The content of a checkpoint, and the list it belongs to.

use boardlot_client::extension::{
    error::Result,
    pages::{Position, checkpoint},
};

use crate::{
    positions::{DAY, NOW_MS, Range, Service, pages},
    reading::Reader,
    scripted::{ORIGIN, ids_of as times},
};

/// A position, as another process that was given its checkpoint reads it.
fn resumed(range: Range, text: &str) -> Result<Position> {
    let pages = pages(&Service::holding(Vec::new()), range, 1, None);
    checkpoint::read(text, pages.listing(), ORIGIN)
}

fn resumed_within(text: &str, windows: i64) -> Position {
    let pages = pages(&Service::holding(Vec::new()), Range::Closed, windows, None);
    checkpoint::read(text, pages.listing(), ORIGIN).expect("its own")
}

fn written(position: &Position, range: Range) -> String {
    let pages = pages(&Service::holding(Vec::new()), range, 1, None);
    checkpoint::text_of(position, pages.listing(), ORIGIN)
}

#[test]
fn a_checkpoint_says_no_more_than_it_has_to_and_is_read_as_it_was_written() {
    use Position;
    let fixed = Some((1, 2));
    for position in [
        Position::default(),
        Position { range: fixed, row: 1, ..Position::default() },
        Position { range: fixed, cursor: Some("\"\u{1f4c8}".into()), ..Position::default() },
        Position {
            range: fixed,
            window: 3,
            used_cursors: [5, 9].into_iter().collect(),
            ..Position::default()
        },
        Position { done: true, ..Position::default() },
    ] {
        let text = written(&position, Range::Open);
        let read = resumed(Range::Open, &text).expect("its own");
        assert_eq!(format!("{read:?}"), format!("{position:?}"), "{text}");
        assert_eq!(text.contains("\"row\""), position.row > 0);
        assert_eq!(text.contains("\"window\""), position.window > 0);
        assert_eq!(text.contains("\"done\""), position.done);
        // Each line of another digest, of another origin, or without its digest.
        let other = text.replace("\"checksum\":\"", "\"checksum\":\"0");
        assert!(resumed(Range::Open, &other).is_err(), "{other}");
        let moved = text.replace("api.example.com", "api.example.org");
        assert!(resumed(Range::Open, &moved).is_err(), "{moved}");
    }
}

#[test]
fn a_checkpoint_of_other_arguments_or_with_another_position_is_rejected() {
    use Position;
    let said = |range, text: &str| resumed(range, text).expect_err("refused").to_string();
    let text = written(&Position { done: true, ..Position::default() }, Range::Open);
    assert!(said(Range::Closed, &text).contains("another call"));
    let position = Position { range: Some((1, 2)), row: 1, ..Position::default() };
    let text = written(&position, Range::Open).replace("\"row\":1", "\"row\":2");
    assert!(said(Range::Open, &text).contains("checksum"));
}

#[test]
fn a_checkpoint_in_the_middle_needs_the_range_that_it_is_in() {
    use Position;
    for position in [
        Position { row: 1, ..Position::default() },
        Position { window: 1, ..Position::default() },
        Position { cursor: Some("at 1".into()), ..Position::default() },
    ] {
        assert!(resumed(Range::Open, &written(&position, Range::Open)).is_err(), "{position:?}");
        assert!(resumed(Range::Closed, &written(&position, Range::Closed)).is_ok());
        let ranged = Position { range: Some((1, 2)), ..position };
        assert!(resumed(Range::Open, &written(&ranged, Range::Open)).is_ok());
        assert!(resumed(Range::Closed, &written(&ranged, Range::Closed)).is_err());
    }
}

#[tokio::test]
async fn windows_are_parts_of_the_range_and_the_end_of_one_is_the_beginning_of_the_next() {
    let day = |age: i64| NOW_MS * 1_000 - age * DAY - 1;
    let service = Service::holding((0..90).step_by(10).map(day).collect());
    let mut pages_now = Reader::from(pages(&service, Range::Closed, 3, None));
    let (mut windows, mut received) = (Vec::new(), Vec::new());
    while let Some(page) = pages_now.next_page().await.expect("pages") {
        received.extend(times(&[page]));
        let text = pages_now.checkpoint();
        let position = resumed_within(&text, 3);
        windows.push(position.part);
        assert_eq!(position.done, position.part.is_none());
        // Resuming here gets the rest.
        let resumed = pages(&service, Range::Closed, 3, Some(&text));
        let rest = resumed.rest().await.expect("rest");
        let all = [received.clone(), times(&rest)].concat();
        assert_eq!(all, (0..90).step_by(10).map(day).collect::<Vec<_>>());
    }
    let [None, oldest, .., latest] = *windows.iter().rev().copied().collect::<Vec<_>>() else {
        panic!("{windows:?}")
    };
    // The end of a window is the beginning of the next one, on a whole day.
    let (Some((start, _)), Some((first, end))) = (oldest, latest) else { panic!("{windows:?}") };
    assert_eq!((start, end), (NOW_MS * 1_000 - 90 * DAY, NOW_MS * 1_000));
    windows.dedup();
    let middle = windows.get(1).copied().flatten().map(|(_, last)| last + 1);
    assert_eq!((windows.len(), middle, first % DAY), (4, Some(first), 0));
}
