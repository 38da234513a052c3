//! Traffic on file: written down as it happens, or played back with no network.
//!
//! A tape is a text file of one JSON object a line: a head, then exchanges. Requests are written
//! without their headers and answers with a few of theirs, so that no secret is among them; what an
//! answer repeats is struck out. Requests for tokens are not written at all.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ::http::{HeaderName, HeaderValue, StatusCode};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    HttpResponse, Prepared,
    names::{Side, redact_pairs, redact_text},
};
use crate::{
    api::{AUTHORIZE, REGISTER, TOKEN},
    error::{Delivery, Error, ErrorKind, Redactor, Result},
};

/// What stands between the sender and the network.
#[derive(Debug)]
pub enum Cassette {
    Recorder(Recorder),
    Replay(Replay),
}

/// Writes traffic to a new file, each exchange as it ends.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    recording: Mutex<Recording>,
}

#[derive(Debug)]
struct Recording {
    /// Nothing once it is closed.
    file: Option<File>,
    /// The service whose traffic it is, once the head that names it is written.
    base_url: Option<String>,
}

/// Plays the exchanges of a file back: those of one request in their order, the last of them again
/// and again.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    /// None if nothing was recorded.
    base_url: Option<String>,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    answers: HashMap<Vec<u8>, VecDeque<Answer>>,
    /// By the call whose range they end.
    moments: HashMap<String, VecDeque<i64>>,
}

/// The headers of an answer that a tape keeps.
const HEADERS_KEPT: [&str; 3] = ["content-type", "date", "retry-after"];
const VERSION: u32 = 1;

/// One line of a tape: one of its members.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    tape: Option<Head>,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<Now>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange: Option<Exchange>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    version: u32,
    base_url: String,
}

/// The service's time, in milliseconds, when a call's range of time was begun or ended with it.
#[derive(Debug, Serialize, Deserialize)]
struct Now {
    call: String,
    now_ms: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    method: String,
    path: String,
    query: String,
    body: Body,
    answer: Answer,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    #[serde(rename = "came")]
    Came { status: u16, headers: Vec<(String, String)>, body: Body },
    /// Why none came, and whether the time was up.
    #[serde(rename = "missing")]
    Missing { why: String, timeout: bool },
}

/// Bytes in the most readable form that gives them back.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Cassette {
    /// The answer to this request, where there is to be no network.
    pub fn answer(&self, prepared: &Prepared) -> Option<Result<HttpResponse>> {
        match self {
            Cassette::Recorder(_) => None,
            Cassette::Replay(replay) => Some(replay.answer(prepared)),
        }
    }

    /// Keeps what became of a request, without the secrets that are known and those whose names
    /// tell that they are.
    pub fn record(
        &self,
        base_url: &str,
        prepared: &Prepared,
        outcome: &Result<HttpResponse>,
        redactor: &Redactor,
    ) -> Result<()> {
        let Cassette::Recorder(recorder) = self else { return Ok(()) };
        if prepared.unrecorded || of_login(prepared.url.path()) {
            return Ok(());
        }
        let without_known = |text: &str| {
            let mut text = text.to_owned();
            redactor.redact(&mut text);
            text
        };
        let query = without_known(prepared.url.query().unwrap_or_default());
        let exchange = Exchange {
            method: prepared.method.to_string(),
            path: without_known(prepared.url.path()),
            query: redact_pairs(&query, Side::Request),
            body: Body::of(&prepared.body, redactor, Side::Request),
            answer: Answer::of(outcome, redactor),
        };
        recorder.write(base_url, Line { exchange: Some(exchange), ..Line::default() })
    }

    /// The service's time where a range of time begins or ends with it: played back it is that of
    /// the recording, or the requests would not be the same.
    pub fn now_ms(&self, base_url: &str, call: &str, now_ms: i64) -> i64 {
        match self {
            Cassette::Recorder(recorder) => {
                let now = Now { call: call.to_owned(), now_ms };
                // A tape that cannot be written is found out by the request that follows.
                let _ = recorder.write(base_url, Line { now: Some(now), ..Line::default() });
                now_ms
            }
            Cassette::Replay(replay) => replay.now_ms(call).unwrap_or(now_ms),
        }
    }
}

