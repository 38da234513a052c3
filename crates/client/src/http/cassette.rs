//! Cassettes: traffic recorded to a file, or replayed from it without a network.
//!
//! A cassette is a text file with one JSON object a line: a header, then exchanges. Requests are
//! recorded without their headers, and responses as they were received, except for the values that
//! `recorded_secrets` masks. Requests for tokens are not recorded at all.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{
    HttpResponse, Request,
    exchange::Received,
    recorded::{Recorded, RecordedBody},
    recorded_secrets::{SecretNames, without_held},
};
use crate::{
    error::{Error, Redactor, Result, Unredacted},
    os::{
        atomic_file::{check_regular, options},
        texts::without_mark,
    },
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
pub struct Recorder {
    path: PathBuf,
    names: SecretNames,
    recording: Mutex<Recording>,
}

struct Recording {
    /// None once the recorder is closed.
    file: Option<File>,
    /// The service whose traffic is recorded, once the header that names it is written.
    base_url: Option<String>,
}

/// Replays the exchanges of a file: the exchanges of one request in their order, then the last one
/// repeatedly.
pub struct Replay {
    path: PathBuf,
    names: SecretNames,
    /// The service whose traffic was recorded; none if there was no traffic.
    pub base_url: Option<String>,
    remaining: Mutex<Remaining>,
}

#[derive(Default)]
struct Remaining {
    responses: HashMap<Vec<u8>, VecDeque<Recorded>>,
    /// The times by the call whose range they end. Times without a call were read by the caller.
    times: HashMap<Option<String>, VecDeque<i64>>,
}

boardlot_service::shown_as!(Recorder, |this| "Recorder({})", this.path.display());
// A recording by someone else may contain secrets.
boardlot_service::shown_as!(Replay, |this| "Replay({})", this.path.display());

const VERSION: u32 = 1;
/// The beginning of a cassette.
const HEADER_START: &[u8] = b"{\"header\":";

/// One line of a cassette.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Header {
        version: u32,
        base_url: String,
        /// The names that the caller has declared to be secret.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        secrets: Vec<String>,
    },
    /// The service's time, in microseconds, from which the time range of a call was resolved, if
    /// there was a call.
    Now {
        call: Option<String>,
        micros: i64,
    },
    Exchange {
        method: String,
        path: String,
        query: String,
        body: RecordedBody,
        response: Recorded,
    },
}

impl Cassette {
    /// Returns the recorded response to this request; none if this is a recorder.
    pub(super) fn response(&self, request: &Request) -> Option<Result<HttpResponse>> {
        match self {
            Cassette::Recorder(_) => None,
            Cassette::Replay(replay) => Some(replay.response(request)),
        }
    }

    /// Records an exchange, without the values that the client holds and the values whose names are
    /// secret. `redactor` redacts the text of an error.
    pub(super) fn record(
        &self,
        base_url: &str,
        request: &Request,
        outcome: &Result<Received, Unredacted>,
        held: &Redactor,
        redactor: &Redactor,
    ) -> Result<()> {
        let Cassette::Recorder(recorder) = self else { return Ok(()) };
        if request.unrecorded {
            return Ok(());
        }
        let names = &recorder.names;
        let query = names.pairs(request.url.query().unwrap_or_default());
        let exchange = Line::Exchange {
            method: request.method.to_string(),
            path: without_held(request.url.path(), held),
            query: without_held(&query, held),
            body: RecordedBody::of(&request.body, names, held),
            response: Recorded::of(outcome, names, held, redactor),
        };
        recorder.write(base_url, &exchange)
    }

    /// Returns the service's time from which a time range is resolved. A replay uses the time of
    /// the recording, because its requests would otherwise differ.
    pub(super) fn now(&self, base_url: &str, call: Option<String>, micros: i64) -> Result<i64> {
        match self {
            Cassette::Recorder(recorder) => {
                recorder.write(base_url, &Line::Now { call, micros }).map(|()| micros)
            }
            Cassette::Replay(replay) => Ok(replay.now(&call).unwrap_or(micros)),
        }
    }
}

impl Recorder {
    /// Creates the file, which must not exist: recordings are never overwritten. The values of
    /// headers, parameters and members with these names are masked.
    pub fn create(path: &Path, names: SecretNames) -> Result<Self> {
        let file = options(0o600).write(true).create_new(true).open(path);
        let file = file.map_err(|error| at(path, &error))?;
        let recording = Mutex::new(Recording { file: Some(file), base_url: None });
        Ok(Recorder { path: path.to_owned(), names, recording })
    }

