//! The rules for reading a response: what makes it a success or a rejection, where its records are
//! if the service document does not show their location, and which members say that there are more
//! records. No other file decides any of these. `api::FORMS` has examples, which docs/responses.md
//! shows.

use ::http::StatusCode;
use serde_json::value::RawValue;

use super::json::{Members, Raw, Value, find_member, parse_members};
use crate::{
    api::{CursorLocation, Envelope, NEXT_KEY, PAGE_FLAG, Paging},
    error::says_token_rejected,
};

/// The meaning of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The response has the requested content.
    Success,
    /// The service rejects the request: an `ApiError`.
    Rejection,
    /// Neither is recognized: a `ProtocolError`.
    Neither,
}

/// Decides the meaning of a response. Every HTTP 4xx and 5xx is a rejection, whatever its body. Any
/// other response is a success if it has the success mark of its endpoint, and a rejection if it
/// reports a failure.
pub(super) fn verdict(
    envelope: Envelope,
    status: StatusCode,
    top: Option<&Members<'_>>,
    report: &Report,
) -> Verdict {
    let value = |name: &str| find_member(top?, name).map(RawValue::get);
    let is_failure = report.is_failure(envelope);
    // The document does not say which of the two marks counts.
    let is_contradictory =
        envelope == Envelope::Unknown && (is_failure || top.is_some_and(|top| contradicts(top)));
    if status.is_client_error() || status.is_server_error() {
        Verdict::Rejection
    } else if status.is_success() && is_success(envelope, &value) && !is_contradictory {
        Verdict::Success
    } else if is_failure {
        Verdict::Rejection
    } else {
        Verdict::Neither
    }
}

/// Returns true if a response has the success mark of its endpoint; `value` returns the JSON of a
/// top-level member. Marks are compared as JSON values: `0`, `-0`, `0.0` and `0e5` are one number.
pub(super) fn is_success<'a>(envelope: Envelope, value: &dyn Fn(&str) -> Option<&'a str>) -> bool {
    let zero = |name| value(name).is_some_and(is_zero);
    let ok = || value("s").is_some_and(|json| is_text(json, "ok"));
    match envelope {
        Envelope::RetCode => zero("ret_code"),
        Envelope::Code => zero("code"),
        Envelope::Status => ok(),
        Envelope::Field(name) => value(name).is_some(),
        Envelope::Undocumented | Envelope::Unknown => match (value("s"), value("ret_code")) {
            (Some(_), _) => ok(),
            (None, Some(_)) => zero("ret_code"),
            (None, None) => zero("code"),
        },
    }
}

/// Returns true if a success may be a JSON list without an envelope: for an endpoint of which
/// nothing is documented.
pub(super) fn may_be_bare_list(envelope: Envelope) -> bool {
    envelope == Envelope::Unknown
}

/// The failure that a response reports.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The code, if it is a whole number.
    pub code: Option<i64>,
    /// `ret_code`, `code` or `errcode` is a number other than 0, or `s` is `error`.
    pub has_failure_mark: bool,
    /// `error.code`.
    pub error_code: Option<String>,
    /// A code in another location: `error` of RFC 6749, or `error.type`.
    pub other_code: Option<String>,
    /// The message for the caller; empty if none can be read.
    pub message: String,
    /// All texts that may say that the token was rejected; the form of such a response is not
    /// documented.
    pub texts: Vec<String>,
}

impl Report {
    fn is_failure(&self, envelope: Envelope) -> bool {
        let may_have_other = envelope != Envelope::Unknown;
        let mut texts = self.texts.iter().chain(&self.other_code);
        self.has_failure_mark
            || self.error_code.is_some()
            || (may_have_other && self.other_code.is_some())
            || texts.any(|text| says_token_rejected(text))
    }
}

/// Returns true if there are members that no documented form of success has, and that report a
/// failure.
fn contradicts(members: &Members<'_>) -> bool {
    let value = |name: &str| find_member(members, name).map(RawValue::get);
    let says = |name| value(name).is_some_and(|json| !EMPTY.contains(&json) && !is_zero(json));
    ["error", "errors", "error_code"].into_iter().any(says) || value("success") == Some("false")
}

const EMPTY: [&str; 5] = ["null", "\"\"", "false", "[]", "{}"];

/// Returns true if a JSON text is a number other than 0, which is the code of a failure.
pub(super) fn is_failure_code(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit()) && !is_zero(json)
}

/// Returns true if a JSON text is a number that equals 0, however it is written.
pub(super) fn is_zero(json: &str) -> bool {
    let digits = json.split_once(['e', 'E']).map_or(json, |(digits, _)| digits);
    digits.contains('0') && digits.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'))
}

/// Returns true if a JSON text is this string, however it is escaped.
pub(super) fn is_text(json: &str, text: &str) -> bool {
    json.starts_with('"') && Raw::new(json).text().is_some_and(|value| value == text)
}

/// A list with the members of its object.
pub(super) type FoundList<'a> = (&'a RawValue, Members<'a>);

/// The list that was found, if there is one; or the locations of several lists.
pub(super) type OnlyList<'a> = Result<Option<FoundList<'a>>, Vec<String>>;

