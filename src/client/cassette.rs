//! `Recorder` and `Replay`: the `cassette` of a client.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use crate::prelude::*;
use crate::{arguments::caller_arguments::user_path, interpreter::errors::cannot_pickle};
use boardlot_client::http::{Cassette, Recorder as CoreRecorder, Replay as CoreReplay};

/// Records the traffic of clients in a new file at `path`, for tests and bug reports.
///
/// Pass it as `Client(..., cassette=Recorder(path))`. Any number of clients of one service can share it.
/// The file has one JSON object per line, written when each request ends, and only its owner can read
/// it. It contains no key, signature, token or client secret of its clients. Other secrets are masked by
/// their names, in members of JSON, forms, URLs and headers. It does contain account ids, symbols and
/// responses. Use it in a `with` block, or call `close()`. Raises `ConfigError` if the file exists
/// or cannot be written.
///
/// >>> recorder = bl.Recorder(folder / "traffic.jsonl")
/// >>> with sandbox.client(cassette=recorder) as client:
/// ...     len(client.dividends("HK.00700"))
/// 21
/// >>> recorder.close()
/// >>> with bl.Client(cassette=bl.Replay(folder / "traffic.jsonl")) as client:
/// ...     len(client.dividends("HK.00700"))
/// 21
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct Recorder {
    cassette: Arc<Cassette>,
    path: PathBuf,
}

#[pymethods]
impl Recorder {
    #[new]
    #[pyo3(signature = (path))]
    fn new(py: Python<'_>, #[pyo3(from_py_with = user_path)] path: PathBuf) -> PyResult<Self> {
        let recorder = CoreRecorder::create(&path).or_raise(py)?;
        Ok(Recorder { cassette: Arc::new(Cassette::Recorder(recorder)), path })
    }

    /// Ends the recording. Clients that still use it raise `ConfigError`. Raises `ConfigError` if the file
    /// cannot be stored, such as on a full disk.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Cassette::Recorder(recorder) = self.cassette.as_ref() else { return Ok(()) };
        py.detach(|| recorder.close()).or_raise(py)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("Recorder('{}')", self.path.display())
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<()> {
        Err(cannot_pickle(py, "a Recorder", "create one for each process"))
    }
}

/// Replays recorded traffic from the file at `path`, without a network or credentials. For an example, see
/// `Recorder`.
///
/// Pass it as `Client(cassette=Replay(path))`. A request gets the response that was recorded for the same
/// method, path, query and body. If there are several, they are returned in order, and then the last one
/// repeatedly. Retries do not wait. Any other request raises `ConfigError`, and so does a file that is not a
/// recording. An empty file is a recording without requests.
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct Replay {
    cassette: Arc<Cassette>,
    path: PathBuf,
    base_url: Option<String>,
}

#[pymethods]
impl Replay {
    #[new]
    #[pyo3(signature = (path))]
    fn new(py: Python<'_>, #[pyo3(from_py_with = user_path)] path: PathBuf) -> PyResult<Self> {
        let replay = CoreReplay::open(&path).or_raise(py)?;
        let base_url = replay.base_url.clone();
        Ok(Replay { cassette: Arc::new(Cassette::Replay(replay)), path, base_url })
    }

    /// The base URL of the recorded service; `None` if nothing was recorded.
    #[getter]
    fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    fn __repr__(&self) -> String {
        format!("Replay('{}')", self.path.display())
    }

    /// A pickle contains the path, as text. When it is loaded, the replay starts from the beginning.
    fn __getnewargs__(&self) -> (OsString,) {
        (std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).into(),)
    }
}

/// The base URL of a client that replays an empty cassette. It is never resolved, since every request
/// is refused, and no host can have this name.
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
