//! What reads untrusted bytes, a function each, for the fuzzers in `fuzz/`: no bytes make it panic,
//! and where there are two ways to read, both say the same.

use std::sync::{Arc, LazyLock};

use ::http::StatusCode;
use bytes::Bytes;
use zeroize::Zeroizing;

use crate::{
    api::{Answer, Argument, ENDPOINTS, Envelope, Field, Schema, endpoint},
    auth::{Attempt, KeyPair},
    client::listing,
    decode::{
        ColumnOptions, Columns, InvalidValues, Page, Piece, RowsAt, client_registered, object,
        open, opened_generally, scanned, server_time, token_answer,
    },
    error::Result,
    http::Received,
    login::{Callback, Verdict},
    pages::{Listing, checkpoint},
};

/// An answer with one of the four envelopes: the first byte chooses envelope and status.
pub fn envelopes(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    let mut answer = Received::new(Bytes::copy_from_slice(body));
    if choice & 0x80 != 0 {
        *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    let place = usize::from(choice & 0x7f) % ENDPOINTS.len();
    let Some(endpoint) = ENDPOINTS.get(place) else { return };
    drop(object(endpoint.contract(), &answer));
    drop(server_time(&answer));
    drop(client_registered(&answer));
}

/// A page of records: the scan and the general path give the same, and so do columns straight from
/// the text and those of parsed records.
pub fn page(data: &[u8]) {
    let answer = Received::new(Bytes::copy_from_slice(data));
    let at = RowsAt::Path(vec!["d".into(), "order_fills".into()]);
    let general = opened_generally(Envelope::Status, &at, &answer);
    if let Some(scanned) = scanned(Envelope::Status, &at, &answer) {
        match &general {
            Ok(general) => same(&scanned, general),
            Err(error) => unreachable!("the scan takes what is an error: {error}"),
        }
    }
    if let Ok(page) = open(Envelope::Status, &at, &answer) {
        columns(page);
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
    assert_eq!(meta(ours), meta(theirs), "the same beside the list");
}

fn columns(page: Page) {
    let Some(Answer::Rows(_, Schema::One(record))) =
        endpoint("fills_history").map(|row| row.answer)
    else {
        return;
    };
    let fields: Vec<&Field> = record.fields().collect();
    let options = ColumnOptions { invalid: InvalidValues::Null, ..ColumnOptions::default() };
    let mut slow = Columns::new(fields.iter().copied(), None, options);
    let parsed = (0..page.len()).try_for_each(|index| slow.push(None, &page.row(index)?));
    let mut fast = Columns::new(fields.iter().copied(), None, options);
    let range = 0..page.len();
    let scanned = fast.push_piece(&Piece { page: Arc::new(page), range, key: None });
    assert_eq!(scanned.is_ok(), parsed.is_ok(), "both or none");
    if scanned.is_ok() {
        assert_eq!(fast.finish().ok(), slow.finish().ok(), "the same columns");
    }
}

/// The answer of the token endpoint.
pub fn token(data: &[u8]) {
    drop(token_answer(&Received::new(Bytes::copy_from_slice(data))));
}

/// What a browser brings back: no bytes are taken for a code without the state.
pub fn callback(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let attempt =
        Attempt { verifier: Zeroizing::new("v".repeat(43)), state: Zeroizing::new("s".repeat(43)) };
    let found = [Ok(Callback::of_query(&text)), Callback::of_url(&text, 8765)];
    for callback in found.into_iter().flatten() {
        if !matches!(callback.judge(&attempt), Verdict::Foreign(_)) {
            assert!(text.contains('s') || text.contains('%'), "nothing without the state");
        }
    }
}

/// A private key as PEM or DER. No password: how long one takes to try, its file says.
pub fn key(data: &[u8]) {
    if let Ok(key) = KeyPair::read(data, None) {
        assert!(key.sign(b"payload").is_ok() && key.public_key_pem().is_ok(), "it signs");
    }
}

/// What `resume=` is given: what is taken is written again as it was read.
pub fn checkpoint(data: &[u8]) {
    static FILLS: LazyLock<Option<Listing>> = LazyLock::new(|| {
        let endpoint = endpoint("fills_history")?;
        let text = |text: &str| Argument::Text(text.to_owned());
        listing(endpoint, &[("acc_id", text("281756")), ("trd_market", text("HK"))], None).ok()
    });
    let (Some(fills), Ok(text)) = (FILLS.as_ref(), std::str::from_utf8(data)) else { return };
    const ORIGIN: &str = "https://api.example.com";
    if let Ok(position) = checkpoint::read(text, fills, ORIGIN) {
        let again = checkpoint::read(&checkpoint::write(&position, fills, ORIGIN), fills, ORIGIN);
        assert_eq!(again.ok().as_ref(), Some(&position), "as it was read");
    }
}
