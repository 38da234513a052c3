//! The `store` argument of a login: one of boardlot's stores, or a custom object.

use super::{
    python_store::PythonStore,
    stores::{KeyringStore, TokenStoreBase},
};
use crate::prelude::*;
use crate::{arguments::caller_arguments::is_async, interpreter::weak_ref::StrongRef};
use boardlot_client::extension::auth::SharedStore;

/// Refuses a store whose methods would have to be awaited.
fn reject_async_method(
    store: &Bound<'_, PyAny>,
    name: &str,
    method: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if !is_async(method)? {
        return Ok(());
    }
    let class = store.get_type().name()?;
    let text = format!(
        "store: {class}.{name} is an async method, which nothing would await; expected plain methods \
         load(key), save(key, data) and delete(key)"
    );
    let advice = "Write `def` instead of `async def`, with the blocking client of the database, such as \
                  redis.Redis for redis.asyncio.Redis: a store is called on a worker thread, never on an \
                  event loop.";
    Err(raise(store.py(), Error::misuse(text, advice)))
}

/// Refuses the class of a store in place of an instance. A class with static methods is a store.
fn reject_class(store: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = store.py();
    let Ok(class) = store.cast::<PyType>() else { return Ok(()) };
    let load =
        import(py, "inspect")?.invoke_method("getattr_static", (store, "load", py.None()))?;
    if load.get_type().name()? != "function" {
        return Ok(());
    }
    let class = class.name()?;
    let text = format!("store is the class {class}; expected an instance of it");
    Err(raise(py, Error::misuse(text, format!("Write {class}(...)."))))
}

/// The Python object of a store, kept by the Python classes that use the store.
pub struct StoreObject {
    pub object: Py<PyAny>,
    /// The object to which the core has a weak reference, if it is the caller's own.
    strong: Option<Py<StrongRef>>,
}

impl StoreObject {
    /// Returns the store of an argument; without an argument, the keychain.
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
        reject_class(store)?;
        for name in ["load", "save", "delete", "lock"] {
            let method = store.getattr_opt(name)?.filter(|method| method.is_callable());
            if let Some(method) = method {
                reject_async_method(store, name, &method)?;
            } else if name != "lock" {
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
