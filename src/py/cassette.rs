//! `Recorder` and `Replay`, as Python sees them.

use std::{path::PathBuf, sync::Arc};

use pyo3::{prelude::*, types::PyTuple};

use super::errors::{raise, wrong_type};
use crate::{
    error::Error,
    http::{Cassette, Recorder as CoreRecorder, Replay as CoreReplay},
};

/// Writes the traffic of clients to a new file, for tests and bug reports.
///
/// `Recorder(path)`, then `Client(..., cassette=recorder)`; any number of clients of one service may
/// share it. The file is readable text, a JSON object a line, written as each request ends; only its
/// owner can read it. It holds no key, no signature, no token and no client secret; account ids,
/// symbols and answers are in it. Use it in a `with` block, or `close()` it. Raises `ConfigError`
/// where the file exists or cannot be written.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Recorder {
    cassette: Arc<Cassette>,
    path: PathBuf,
}

#[pymethods]
impl Recorder {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let recorder = CoreRecorder::create(&path).map_err(|error| raise(py, error))?;
        Ok(Recorder { cassette: Arc::new(Cassette::Recorder(recorder)), path })
    }

    /// Ends the recording: the clients that still use it are refused.
    fn close(&self) {
        if let Cassette::Recorder(recorder) = self.cassette.as_ref() {
            recorder.close();
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("Recorder('{}')", self.path.display())
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<()> {
        let text = "a Recorder is not pickled: two processes would write to one file";
        Err(raise(py, Error::config(text)))
    }
}

/// Plays the traffic of a file back, with no network and no credentials.
///
/// `Replay(path)`, then `Client(cassette=replay)`. A request is answered as the same request was: by
/// method, path, query and body; what was recorded several times comes in its order, and then the
/// last answer again and again. Any other request raises `ConfigError`. No time passes between the
/// attempts of a request: retries do not wait. Raises `ConfigError` too for a file that is not a
/// tape; an empty file, which a recorder leaves that nobody used, is one.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Replay {
    cassette: Arc<Cassette>,
    path: PathBuf,
    base_url: Option<String>,
}

#[pymethods]
impl Replay {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let replay = CoreReplay::open(&path).map_err(|error| raise(py, error))?;
        let base_url = replay.base_url().map(str::to_owned);
        Ok(Replay { cassette: Arc::new(Cassette::Replay(replay)), path, base_url })
    }

    /// The service whose traffic was recorded; `None` if nothing was.
    #[getter]
    fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    fn __repr__(&self) -> String {
        format!("Replay('{}')", self.path.display())
    }

    /// A pickle carries the path: played again, it begins again.
    fn __getnewargs__(&self) -> (PathBuf,) {
        (std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()),)
    }
}

/// The address of a client that plays an empty cassette: it refuses every request before a name is
/// looked up, and no host can have this one.
const NOTHING_RECORDED: &str = "https://nothing-recorded.invalid";

/// The cassette of an argument, and the base URL of the recorded service if it is known.
pub fn cassette(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(Arc<Cassette>, Option<String>)> {
    if let Ok(recorder) = value.cast::<Recorder>() {
        return Ok((recorder.get().cassette.clone(), None));
    }
    if let Ok(replay) = value.cast::<Replay>() {
        let base_url = replay.get().base_url.as_deref().unwrap_or(NOTHING_RECORDED);
        return Ok((replay.get().cassette.clone(), Some(base_url.to_owned())));
    }
    Err(wrong_type(name, value, "a Recorder or a Replay"))
}
