//! The token stores. The stub `_core.pyi` has their types.
//!
//! The core calls a store on a thread that may block, and holds no lock of this process that Python
//! code could wait for.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use super::store_call::{call_python, call_store, check_signals};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{reject_async, secret_text, user_path},
    calls::blocking::block,
    interpreter::{
        errors::{cannot_pickle, unchangeable_but},
        weak_ref::{StrongRef, WeakRef},
    },
};
use boardlot_client::extension::auth::{
    SharedStore, blocking,
    store::{EncryptedFile, Keychain, Memory, Passphrase, Secret, TokenStore},
};

/// The base class of the token stores.
#[pyclass(frozen, subclass, weakref, module = "boardlot", name = "TokenStore")]
pub struct TokenStoreBase {
    shared: SharedStore,
    /// True if the store may wait for the operating system. Any other store is called on the
    /// caller's own thread, so that exceptions of the caller's code propagate unchanged.
    waits: bool,
}

impl TokenStoreBase {
    fn new(store: impl TokenStore + 'static, waits: bool) -> PyClassInitializer<Self> {
        PyClassInitializer::from(TokenStoreBase { shared: Arc::new(store).into(), waits })
    }

    /// Returns the store in the form that credentials share.
    pub fn shared(&self) -> SharedStore {
        self.shared.clone()
    }

    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&dyn TokenStore) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let store = self.shared.store();
        match self.waits {
            true => block(py, blocking(move || call(&*store))),
            false => call_store(py, || call(&*store)),
        }
    }
}

fn unchangeable_store(store: &Bound<'_, TokenStoreBase>, name: &str) -> PyErr {
    unchangeable_but(store.as_any(), name, |_| {
        "pass an object of your own with load, save and delete as the store".to_owned()
    })
}

#[pymethods]
impl TokenStoreBase {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable_store(this, name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable_store(this, name))
    }

    /// Returns the bytes stored under `key`, or None.
    fn load<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::key)] key: String,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = self.call(py, move |store| store.load(&key))?;
        Ok(found.map(|value| PyBytes::new(py, &value)))
    }

    /// Stores the bytes of `data` under `key`.
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::key)] key: String,
        #[pyo3(from_py_with = bytes_of::data)] data: &[u8],
    ) -> PyResult<()> {
        let data = Secret::new(data.to_vec());
        self.call(py, move |store| store.save(&key, &data))
    }

    /// Deletes `key`, if it exists.
    fn delete(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::key)] key: String,
    ) -> PyResult<()> {
        self.call(py, move |store| store.delete(&key))
    }
}

/// The keychain of the operating system: Secret Service, Keychain or Credential Manager. For your
/// own machine.
///
/// Each method raises `StoreError` if the keychain cannot be used. Tokens are never stored as plain
/// text instead. For an example of the methods, see `MemoryStore`.
#[pyclass(frozen, extends = TokenStoreBase, module = "boardlot")]
pub struct KeyringStore;

#[pymethods]
impl KeyringStore {
    #[new]
    pub fn new() -> PyClassInitializer<Self> {
        TokenStoreBase::new(Keychain, true).add_subclass(KeyringStore)
    }

    fn __repr__(&self) -> &'static str {
        "KeyringStore()"
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }
}

/// Stores tokens in memory, until the process ends. For tests.
///
/// >>> store = bl.MemoryStore()
/// >>> store.save("key", b"a secret")
/// >>> store.load("key")
/// b'a secret'
/// >>> store.delete("key")
#[pyclass(frozen, extends = TokenStoreBase, module = "boardlot")]
pub struct MemoryStore;

#[pymethods]
impl MemoryStore {
    #[new]
    fn new() -> PyClassInitializer<Self> {
        TokenStoreBase::new(Memory::default(), false).add_subclass(MemoryStore)
    }

    fn __repr__(&self) -> &'static str {
        "MemoryStore()"
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<()> {
        let advice =
            "use a KeyringStore, or an EncryptedFileStore with a callable as its passphrase";
        Err(cannot_pickle(py, "a MemoryStore", advice))
    }
}

/// A file that is encrypted with AES-256-GCM. Argon2id derives the key from a passphrase. For
/// servers and containers.
///
/// `path` is the file; a missing folder is created, for its owner only. `passphrase` is a string,
/// or a callable without arguments that returns one and is called when the passphrase is needed.
/// Each method raises `StoreError` for a wrong passphrase, a modified file, or a file that other
/// users can access; the file is not changed.
///
/// >>> store = bl.EncryptedFileStore(folder / "tokens", "a passphrase")
/// >>> store.save("key", b"a secret")
/// >>> store.load("key")
/// b'a secret'
/// >>> store.delete("key")
#[pyclass(frozen, extends = TokenStoreBase, module = "boardlot")]
pub struct EncryptedFileStore {
    path: PathBuf,
    /// The callable that returns the passphrase. A pickle may contain the callable.
    callable: Option<Py<StrongRef>>,
}

#[pymethods]
impl EncryptedFileStore {
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = user_path)] path: PathBuf,
        passphrase: &Bound<'_, PyAny>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (callable, passphrase) = if passphrase.is_instance_of::<PyString>() {
            let text = secret_text("passphrase", passphrase)?;
            if text.is_empty() {
                let text = "passphrase is empty; expected one that is hard to guess";
                return Err(raise(py, Error::config(text)));
            }
            (None, Box::new(move || Ok(text.clone())) as Passphrase)
        } else if passphrase.is_callable() {
            reject_async(passphrase, "passphrase", "a plain function that returns it")?;
            let (strong, weak) = WeakRef::new(passphrase)?;
            (Some(strong), ask(weak))
        } else {
            let expected = "a string, or a callable that returns one";
            return Err(wrong_type("passphrase", passphrase, expected));
        };
        // The working directory may change.
        let path = std::path::absolute(&path).map_err(|error| {
            let shown = format!("'{}'", path.display());
            raise(py, Error::argument("path", &shown, &format!("the path of a file ({error})")))
        })?;
        let store = EncryptedFile::new(path.clone(), passphrase, Box::new(check_signals));
        let base = TokenStoreBase::new(store, false);
        Ok(base.add_subclass(EncryptedFileStore { path, callable }))
    }

    /// The path of the file.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.path.as_path().into_pyobject(py).map(Bound::into_any)
    }

    fn __repr__(&self) -> String {
        format!("EncryptedFileStore('{}')", self.path.display())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callable)
    }

    /// A pickle contains the path, as text, and the callable, never a passphrase.
    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<(OsString, Py<PyAny>)> {
        match &self.callable {
            Some(callable) => Ok((self.path.clone().into(), callable.get().object(py))),
            None => Err(cannot_pickle(
                py,
                "an EncryptedFileStore whose passphrase is a string",
                "pass a callable that returns it",
            )),
        }
    }
}

/// Asks a callable for the passphrase.
fn ask(callable: WeakRef) -> Passphrase {
    Box::new(move || {
        let outcome =
            call_python(&callable, "the callable that returns the passphrase", |callable| {
                let returned = callable.invoke(())?;
                let class = || returned.get_type().name().map(|name| name.to_string());
                Ok(secret_text("passphrase", &returned).map_err(|_| class()))
            })?;
        outcome.map_err(|class| {
            Error::config(format!(
                "passphrase: the callable returned {}; expected str. Return the passphrase, or \
                 raise an exception if there is none",
                class.unwrap_or_default()
            ))
        })
    })
}