impl Recorder {
    /// Begins a file, which must not be there yet: no recording is overwritten.
    pub fn create(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| at(path, &error))?;
        let recording = Mutex::new(Recording { file: Some(file), base_url: None });
        Ok(Recorder { path: path.to_owned(), recording })
    }

    /// Ends the recording: whoever still writes to it is refused.
    pub fn close(&self) {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).file = None;
    }

    fn write(&self, base_url: &str, line: Line) -> Result<()> {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        if let Some(other) = recording.base_url.as_ref().filter(|known| *known != base_url) {
            let path = self.path.display();
            return Err(Error::config(format!(
                "the recorder of {path} records {other}; take another one for {base_url}"
            )));
        }
        if recording.base_url.is_none() {
            let head = Head { version: VERSION, base_url: base_url.to_owned() };
            add_line(&mut text, &Line { tape: Some(head), ..Line::default() })?;
        }
        add_line(&mut text, &line)?;
        let Some(file) = &mut recording.file else {
            let path = self.path.display();
            return Err(Error::config(format!("the recorder of {path} is closed")));
        };
        file.write_all(text.as_bytes()).map_err(|error| at(&self.path, &error))?;
        recording.base_url = Some(base_url.to_owned());
        Ok(())
    }
}

impl Replay {
    pub fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| at(path, &error))?;
        let (mut base_url, mut left) = (None, Left::default());
        // The last line of a recording that was interrupted has no end.
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let Some(line) = line.strip_suffix('\n') else { break };
            let line: Line = serde_json::from_str(line).map_err(|error| {
                let path = path.display();
                Error::config(format!("{path}, line {}, is none of a tape: {error}", number + 1))
            })?;
            match line.tape {
                Some(head) if head.version == VERSION => base_url = Some(head.base_url),
                Some(head) => {
                    let (path, version) = (path.display(), head.version);
                    let text = format!("{path} is a tape of version {version}, not {VERSION}");
                    return Err(Error::config(text));
                }
                None => {}
            }
            if let Some(Now { call, now_ms }) = line.now {
                left.moments.entry(call).or_default().push_back(now_ms);
            }
            if let Some(Exchange { method, path, query, body, answer }) = line.exchange {
                let key = key(&method, &path, &query, &body.bytes());
                left.answers.entry(key).or_default().push_back(answer);
            }
        }
        // A recorder that was closed unused leaves an empty file.
        if base_url.is_none() && !text.is_empty() {
            let text = format!("{} is not a tape: its first line is missing", path.display());
            return Err(Error::config(text));
        }
        Ok(Replay { path: path.to_owned(), base_url, left: Mutex::new(left) })
    }

    /// The service whose traffic was recorded; none if nothing was.
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    fn answer(&self, prepared: &Prepared) -> Result<HttpResponse> {
        let (method, path) = (prepared.method.as_str(), prepared.url.path());
        let query = prepared.url.query().unwrap_or_default();
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = left.answers.get_mut(&key(method, path, query, &prepared.body));
        let answer = answers.and_then(next).ok_or_else(|| {
            let mark = if query.is_empty() { "" } else { "?" };
            Error::config(format!(
                "{method} {path}{mark}{query} is not on the tape {}; record it anew",
                self.path.display()
            ))
        })?;
        answer.received()
    }

    fn now_ms(&self, call: &str) -> Option<i64> {
        next(self.left.lock().unwrap_or_else(PoisonError::into_inner).moments.get_mut(call)?)
    }
}

