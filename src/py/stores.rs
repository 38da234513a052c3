//! `KeyringStore`, `EncryptedFileStore`, `MemoryStore`, and a user's own object in their place.
//!
//! The core asks a store on a thread where blocking is fine, holding no lock of this process that
//! Python could wait for. What is Python's is asked through the door.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::PyKeyError,
    prelude::*,
    types::{PyBytes, PyString, PyTuple},
};
use zeroize::Zeroizing;

use super::{
    arguments::secret_text,
    bridge::{SIGNAL_POLL, block},
    errors::{raise, wrong_type},
    fork_safe_cell::intern,
    shutdown_gate::{attach, detach, with_interpreter},
    weak::{Holder, Weak},
};
use crate::{
    auth::{
        blocking,
        store::{
            EncryptedFile, Guard, Keychain, Memory, Passphrase, Secret, TokenStore,
            lock_in_state_folder,
        },
    },
    error::{Error, ErrorKind, Result},
};

/// The keychain of the operating system: Secret Service, Keychain, Credential Manager.
///
/// `load(key)` gives bytes or None; `save(key, data)`; `delete(key)`. Raises `StoreError` where the
/// keychain cannot be used; there is no fall-back to plain text.
#[pyclass(frozen, module = "boardlot._core")]
pub struct KeyringStore(Arc<Keychain>);

#[pymethods]
impl KeyringStore {
    #[new]
    fn new() -> Self {
        KeyringStore(Arc::default())
    }

    /// The bytes under a key, or None.
    fn load<'py>(&self, py: Python<'py>, key: String) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let store = self.0.clone();
        let found = block(py, blocking(move || store.load(&key)), |_| Ok(()))?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    /// Keeps bytes under a key.
    fn save(&self, py: Python<'_>, key: String, data: &[u8]) -> PyResult<()> {
        let (store, data) = (self.0.clone(), Secret::new(data.to_vec()));
        block(py, blocking(move || store.save(&key, &data)), |_| Ok(()))
    }

    /// Forgets a key; one that is not there is fine.
    fn delete(&self, py: Python<'_>, key: String) -> PyResult<()> {
        let store = self.0.clone();
        block(py, blocking(move || store.delete(&key)), |_| Ok(()))
    }

    #[expect(clippy::unused_self, reason = "a method of the Python class")]
    fn __repr__(&self) -> &'static str {
        "KeyringStore()"
    }

    #[expect(clippy::unused_self, reason = "a method of the Python class")]
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }
}

/// Tokens in memory: they end with the process.
#[pyclass(frozen, module = "boardlot._core")]
pub struct MemoryStore(Arc<Memory>);

#[pymethods]
impl MemoryStore {
    #[new]
    fn new() -> Self {
        MemoryStore(Arc::default())
    }

    /// The bytes under a key, or None.
    fn load<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        direct_load(py, &*self.0, key)
    }

    /// Keeps bytes under a key.
    fn save(&self, py: Python<'_>, key: &str, data: &[u8]) -> PyResult<()> {
        direct(py, || self.0.save(key, data))
    }

    /// Forgets a key; one that is not there is fine.
    fn delete(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        direct(py, || self.0.delete(key))
    }

    #[expect(clippy::unused_self, reason = "a method of the Python class")]
    fn __repr__(&self) -> &'static str {
        "MemoryStore()"
    }

    #[expect(clippy::unused_self, reason = "a method of the Python class")]
    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<()> {
        let what = "a MemoryStore is not pickled: the tokens would be in the pickle; use a \
                    KeyringStore, or an EncryptedFileStore with a passphrase that is asked for";
        Err(raise(py, Error::config(what)))
    }
}

/// A file encrypted with AES-256-GCM under a passphrase, which Argon2id makes a key of.
///
/// `path` is the file; a folder that is missing is made for you alone. `passphrase` is a text, or a
/// callable without arguments that gives one and is called only when it is needed. Raises
/// `StoreError` for a wrong passphrase, a changed file, or one that others can touch; the file stays
/// as it is.
#[pyclass(frozen, module = "boardlot._core")]
pub struct EncryptedFileStore {
    store: Arc<EncryptedFile>,
    path: PathBuf,
    /// What asks for the passphrase: all that pickling may carry.
    asks: Option<Py<Holder>>,
}

