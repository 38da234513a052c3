//! The cores of `Recorder` and `Replay`: the `cassette` of a client.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{read, user_path},
    interpreter::core_of::core_of,
};
use boardlot_client::extension::http::{Cassette, Recorder, Replay, SecretNames};

/// The core of a `Recorder`.
#[pyclass(frozen, name = "_Recorder", module = "boardlot._core")]
pub struct RecorderCore {
    cassette: Arc<Cassette>,
    path: PathBuf,
}

#[pymethods]
impl RecorderCore {
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = user_path)] path: PathBuf,
        secrets: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let names = match read::<Vec<String>>(secrets)? {
            Some(names) if !secrets.is_instance_of::<PyString>() => SecretNames::new(names),
            _ => return Err(wrong_type("secrets", secrets, "names, such as ['session']")),
        };
        let recorder = Recorder::create(&path, names).or_raise(py)?;
        Ok(RecorderCore { cassette: Arc::new(Cassette::Recorder(recorder)), path })
    }

    /// The path as text.
    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Cassette::Recorder(recorder) = self.cassette.as_ref() else { return Ok(()) };
        py.detach(|| recorder.close()).or_raise(py)
    }
}

/// The core of a `Replay`.
#[pyclass(frozen, name = "_Replay", module = "boardlot._core")]
pub struct ReplayCore {
    cassette: Arc<Cassette>,
    path: PathBuf,
    base_url: Option<String>,
}

#[pymethods]
impl ReplayCore {
    #[new]
    fn new(py: Python<'_>, #[pyo3(from_py_with = user_path)] path: PathBuf) -> PyResult<Self> {
        let replay = Replay::open(&path).or_raise(py)?;
        let base_url = replay.base_url.clone();
        Ok(ReplayCore { cassette: Arc::new(Cassette::Replay(replay)), path, base_url })
    }

    #[getter]
    fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// The path as text.
    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// The path for another process, which may have another current folder.
    #[getter]
    fn absolute_path(&self) -> OsString {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).into()
    }
}

/// The base URL of a client that replays an empty cassette. The name is never resolved, since every
/// request is refused, and no host can have it.
const NOTHING_RECORDED: &str = "https://nothing-recorded.invalid";

/// Returns the cassette of an argument, and the base URL of the recorded service if it is known.
pub fn cassette(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(Arc<Cassette>, Option<String>)> {
    if let Some(recorder) = core_of::<RecorderCore>(value)? {
        return Ok((recorder.get().cassette.clone(), None));
    }
    if let Some(replay) = core_of::<ReplayCore>(value)? {
        let base_url = replay.get().base_url.as_deref().unwrap_or(NOTHING_RECORDED);
        return Ok((replay.get().cassette.clone(), Some(base_url.to_owned())));
    }
    Err(wrong_type(name, value, "a Recorder or a Replay"))
}