/// Whether this is an endpoint of the login: what goes to and fro there are secrets.
fn of_login(path: &str) -> bool {
    [TOKEN, REGISTER, AUTHORIZE].iter().any(|endpoint| path.ends_with(endpoint.path))
}

/// The next of these; the last one stays.
fn next<T: Clone>(queue: &mut VecDeque<T>) -> Option<T> {
    if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() }
}

/// What makes two requests the same: not their headers, which differ each time, and not the secrets
/// that are not on the tape.
fn key(method: &str, path: &str, query: &str, body: &[u8]) -> Vec<u8> {
    let query = redact_pairs(query, Side::Request);
    let body = match std::str::from_utf8(body) {
        Ok(text) => Cow::Owned(redact_text(text, Side::Request).into_bytes()),
        Err(_) => Cow::Borrowed(body),
    };
    [method.as_bytes(), path.as_bytes(), query.as_bytes(), &body].join(&b'\n')
}

impl Answer {
    fn of(outcome: &Result<HttpResponse>, redactor: &Redactor) -> Self {
        match outcome {
            Ok(received) => {
                let kept = |name: &str| {
                    let mut value = received.headers().get(name)?.to_str().ok()?.to_owned();
                    redactor.redact(&mut value);
                    Some((name.to_owned(), value))
                };
                Answer::Came {
                    status: received.status().as_u16(),
                    headers: HEADERS_KEPT.into_iter().filter_map(kept).collect(),
                    body: Body::of(received.body(), redactor, Side::Response),
                }
            }
            Err(error) => Answer::Missing {
                why: error.clone().redacted(redactor).kind.to_string(),
                timeout: matches!(error.kind.as_ref(), ErrorKind::Timeout(_)),
            },
        }
    }

    fn received(self) -> Result<HttpResponse> {
        let (status, headers, body) = match self {
            Answer::Came { status, headers, body } => (status, headers, body),
            Answer::Missing { why, timeout: true } => return Err(ErrorKind::Timeout(why).into()),
            Answer::Missing { why, timeout: false } => {
                return Err(ErrorKind::Transport { message: why, sent: Delivery::Unknown }.into());
            }
        };
        let mut received = HttpResponse::new(body.bytes());
        *received.status_mut() = StatusCode::from_u16(status)
            .map_err(|_| Error::config(format!("the tape has an HTTP status of {status}")))?;
        for (name, value) in &headers {
            let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value))
            else {
                return Err(Error::config(format!("the tape has a header '{name}' that is none")));
            };
            received.headers_mut().insert(name, value);
        }
        Ok(received)
    }
}

impl Body {
    fn of(bytes: &[u8], redactor: &Redactor, side: Side) -> Self {
        let bytes = redactor.redacted(bytes).map_or(Cow::Borrowed(bytes), Cow::Owned);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Body { base64: Some(STANDARD.encode(bytes)), ..Body::default() };
        };
        let text = redact_text(text, side);
        if text.is_empty() {
            return Body::default();
        }
        // Of JSON the very text is kept, which has to stay on its line.
        if !text.contains(['\n', '\r'])
            && let Ok(json) = RawValue::from_string(text.clone())
            && json.get() == text
        {
            return Body { json: Some(json), ..Body::default() };
        }
        Body { text: Some(text), ..Body::default() }
    }

    fn bytes(&self) -> Bytes {
        match self {
            Body { json: Some(json), .. } => json.get().to_owned().into(),
            Body { text: Some(text), .. } => text.clone().into(),
            Body { base64: Some(text), .. } => STANDARD.decode(text).unwrap_or_default().into(),
            Body { json: None, text: None, base64: None } => Bytes::new(),
        }
    }
}

fn add_line(text: &mut String, line: &Line) -> Result<()> {
    let line = serde_json::to_string(line)
        .map_err(|error| Error::config(format!("a line of the tape cannot be written: {error}")))?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

fn at(path: &Path, error: &io::Error) -> Error {
    Error::config(format!("{}: {error}", path.display()))
}
