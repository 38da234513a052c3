//! The `store` argument of a login: one of boardlot's stores, or an object of the caller's own.

use std::sync::Arc;

use pyo3::{PyTraverseError, PyVisit, exceptions::PyKeyError, prelude::*, types::PyBytes};
use zeroize::Zeroizing;

use super::{
    errors::wrong_type,
    fork_safe_cell::intern,
    store_call::call_python,
    stores::{EncryptedFileStore, KeyringStore, MemoryStore},
    weak_ref::{StrongRef, WeakRef},
};
use crate::{
    auth::store::{Guard, Secret, TokenStore, lock_in_state_folder},
    error::Result,
};

/// The Python object of a store, kept by the Python classes that use the store.
pub struct StoreObject {
    object: Py<PyAny>,
    /// What the core has a weak reference to, if the object is the caller's own.
    strong: Option<Py<StrongRef>>,
}

impl StoreObject {
    /// The store of an argument; without one, the keychain.
    pub fn from_argument(
        py: Python<'_>,
        store: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Arc<dyn TokenStore>, Self)> {
        let Some(store) = store.filter(|store| !store.is_none()) else {
            let keyring = Bound::new(py, KeyringStore::new())?;
            return Self::from_argument(py, Some(keyring.as_any()));
        };
        let builtin: Option<Arc<dyn TokenStore>> = if let Ok(keyring) = store.cast::<KeyringStore>()
        {
            Some(keyring.get().store())
        } else if let Ok(file) = store.cast::<EncryptedFileStore>() {
            Some(file.get().store())
        } else if let Ok(memory) = store.cast::<MemoryStore>() {
            Some(memory.get().store())
        } else {
            None
        };
        let object = store.clone().unbind();
        if let Some(builtin) = builtin {
            return Ok((builtin, StoreObject { object, strong: None }));
        }
        for name in ["load", "save", "delete"] {
            if !store.getattr_opt(name)?.is_some_and(|method| method.is_callable()) {
                let expected = "a KeyringStore, an EncryptedFileStore, a MemoryStore, or an object \
                                with load(key), save(key, data) and delete(key)";
                return Err(wrong_type("store", store, expected));
            }
        }
        let class = store.get_type().name()?.to_string();
        let (strong, object_ref) = WeakRef::new(store)?;
        let store = PythonStore { object: object_ref, class };
        Ok((Arc::new(store), StoreObject { object, strong: Some(strong) }))
    }

    /// The object to show and to pickle.
    pub fn object(&self) -> &Py<PyAny> {
        &self.object
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        let strong = self.strong.as_ref().map(|strong| strong.clone_ref(py));
        StoreObject { object: self.object.clone_ref(py), strong }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.strong)
    }
}

/// An object of the caller's own with `load`, `save` and `delete`.
struct PythonStore {
    object: WeakRef,
    class: String,
}

impl PythonStore {
    fn call<T>(
        &self,
        method: &str,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        call_python(&self.object, &format!("{}.{method}", self.class), call)
    }
}

impl TokenStore for PythonStore {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        self.call("load", |store| {
            let py = store.py();
            let value = match store.call_method1(intern!(py, "load"), (key,)) {
                // What a plain mapping raises.
                Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(None),
                value => value?,
            };
            let bytes = value.extract::<Option<Vec<u8>>>()?;
            Ok(bytes.map(Zeroizing::new))
        })
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        self.call("save", |store| {
            let py = store.py();
            let data = PyBytes::new(py, value);
            store.call_method1(intern!(py, "save"), (key, data)).map(drop)
        })
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.call("delete", |store| {
            let py = store.py();
            match store.call_method1(intern!(py, "delete"), (key,)) {
                Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(()),
                outcome => outcome.map(drop),
            }
        })
    }

    /// Only the object knows how processes share it, so a lock file of boardlot's excludes the other
    /// processes of this machine. Without a home folder there is no lock.
    fn lock(&self, key: &str) -> Result<Guard> {
        Ok(lock_in_state_folder(&self.class, key).unwrap_or_else(|_| Guard::new(())))
    }
}
