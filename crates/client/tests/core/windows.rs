//! Windows of a time range: a record on a seam, which two windows return, comes once.

use boardlot_client::error::{Error, ErrorKind};

use super::scripted;

const START: i64 = 1_780_000_000_000_000;
const SEAM: i64 = START + 1_000;
const END: i64 = START + 2_000;

/// The ids that two windows return of fills at these times; the id of a fill is its time. Both
/// bounds of a range belong to it, or the service returns what was not requested.
async fn received(times: &'static [i64], keeps_to_ranges: bool) -> Result<Vec<i64>, Error> {
    let respond = move |query: &scripted::Query| {
        let bound = |name| query.get(name).expect("a bound").parse().expect("a number");
        let asked: std::ops::RangeInclusive<i64> = bound("start")..=bound("end");
        let rows: Vec<String> = times
            .iter()
            .filter(|time| !keeps_to_ranges || asked.contains(time))
            .map(|time| format!("{{\"id\":{time},\"updated_time\":{time}}}"))
            .collect();
        format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"completed\":true}}}}",
            rows.join(",")
        )
    };
    scripted::rest(scripted::pages(scripted::fills(Some(START), Some(END), 2), None, respond)?)
        .await
}

#[tokio::test]
async fn a_record_on_the_seam_of_two_windows_comes_once() {
    let times = &[END, SEAM + 2, SEAM + 1, SEAM, SEAM - 1, START];
    assert_eq!(received(times, true).await.expect("rows"), times);
}

#[tokio::test]
async fn a_record_outside_the_requested_range_belongs_to_no_window() {
    for time in [&[END + 1], &[START - 1]] {
        let error = received(time, false).await.expect_err("refused");
        assert!(matches!(*error.kind, ErrorKind::Protocol { .. }), "{error}");
        assert!(error.to_string().contains("cannot be assigned to a window"), "{error}");
    }
}