    /// Ends the recording: clients that still use it get an error. Some disks report only now that
    /// they are full.
    pub fn close(&self) -> Result<()> {
        let file = self.recording.lock().unwrap_or_else(PoisonError::into_inner).file.take();
        file.map_or(Ok(()), |file| file.sync_all()).map_err(|error| at(&self.path, &error))
    }

    fn write(&self, base_url: &str, line: &Line) -> Result<()> {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        if let Some(other) = recording.base_url.as_ref().filter(|known| *known != base_url) {
            let path = self.path.display();
            return Err(Error::config(format!(
                "the recorder of {path} records {other}; create another one for {base_url}"
            )));
        }
        if recording.base_url.is_none() {
            let base_url = base_url.to_owned();
            let secrets = self.names.declared().to_vec();
            add_line(&mut text, &Line::Header { version: VERSION, base_url, secrets })?;
        }
        add_line(&mut text, line)?;
        recording.append(text.as_bytes()).map_err(|error| at(&self.path, &error))?;
        recording.base_url = Some(base_url.to_owned());
        Ok(())
    }
}

impl Recording {
    /// Appends whole lines or nothing: a line that a full disk has taken in part would make the
    /// file unreadable.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let closed = || io::Error::other("the recorder is closed; create a new one");
        let file = self.file.as_mut().ok_or_else(closed)?;
        let end = file.stream_position()?;
        if let Err(error) = file.write_all(lines) {
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            return Err(error);
        }
        Ok(())
    }
}

impl Replay {
    /// Opens a recording.
    pub fn open(path: &Path) -> Result<Self> {
        let read = || check_regular(path).and_then(|()| fs::read(path));
        let content = read().map_err(|error| at(path, &error))?;
        let (mut base_url, mut remaining) = (None, Remaining::default());
        let mut names = SecretNames::default();
        // The last line of an interrupted recording has no end, or ends within a character.
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
            match line {
                Line::Header { version: VERSION, base_url: recorded, secrets } => {
                    base_url = Some(recorded);
                    names = SecretNames::new(secrets);
                }
                Line::Header { version, .. } => {
                    let path = path.display();
                    let text = format!(
                        "{path} is a cassette of version {version}; expected version {VERSION}: \
                         record it again"
                    );
                    return Err(Error::config(text));
                }
                Line::Now { call, micros } => {
                    remaining.times.entry(call).or_default().push_back(micros);
                }
                Line::Exchange { method, path, query, body, response } => {
                    let key = key(&names, &method, &path, &query, &body.bytes());
                    remaining.responses.entry(key).or_default().push_back(response);
                }
            }
        }
        // A recorder that was not used leaves an empty file, and an interrupted one a part of its
        // header.
        let is_part = content.starts_with(HEADER_START) || HEADER_START.starts_with(&content);
        if base_url.is_none() && !is_part {
            let text = format!("{} is not a cassette: it has no header", path.display());
            return Err(Error::config(text));
        }
        Ok(Replay { path: path.to_owned(), names, base_url, remaining: Mutex::new(remaining) })
    }

    fn response(&self, request: &Request) -> Result<HttpResponse> {
        let (method, path) = (request.method.as_str(), request.url.path());
        let query = request.url.query().unwrap_or_default();
        let mut remaining = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(&self.names, method, path, query, &request.body);
        let responses = remaining.responses.get_mut(&key);
        let recorded = responses.and_then(next).ok_or_else(|| {
            let mark = if query.is_empty() { "" } else { "?" };
            Error::config(format!(
                "{method} {path}{mark}{query} is not in the cassette {}; record it again",
                self.path.display()
            ))
        })?;
        recorded.into_response()
    }

    fn now(&self, call: &Option<String>) -> Option<i64> {
        let mut remaining = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        next(remaining.times.get_mut(call)?)
    }
}

/// Removes and returns the next item; the last one stays.
fn next<T: Clone>(queue: &mut VecDeque<T>) -> Option<T> {
    if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() }
}

/// Identifies a request without its headers, which differ each time, and without secrets, which are
/// not recorded.
fn key(names: &SecretNames, method: &str, path: &str, query: &str, body: &[u8]) -> Vec<u8> {
    let query = names.pairs(query);
    let body = match std::str::from_utf8(body) {
        Ok(text) => Cow::Owned(names.body(text).into_bytes()),
        Err(_) => Cow::Borrowed(body),
    };
    [method.as_bytes(), path.as_bytes(), query.as_bytes(), &body].join(&b'\n')
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
    Error::config(format!("{}: {error}", path.display())).caused_by(error)
}
