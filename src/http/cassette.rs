//! Cassettes: traffic recorded to a file, or replayed from it without a network.
//!
//! A cassette is a text file of one JSON object a line: a header, then exchanges. Requests are recorded
//! without their headers and responses with a few of theirs. The secrets of the client are redacted, and
//! others by their names. Requests for tokens are not recorded at all.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ::http::{HeaderName, HeaderValue, StatusCode};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use url::form_urlencoded;

use super::{
    HttpResponse, Request,
    exchange::Received,
    redact::{Side, redact_pairs, redact_text},
};
use crate::{
    error::{Delivery, Error, ErrorKind, Redactor, Result, Unredacted},
    os::{atomic_file::check_regular, texts::without_mark},
};

/// Records the traffic of a client, or replaces the network.
#[derive(Debug)]
pub enum Cassette {
    /// Records.
    Recorder(Recorder),
    /// Replays.
    Replay(Replay),
}

/// Records traffic to a new file, each exchange when it ends.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    recording: Mutex<Recording>,
}

#[derive(Debug)]
struct Recording {
    /// None once it is closed.
    file: Option<File>,
    /// The bytes of its complete lines.
    length: u64,
    /// True if a line that could not be written may have begun: it is removed before the next one.
    is_broken: bool,
    /// The service whose traffic is recorded, once the header that names it is written.
    base_url: Option<String>,
}

/// Replays the exchanges of a file: those of one request in their order, then the last one repeatedly.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    /// None if nothing was recorded.
    base_url: Option<String>,
    remaining: Mutex<Remaining>,
}

#[derive(Debug, Default)]
struct Remaining {
    responses: HashMap<Vec<u8>, VecDeque<Recorded>>,
    /// The times by the call whose range they end.
    times: HashMap<String, VecDeque<i64>>,
}

/// The headers of a response that are recorded.
const HEADERS_KEPT: [&str; 3] = ["content-type", "date", "retry-after"];
const VERSION: u32 = 1;
/// The beginning of a cassette.
const HEADER_START: &[u8] = b"{\"header\":";

/// One line of a cassette: exactly one of these members.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<Header>,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<Now>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange: Option<Exchange>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    base_url: String,
}

/// The service's time, in microseconds, from which a call's time range was resolved.
#[derive(Debug, Serialize, Deserialize)]
struct Now {
    call: String,
    micros: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    method: String,
    path: String,
    query: String,
    body: RecordedBody,
    response: Recorded,
}

/// The outcome of an exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Recorded {
    Received { status: u16, headers: Vec<(String, String)>, body: RecordedBody },
    Error { message: String, timeout: bool },
}

/// Bytes in the most readable form from which they can be restored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RecordedBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Cassette {
    /// The recorded response to this request; none if this is a recorder.
    pub(super) fn response(&self, request: &Request) -> Option<Result<HttpResponse>> {
        match self {
            Cassette::Recorder(_) => None,
            Cassette::Replay(replay) => Some(replay.response(request)),
        }
    }

    /// Records an exchange, without the secrets that are known and those that their names identify.
    pub(super) fn record(
        &self,
        base_url: &str,
        request: &Request,
        outcome: &Result<Received, Unredacted>,
        redactor: &Redactor,
    ) -> Result<()> {
        let Cassette::Recorder(recorder) = self else { return Ok(()) };
        if request.unrecorded {
            return Ok(());
        }
        let query = without_known(request.url.query().unwrap_or_default(), redactor);
        let exchange = Exchange {
            method: request.method.to_string(),
            path: without_known(request.url.path(), redactor),
            query: redact_pairs(&query, Side::Request),
            body: RecordedBody::of(&request.body, redactor, Side::Request),
            response: Recorded::of(outcome, redactor),
        };
        recorder.write(base_url, Line { exchange: Some(exchange), ..Line::default() })
    }

    /// The service's time from which a time range is resolved: a replay uses that of the recording, or
    /// the requests would not be the same.
    pub(super) fn now(&self, base_url: &str, call: &str, micros: i64) -> Result<i64> {
        match self {
            Cassette::Recorder(recorder) => {
                let now = Now { call: call.to_owned(), micros };
                recorder.write(base_url, Line { now: Some(now), ..Line::default() })?;
                Ok(micros)
            }
            Cassette::Replay(replay) => Ok(replay.now(call).unwrap_or(micros)),
        }
    }
}