#[pymethods]
impl EncryptedFileStore {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, passphrase: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (asks, passphrase) = if passphrase.is_instance_of::<PyString>() {
            let text = secret_text(passphrase)?;
            if text.is_empty() {
                let what = "the passphrase is empty; give one that is hard to guess";
                return Err(raise(py, Error::config(what)));
            }
            (None, Box::new(move || Ok(text.clone())) as Passphrase)
        } else if passphrase.is_callable() {
            let (holder, callable) = Weak::of(passphrase)?;
            (Some(holder), ask_by(callable))
        } else {
            let expected = "a string, or a callable that returns one";
            return Err(wrong_type("passphrase", passphrase, expected));
        };
        // The path as it is meant now, whatever the working folder will be.
        let path = std::path::absolute(&path).map_err(|error| {
            let shown = format!("'{}'", path.display());
            raise(py, Error::argument("path", &shown, &format!("the path of a file ({error})")))
        })?;
        let tick = Box::new(look_for_signals);
        let store = Arc::new(EncryptedFile::new(path.clone(), passphrase, tick));
        Ok(EncryptedFileStore { store, path, asks })
    }

    /// The file.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.path.as_path().into_pyobject(py).map(Bound::into_any)
    }

    /// The bytes under a key, or None.
    fn load<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        direct_load(py, &*self.store, key)
    }

    /// Keeps bytes under a key.
    fn save(&self, py: Python<'_>, key: &str, data: &[u8]) -> PyResult<()> {
        direct(py, || self.store.save(key, data))
    }

    /// Forgets a key; one that is not there is fine.
    fn delete(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        direct(py, || self.store.delete(key))
    }

    fn __repr__(&self) -> String {
        format!("EncryptedFileStore('{}')", self.path.display())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.asks)
    }

    /// A pickle carries the path and the callable that asks, never a passphrase.
    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<(PathBuf, Py<PyAny>)> {
        match &self.asks {
            Some(asks) => Ok((self.path.clone(), asks.get().object(py))),
            None => Err(raise(
                py,
                Error::config(
                    "an EncryptedFileStore with its passphrase as text is not pickled: the \
                     passphrase would be in the pickle; give a callable that asks for it",
                ),
            )),
        }
    }
}

/// The Python object of a store, kept by those who use the store.
pub struct StoreObject {
    object: Py<PyAny>,
    /// What the core refers to, if the object is the user's own.
    holder: Option<Py<Holder>>,
}

impl StoreObject {
    /// The object to show and to pickle.
    pub fn object(&self) -> &Py<PyAny> {
        &self.object
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        let holder = self.holder.as_ref().map(|holder| holder.clone_ref(py));
        StoreObject { object: self.object.clone_ref(py), holder }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.holder)
    }
}

impl From<Py<PyAny>> for StoreObject {
    fn from(object: Py<PyAny>) -> Self {
        StoreObject { object, holder: None }
    }
}

/// The store that an argument stands for, and the object that its users keep.
pub fn store_of(
    py: Python<'_>,
    store: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Arc<dyn TokenStore>, StoreObject)> {
    let Some(store) = store.filter(|store| !store.is_none()) else {
        let keyring = Py::new(py, KeyringStore::new())?;
        return Ok((keyring.get().0.clone(), keyring.into_any().into()));
    };
    let object = store.clone().unbind();
    if let Ok(keyring) = store.cast::<KeyringStore>() {
        return Ok((keyring.get().0.clone(), object.into()));
    }
    if let Ok(file) = store.cast::<EncryptedFileStore>() {
        return Ok((file.get().store.clone(), object.into()));
    }
    if let Ok(memory) = store.cast::<MemoryStore>() {
        return Ok((memory.get().0.clone(), object.into()));
    }
    let kind = store.get_type().name()?.to_string();
    for name in ["load", "save", "delete"] {
        if !store.getattr_opt(name)?.is_some_and(|method| method.is_callable()) {
            let expected = "a KeyringStore, an EncryptedFileStore, a MemoryStore, or an object with \
                            load(key), save(key, data) and delete(key)";
            return Err(wrong_type("store", store, expected));
        }
    }
    let (holder, weak) = Weak::of(store)?;
    let own = OwnStore { object: weak, kind };
    Ok((Arc::new(own), StoreObject { object, holder: Some(holder) }))
}

