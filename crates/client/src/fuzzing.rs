//! Targets of the fuzzers in `fuzz/`: the parsers of untrusted bytes. They do not panic on any
//! input, and two parsers of one format agree.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use ::http::StatusCode;
use bytes::Bytes;
use zeroize::Zeroizing;

use crate::{
    api::{
        Argument, ENDPOINTS, Endpoint, Envelope, Field, Kind, RecordsLocation, ResponseShape,
        Schema, endpoint,
    },
    auth::{Attempt, KeyPair},
    decode::{
        ColumnOptions, Columns, Decimals, InvalidValues, Page, PageSlice, Raw, Strings, Value,
        find_member, parse_fast_path, parse_members, parse_page, parse_registration,
        parse_server_time, parse_slow_path, parse_token_response,
        scalars::{PushError, date, decimal_text, flag, integer, is_null, number, text, timestamp},
        success_members,
    },
    error::Result,
    http::HttpResponse,
    login::{Callback, Verdict},
    pages::{Listing, PagedCall, checkpoint},
};

/// A response with one of the four envelopes: the first byte chooses envelope and status.
pub fn envelopes(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    let mut response = HttpResponse::new(Bytes::copy_from_slice(body));
    if choice & 0x80 != 0 {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    let place = usize::from(choice & 0x7f) % ENDPOINTS.len();
    let Some(endpoint) = ENDPOINTS.get(place) else { return };
    drop(success_members(endpoint.contract(), &response));
    drop(parse_server_time(&response));
    drop(parse_registration(&response));
}

/// A page of records: the fast and the slow path agree, and so do the columns of the scanned text
/// and of parsed records.
pub fn page(data: &[u8]) {
    let response = HttpResponse::new(Bytes::copy_from_slice(data));
    let at = RecordsLocation::at("d.order_fills");
    let general = parse_slow_path(Envelope::Status, &at, &response);
    if let Some(scanned) = parse_fast_path(Envelope::Status, &at, &response) {
        match &general {
            Ok(general) => same(&scanned, general),
            Err(error) => unreachable!("the fast path accepts what is an error: {error}"),
        }
    }
    if let (Ok(page), Ok(general)) = (parse_page(Envelope::Status, &at, &response), general) {
        columns(page, general);
    }
}

fn same(ours: &Page, theirs: &Page) {
    let members = |page: &Page, index| -> Result<Vec<(String, String)>> {
        let members = page.row(index)?.into_iter();
        Ok(members.map(|(name, raw)| (name.into_owned(), raw.get().to_owned())).collect())
    };
    assert_eq!(ours.len(), theirs.len(), "as many records");
    for index in 0..ours.len() {
        assert_eq!(members(ours, index).ok(), members(theirs, index).ok(), "record {index}");
    }
    let meta = |page: &Page| -> Vec<String> {
        page.meta().map(|(name, value)| format!("{name} {value:?}")).collect()
    };
    assert_eq!(meta(ours), meta(theirs), "the same metadata");
}

fn columns(page: Page, general: Page) {
    let Some(ResponseShape::Rows(_, Schema::One(record))) =
        endpoint("fills_history").map(|row| row.response.clone())
    else {
        return;
    };
    let fields: Vec<&Field> = record.fields().collect();
    let options = ColumnOptions { invalid: InvalidValues::Null, ..ColumnOptions::default() };
    let columns = |page: Page| {
        let mut columns = Columns::new(fields.iter().copied(), None, None, options);
        let pushed = columns.push_slice(&page.into());
        (columns, pushed)
    };
    let ((fast, scanned), (slow, parsed)) = (columns(page), columns(general));
    assert_eq!(scanned.is_ok(), parsed.is_ok(), "both or neither");
    if scanned.is_ok() {
        assert_eq!(fast.finish().ok(), slow.finish().ok(), "the same columns");
    }
}

/// Records of any endpoint as columns, with any options, whole and in parts: both have the same
/// schema and every row, in linear time.
pub fn columns_of_parts(data: &[u8]) {
    let Some((endpoint, choice, page)) = chosen(data) else { return };
    let Some(page) = page else { return };
    let fields = fields_of(endpoint);
    let options = ColumnOptions {
        decimals: match choice % 3 {
            0 => Decimals::Float64,
            1 => Decimals::Decimal,
            _ => Decimals::Text,
        },
        strings: match choice / 3 % 3 {
            0 => Strings::Utf8,
            1 => Strings::Large,
            _ => Strings::View,
        },
        invalid: InvalidValues::Null,
        ..ColumnOptions::default()
    };
    let key = (choice & 0x40 != 0).then_some("symbol");
    let rows = page.len();
    let page = Arc::new(page);
    let slice = |range| PageSlice { page: page.clone(), range, key: key.map(Arc::from) };
    let make = || Columns::new(fields.iter().copied(), key, None, options);
    within_budget(data.len(), || {
        let (mut whole, mut parts) = (make(), vec![make(), make()]);
        let taken = whole.push_slice(&slice(0..rows));
        for (part, range) in parts.iter_mut().zip([0..rows / 2, rows / 2..rows]) {
            assert_eq!(part.push_slice(&slice(range)).is_ok(), taken.is_ok(), "all or none");
        }
        let (Ok(whole), Ok((schema, parts))) = (whole.finish(), Columns::finish_parts(parts))
        else {
            return;
        };
        assert_eq!(whole.schema(), schema, "one schema");
        assert_eq!(whole.num_rows(), rows, "every row");
        let names: HashSet<&String> = schema.fields().iter().map(|field| field.name()).collect();
        assert_eq!(names.len(), schema.fields().len(), "unique names");
        // Each field is in a record, between quotes.
        assert!(names.len() <= fields.len() + 1 + data.len() / 5, "only fields that were sent");
        let mut from = 0;
        for part in parts {
            assert_eq!(whole.slice(from, part.num_rows()), part, "the same cells");
            from += part.num_rows();
        }
    });
}

/// The values of records by every conversion to objects: member by member, from the scanned
/// positions, and as one value. All agree on which values have the type of their field.
pub fn shapes(data: &[u8]) {
    let Some((endpoint, _, Some(page))) = chosen(data) else { return };
    let (fields, page) = (fields_of(endpoint), Arc::new(page));
    within_budget(data.len(), || {
        for index in 0..page.len() {
            let Ok(members) = page.row(index) else { continue };
            let parsed: Vec<Option<Value<'_>>> =
                members.iter().map(|(_, raw)| Value::parse(raw.get()).ok()).collect();
            if let Some(values) = page.row_values(index) {
                let names = members.iter().map(|(name, _)| name.as_ref());
                assert!(values.names().eq(names), "its names");
                let cut = (0..members.len()).map(|at| Value::parse(values.get(at)?.json).ok());
                assert!(cut.eq(parsed.iter().cloned()), "the same values");
            }
            let fit = fields.iter().all(|field| {
                find_member(&members, &field.name).is_none_or(|raw| fits(field.kind, raw.get()))
            });
            let mut columns =
                Columns::new(fields.iter().copied(), None, None, ColumnOptions::default());
            let slice = PageSlice { page: page.clone(), range: index..index + 1, key: None };
            assert_eq!(columns.push_slice(&slice).is_ok(), fit, "its type in both or neither");
        }
    });
}

/// Returns true if a value and its members have the types of their fields.
fn fits(kind: Kind, json: &str) -> bool {
    let raw = Raw::new(json);
    let checked = match kind {
        _ if is_null(raw) => Ok(()),
        Kind::Text => text(raw).map(drop),
        Kind::Integer | Kind::IntegerNotZero => integer(raw).map(drop),
        Kind::Number => number(raw).map(drop),
        Kind::Flag => flag(raw).map(drop),
        Kind::Decimal => decimal_text(raw).map(drop),
        Kind::Timestamp(unit, _) => timestamp(raw, unit).map(drop),
        Kind::Date => date(raw).map(drop),
        Kind::Object(fields) => {
            if !json.starts_with('{') {
                return false;
            }
            let Ok(members) = parse_members(json) else { return false };
            return fields.iter().all(|field| {
                find_member(&members, &field.name).is_none_or(|raw| fits(field.kind, raw.get()))
            });
        }
    };
    checked != Err(PushError::Invalid)
}

/// Chooses an endpoint with records and a byte of options by the first two bytes. The remaining
/// bytes are its records, or a response.
fn chosen(data: &[u8]) -> Option<(&'static Endpoint, u8, Option<Page>)> {
    let (choices, rest) = data.split_first_chunk::<2>()?;
    let [place, choice] = *choices;
    let mut listed = ENDPOINTS.iter().filter(|row| matches!(row.response, ResponseShape::Rows(..)));
    let endpoint = listed.clone().nth(usize::from(place) % listed.by_ref().count().max(1))?;
    let at = RecordsLocation::at("d");
    let body = match choice & 0x80 {
        0 => [b"{\"s\":\"ok\",\"d\":[", rest, b"]}"].concat(),
        _ => rest.to_vec(),
    };
    let page = parse_page(Envelope::Status, &at, &HttpResponse::new(Bytes::from(body))).ok();
    Some((endpoint, choice, page))
}

fn fields_of(endpoint: &'static Endpoint) -> Vec<&'static Field> {
    match &endpoint.response {
        ResponseShape::Rows(_, schema) => {
            schema.records().first().map(|record| record.fields().collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Asserts that the time is linear in the input, with a margin for the sanitizer and a busy
/// machine. Quadratic work on the longest inputs takes far longer.
fn within_budget(bytes: usize, work: impl FnOnce()) {
    const ONCE: Duration = Duration::from_secs(1);
    const PER_BYTE: Duration = Duration::from_micros(40);
    let start = Instant::now();
    work();
    let most = ONCE + PER_BYTE * u32::try_from(bytes).unwrap_or(u32::MAX);
    assert!(start.elapsed() < most, "{bytes} bytes took {:?}", start.elapsed());
}

/// The response of the token endpoint.
pub fn token(data: &[u8]) {
    drop(parse_token_response(&HttpResponse::new(Bytes::copy_from_slice(data))));
}

/// The callback of a login: without the state, no input is accepted as a code.
pub fn callback(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let attempt =
        Attempt { verifier: Zeroizing::new("v".repeat(43)), state: Zeroizing::new("s".repeat(43)) };
    let found = [
        Ok(Callback::from_query(&text)),
        Callback::from_url(&text, "http://127.0.0.1:8765/callback"),
    ];
    for callback in found.into_iter().flatten() {
        if !matches!(callback.check(&attempt, "https://api.example.com/v1"), Verdict::Unrelated(_))
        {
            assert!(text.contains('s') || text.contains('%'), "nothing without the state");
        }
    }
}

/// A private key as PEM or DER. No password is tried: the file decides how long trying one takes.
pub fn key(data: &[u8]) {
    if let Ok(key) = KeyPair::read(data, None) {
        assert!(key.sign(b"payload").is_ok() && key.public_key_pem().is_ok(), "it signs");
    }
}

/// The argument `resume=`: an accepted checkpoint survives writing and reading.
pub fn checkpoint(data: &[u8]) {
    static FILLS: LazyLock<Option<Listing>> = LazyLock::new(|| {
        let endpoint = endpoint("fills_history")?;
        let text = |text: &str| Argument::Text(text.to_owned());
        PagedCall::new(endpoint, &[("acc_id", text("281756")), ("trd_market", text("HK"))], None)
            .ok()
            .map(Listing::from)
    });
    let (Some(fills), Ok(text)) = (FILLS.as_ref(), std::str::from_utf8(data)) else { return };
    const ORIGIN: &str = "https://api.example.com";
    if let Ok(position) = checkpoint::read(text, fills, ORIGIN) {
        let written = checkpoint::text_of(&position, fills, ORIGIN);
        let again = checkpoint::read(&written, fills, ORIGIN);
        let again = again.ok().map(|position| checkpoint::text_of(&position, fills, ORIGIN));
        assert_eq!(again, Some(written), "unchanged");
    }
}