impl Recorder {
    /// Creates the file, which must not exist: recordings are never overwritten.
    pub fn create(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| at(path, &error))?;
        let recording =
            Mutex::new(Recording { file: Some(file), length: 0, is_broken: false, base_url: None });
        Ok(Recorder { path: path.to_owned(), recording })
    }

    /// Ends the recording: clients that still use it get an error. Some disks are only now full.
    pub fn close(&self) -> Result<()> {
        let file = self.recording.lock().unwrap_or_else(PoisonError::into_inner).file.take();
        file.map_or(Ok(()), |file| file.sync_all()).map_err(|error| at(&self.path, &error))
    }

    fn write(&self, base_url: &str, line: Line) -> Result<()> {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        if let Some(other) = recording.base_url.as_ref().filter(|known| *known != base_url) {
            let path = self.path.display();
            return Err(Error::config(format!(
                "the recorder of {path} records {other}; create another one for {base_url}"
            )));
        }
        if recording.base_url.is_none() {
            let header = Header { version: VERSION, base_url: base_url.to_owned() };
            add_line(&mut text, &Line { header: Some(header), ..Line::default() })?;
        }
        add_line(&mut text, &line)?;
        recording.append(text.as_bytes()).map_err(|error| at(&self.path, &error))?.ok_or_else(
            || {
                let path = self.path.display();
                Error::config(format!("the recorder of {path} is closed; create a new one"))
            },
        )?;
        recording.base_url = Some(base_url.to_owned());
        Ok(())
    }
}

impl Recording {
    /// Adds whole lines, or nothing: what a full disk has taken of one would make the file unreadable.
    /// None if it is closed.
    fn append(&mut self, lines: &[u8]) -> io::Result<Option<()>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        if self.is_broken {
            file.set_len(self.length)?;
            file.seek(SeekFrom::Start(self.length))?;
            self.is_broken = false;
        }
        if let Err(error) = file.write_all(lines) {
            // Tried now for readers of the file, and else again before the next line.
            self.is_broken = true;
            let _ = file.set_len(self.length);
            return Err(error);
        }
        self.length += lines.len() as u64;
        Ok(Some(()))
    }
}

impl Replay {
    /// Reads a recording.
    pub fn open(path: &Path) -> Result<Self> {
        let read = || check_regular(path).and_then(|()| fs::read(path));
        let content = read().map_err(|error| at(path, &error))?;
        let (mut base_url, mut remaining, mut range_ends) =
            (None, Remaining::default(), HashSet::new());
        // The last line of a recording that was interrupted has no end, or ends within a character.
        let lines = without_mark(&content).split_inclusive(|byte| *byte == b'\n');
        for (number, line) in lines.enumerate() {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let line: Line = serde_json::from_slice(line).map_err(|error| {
                let path = path.display();
                Error::config(format!(
                    "{path}, line {}, is not a line of a cassette: {error}",
                    number + 1
                ))
            })?;
            match line.header {
                Some(header) if header.version == VERSION => base_url = Some(header.base_url),
                Some(header) => {
                    let (path, version) = (path.display(), header.version);
                    let text = format!(
                        "{path} is a cassette of version {version}; expected version {VERSION}: \
                         record it again"
                    );
                    return Err(Error::config(text));
                }
                None => {}
            }
            if let Some(Now { call, micros }) = line.now {
                remaining.times.entry(call).or_default().push_back(micros);
            }
            if let Some(Exchange { method, path, query, body, response }) = line.exchange {
                let values = form_urlencoded::parse(query.as_bytes());
                range_ends.extend(values.filter_map(|(_, value)| value.parse::<i64>().ok()));
                let key = key(&method, &path, &query, &body.bytes());
                remaining.responses.entry(key).or_default().push_back(response);
            }
        }
        remaining.forget_interrupted(&range_ends);
        // A recorder that was not used leaves an empty file, an interrupted one a part of its header.
        let is_part = content.starts_with(HEADER_START) || HEADER_START.starts_with(&content);
        if base_url.is_none() && !is_part {
            let text = format!("{} is not a cassette: it has no header", path.display());
            return Err(Error::config(text));
        }
        Ok(Replay { path: path.to_owned(), base_url, remaining: Mutex::new(remaining) })
    }

    /// The service whose traffic was recorded; none if nothing was.
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    fn response(&self, request: &Request) -> Result<HttpResponse> {
        let (method, path) = (request.method.as_str(), request.url.path());
        let query = request.url.query().unwrap_or_default();
        let mut remaining = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        let responses = remaining.responses.get_mut(&key(method, path, query, &request.body));
        let recorded = responses.and_then(next).ok_or_else(|| {
            let mark = if query.is_empty() { "" } else { "?" };
            Error::config(format!(
                "{method} {path}{mark}{query} is not in the cassette {}; record it again",
                self.path.display()
            ))
        })?;
        recorded.into_response()
    }