/// Finds the list of records in an envelope of which nothing else is documented: the value of
/// `data` or `d`, which all documented forms have, or the only list among its members; without
/// these members, the only list beside the mark. A list elsewhere may explain a failure, so it is
/// never used.
pub(super) fn list_in_envelope<'a>(top: &Members<'a>) -> OnlyList<'a> {
    let data = ["data", "d"].into_iter().find_map(|name| Some((name, find_member(top, name)?)));
    let Some((name, data)) = data else { return only_list(top, "", Depth::Members) };
    let is_plain = |value: &RawValue| !value.get().starts_with(['[', '{']);
    match data.get().as_bytes().first() {
        Some(b'[') => Ok(Some((data, top.clone()))),
        Some(b'n') => Ok(top.iter().all(|(_, value)| is_plain(value)).then(|| (data, top.clone()))),
        Some(b'{') => {
            let members = parse_members(data.get()).unwrap_or_default();
            match contradicts(&members) {
                true => Ok(None),
                false => {
                    or_null(only_list(&members, &format!("{name}."), Depth::Members), &members)
                }
            }
        }
        _ => Ok(None),
    }
}

/// Finds the list of records in a member whose shape is not documented: its own value, the only
/// list among its members, or the only list deeper in it.
pub(super) fn list_in_member<'a>(top: &Members<'a>, name: &str) -> OnlyList<'a> {
    let Some(data) = find_member(top, name) else { return Ok(None) };
    if data.get().starts_with('[') || data.get() == "null" {
        return Ok(Some((data, Members::new())));
    }
    let Ok(members) = parse_members(data.get()) else { return Ok(None) };
    let prefix = format!("{name}.");
    match only_list(&members, &prefix, Depth::Members)? {
        Some(found) => Ok(Some(found)),
        None => or_null(only_list(&members, &prefix, Depth::All), &members),
    }
}

/// If there is no list, the only member that is null is an empty list: services write lists without
/// items in that way.
fn or_null<'a>(found: OnlyList<'a>, members: &Members<'a>) -> OnlyList<'a> {
    let mut nulls = members.iter().filter(|(_, value)| value.get() == "null");
    match (found?, nulls.next(), nulls.next()) {
        (None, Some((_, null)), None) => Ok(Some((null, members.clone()))),
        (found, ..) => Ok(found),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Looks at the members themselves.
    Members,
    /// Looks at the members and the members of the objects within them.
    All,
}

/// Finds the only list among the members.
fn only_list<'a>(members: &Members<'a>, prefix: &str, depth: Depth) -> OnlyList<'a> {
    let mut lists = Vec::new();
    let mut pending = vec![(prefix.to_owned(), members.clone())];
    while let Some((prefix, members)) = pending.pop() {
        for (name, value) in &members {
            match value.get().as_bytes().first() {
                Some(b'[') => lists.push((format!("{prefix}{name}"), *value, members.clone())),
                Some(b'{') if depth == Depth::All => {
                    let inner = parse_members(value.get()).unwrap_or_default();
                    pending.push((format!("{prefix}{name}."), inner));
                }
                _ => {}
            }
        }
    }
    match <[_; 1]>::try_from(lists) {
        Ok([(_, list, siblings)]) => Ok(Some((list, siblings))),
        Err(none) if none.is_empty() => Ok(None),
        Err(several) => Err(several.into_iter().map(|(place, ..)| place).collect()),
    }
}

/// The end signals of section 2.4, each with its value at the end of a list. There are no others:
/// neither an empty page nor another cursor ends a list.
const END_SIGNALS: [(&str, bool); 2] = [NEXT_KEY.end, PAGE_FLAG.end];

/// Finds the member, if any, that says that there are more records than the response has: among
/// these members of an object that contains the list, or in their `pagination`.
pub(super) fn says_more<'a>(
    mut members: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<&'static str> {
    members.find_map(|(name, json)| {
        if name == "pagination" {
            let inner = parse_members(json).ok()?;
            return inner.iter().find_map(|(name, value)| more_by(name, value.get()));
        }
        more_by(name, json)
    })
}

fn more_by(name: &str, json: &str) -> Option<&'static str> {
    let (signal, at_end) = END_SIGNALS.into_iter().find(|(signal, _)| *signal == name)?;
    let says_more = if at_end { "false" } else { "true" };
    (json == says_more).then_some(signal)
}

/// Returns true if a page is the last of its list, by the only signal of its paging. The error is
/// the name of the signal, if the page lacks it. `value` returns a member of the response.
pub fn is_last_page<'a>(
    paging: &Paging,
    value: impl Fn(CursorLocation, &str) -> Option<Value<'a>>,
) -> Result<bool, &'static str> {
    // A range of dates has the same signal as a cursor of section 2.4.
    let ((name, at_end), location) = match paging {
        Paging::Cursor(cursor) => (cursor.end, cursor.location),
        Paging::DateRange(_) => (NEXT_KEY.end, NEXT_KEY.location),
    };
    let flag = value(location, name).and_then(|value| value.as_bool());
    flag.map(|flag| flag == at_end).ok_or(name)
}