/// A user's own object with `load`, `save` and `delete`.
struct OwnStore {
    object: Weak,
    kind: String,
}

impl TokenStore for OwnStore {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        self.ask("load", |py, store| {
            let found = match store.call_method1(intern!(py, "load"), (key,)) {
                // A plain mapping would say it like this.
                Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(None),
                found => found?,
            };
            let bytes = found.extract::<Option<Vec<u8>>>()?;
            Ok(bytes.map(Zeroizing::new))
        })
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        self.ask("save", |py, store| {
            let data = PyBytes::new(py, value);
            store.call_method1(intern!(py, "save"), (key, data)).map(drop)
        })
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.ask("delete", |py, store| match store.call_method1(intern!(py, "delete"), (key,)) {
            Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(()),
            outcome => outcome.map(drop),
        })
    }

    /// The object may be shared by processes in a way that only it knows; a lock file of ours
    /// makes them take turns on this machine. Where there is no home folder, they do without.
    fn lock(&self, key: &str) -> Result<Guard> {
        Ok(lock_in_state_folder(&self.kind, key).unwrap_or_else(|_| Guard::new(())))
    }
}

impl OwnStore {
    fn ask<T>(
        &self,
        method: &str,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        attach(|py| {
            let store = self.object.get(py).ok_or_else(dropped)?;
            let raised = |error| failed(py, &format!("{}.{method}", self.kind), error);
            call(py, &store).map_err(raised)
        })
    }
}

/// What the store belongs to was dropped while it was in use.
fn dropped() -> Error {
    ErrorKind::Store("the credentials were dropped; keep them as long as they are used".into())
        .into()
}

fn ask_by(callable: Weak) -> Passphrase {
    Box::new(move || {
        attach(|py| {
            let raised = |error| failed(py, "the callable that asks for the passphrase", error);
            let answer = callable.get(py).ok_or_else(dropped)?.call0().map_err(raised)?;
            secret_text(&answer).map_err(|_| {
                let class = answer.get_type().name().map(|name| name.to_string());
                Error::config(format!(
                    "passphrase: the callable returned {}; expected str. Return the passphrase, or \
                     raise an exception if there is none",
                    class.unwrap_or_default()
                ))
            })
        })
    })
}

thread_local! {
    /// What Python raised on this thread in the middle of the core's work.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// When signals were last looked for on this thread, while it does a store's work for its caller.
    static SIGNALS_SEEN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Lets Ctrl-C end the caller's own waiting. A thread of the runtime has no signals to look for.
fn look_for_signals() -> Result<()> {
    let Some(seen) = SIGNALS_SEEN.get() else { return Ok(()) };
    if seen.elapsed() < SIGNAL_POLL {
        return Ok(());
    }
    SIGNALS_SEEN.set(Some(Instant::now()));
    with_interpreter(|py| {
        py.check_signals().map_err(|error| failed(py, "waiting for the lock", error))
    })
}

/// What a store's own code raised, as an error of the core's.
fn failed(py: Python<'_>, what: &str, error: PyErr) -> Error {
    let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let text = format!("{what} raised {kind}: {}", error.value(py));
    // Elsewhere nobody would take it, and it refers to all that it was raised in.
    if SIGNALS_SEEN.get().is_some() {
        RAISED.set(Some(error));
    }
    ErrorKind::Store(text).into()
}

/// A store's work on the caller's own thread, so that what Python raises in it comes out as it is.
fn direct<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    RAISED.take();
    let outcome = detach(py, || {
        SIGNALS_SEEN.set(Some(Instant::now()));
        let outcome = work();
        SIGNALS_SEEN.take();
        outcome
    });
    outcome.map_err(|error| RAISED.take().unwrap_or_else(|| raise(py, error)))
}

fn direct_load<'py>(
    py: Python<'py>,
    store: &dyn TokenStore,
    key: &str,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let found = direct(py, || store.load(key))?;
    Ok(found.map(|value| PyBytes::new(py, &value)))
}