    fn now(&self, call: &str) -> Option<i64> {
        let mut remaining = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        next(remaining.times.get_mut(call)?)
    }
}

impl Remaining {
    /// Forgets the times of calls that were interrupted before their first request was recorded: the
    /// next call with the same arguments must not be replayed with them.
    fn forget_interrupted(&mut self, range_ends: &HashSet<i64>) {
        for times in self.times.values_mut() {
            let is_recorded = |micros: &i64| range_ends.contains(micros);
            if times.iter().any(is_recorded) {
                times.retain(is_recorded);
            }
        }
    }
}

/// The next of these; the last one stays.
fn next<T: Clone>(queue: &mut VecDeque<T>) -> Option<T> {
    if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() }
}

/// Identifies a request: neither its headers, which differ each time, nor secrets, which are not
/// recorded.
fn key(method: &str, path: &str, query: &str, body: &[u8]) -> Vec<u8> {
    let query = redact_pairs(query, Side::Request);
    let body = match std::str::from_utf8(body) {
        Ok(text) => Cow::Owned(redact_text(text, Side::Request).into_bytes()),
        Err(_) => Cow::Borrowed(body),
    };
    [method.as_bytes(), path.as_bytes(), query.as_bytes(), &body].join(&b'\n')
}

impl Recorded {
    fn of(outcome: &Result<Received, Unredacted>, redactor: &Redactor) -> Self {
        match outcome {
            Ok(received) => {
                let response = received.to_record();
                let kept = |name: &str| {
                    let value = response.headers().get(name)?.to_str().ok()?;
                    Some((name.to_owned(), without_known(value, redactor)))
                };
                Recorded::Received {
                    status: response.status().as_u16(),
                    headers: HEADERS_KEPT.into_iter().filter_map(kept).collect(),
                    body: RecordedBody::of(response.body(), redactor, Side::Response),
                }
            }
            Err(error) => Recorded::Error {
                message: error.shown(redactor).to_string(),
                timeout: error.is_timeout(),
            },
        }
    }

    fn into_response(self) -> Result<HttpResponse> {
        let (status, headers, body) = match self {
            Recorded::Received { status, headers, body } => (status, headers, body),
            Recorded::Error { message, timeout: true } => {
                return Err(ErrorKind::Timeout(message).into());
            }
            Recorded::Error { message, timeout: false } => {
                let sent = Delivery::Unknown;
                return Err(ErrorKind::Transport { message, sent }.into());
            }
        };
        let mut response = HttpResponse::new(body.bytes());
        *response.status_mut() = StatusCode::from_u16(status).map_err(|_| {
            Error::config(format!("{status} in a cassette is not a valid HTTP status"))
        })?;
        for (name, value) in &headers {
            let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value))
            else {
                return Err(Error::config(format!("'{name}' in a cassette is not a valid header")));
            };
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }
}

impl RecordedBody {
    fn of(bytes: &[u8], redactor: &Redactor, side: Side) -> Self {
        let bytes = redactor.redacted(bytes);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return RecordedBody {
                base64: Some(STANDARD.encode(bytes)),
                ..RecordedBody::default()
            };
        };
        let text = redact_text(text, side);
        if text.is_empty() {
            return RecordedBody::default();
        }
        // JSON is recorded unchanged, if it is one line.
        if !text.contains(['\n', '\r'])
            && let Ok(json) = RawValue::from_string(text.clone())
            && json.get() == text
        {
            return RecordedBody { json: Some(json), ..RecordedBody::default() };
        }
        RecordedBody { text: Some(text), ..RecordedBody::default() }
    }

    fn bytes(&self) -> Bytes {
        match self {
            RecordedBody { json: Some(json), .. } => json.get().to_owned().into(),
            RecordedBody { text: Some(text), .. } => text.clone().into(),
            RecordedBody { base64: Some(text), .. } => {
                STANDARD.decode(text).unwrap_or_default().into()
            }
            RecordedBody { json: None, text: None, base64: None } => Bytes::new(),
        }
    }
}

/// A text without the secrets that are known, whatever their names are.
fn without_known(text: &str, redactor: &Redactor) -> String {
    String::from_utf8_lossy(&redactor.redacted(text.as_bytes())).into_owned()
}

fn add_line(text: &mut String, line: &Line) -> Result<()> {
    let line = serde_json::to_string(line).map_err(|error| {
        Error::internal(format!("a line of the cassette cannot be written: {error}"))
    })?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

fn at(path: &Path, error: &io::Error) -> Error {
    Error::config(format!("{}: {error}", path.display()))
}
