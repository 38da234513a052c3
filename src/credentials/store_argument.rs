//! The `store` argument of a login: one of boardlot's stores, or a custom object.

use super::{
    python_store::PythonStore,
    stores::{KeyringStore, TokenStoreBase},
};
use crate::interpreter::weak_ref::StrongRef;
use crate::prelude::*;
use boardlot_client::auth::SharedStore;

/// The Python object of a store, kept by the Python classes that use the store.
pub struct StoreObject {
    pub object: Py<PyAny>,
    /// The object to which the core has a weak reference, if it is the caller's own.
    strong: Option<Py<StrongRef>>,
}

impl StoreObject {
    /// The store of an argument; without one, the keychain.
    pub fn from_argument(
        py: Python<'_>,
        store: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(SharedStore, Self)> {
        let Some(store) = store.filter(|store| !store.is_none()) else {
            let keyring = Bound::new(py, KeyringStore::new())?;
            return Self::from_argument(py, Some(keyring.as_any()));
        };
        let object = store.clone().unbind();
        if let Ok(built_in) = store.cast::<TokenStoreBase>() {
            return Ok((built_in.get().shared(), StoreObject { object, strong: None }));
        }
        for name in ["load", "save", "delete"] {
            if !store.getattr_opt(name)?.is_some_and(|method| method.is_callable()) {
                let expected = "EncryptedFileStore('tokens.db', passphrase), KeyringStore(), \
                                MemoryStore(), or an object with load(key), save(key, data) and \
                                delete(key)";
                return Err(wrong_type("store", store, expected));
            }
        }
        let (store, strong) = PythonStore::of_object(store)?;
        Ok((store, StoreObject { object, strong: Some(strong) }))
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
