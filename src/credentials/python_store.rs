//! A custom token store: an object with `load`, `save` and `delete`, and perhaps `lock`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use pyo3::exceptions::PyKeyError;

use super::store_call::{call_object, call_python};
use crate::interpreter::{
    attachment::with_one_thread_state,
    errors::is_refusal,
    weak_ref::{StrongRef, WeakRef},
};
use crate::prelude::*;
use boardlot_client::extension::{
    auth::{
        SharedStore, StoreId,
        store::{Guard, Secret, TokenStore},
    },
    error::ErrorKind,
    os::process::shared,
};

/// The stores in use by the addresses of their objects: all credentials with the same object share
/// refreshes.
#[derive(Default)]
struct Stores(Mutex<HashMap<usize, Weak<PythonStore>>>);

pub struct PythonStore {
    object: WeakRef,
    class: String,
    /// True if the object has a lock of its own, which may work across processes.
    has_lock: bool,
    /// The key of the last token that was saved, and not deleted since.
    last_saved: Mutex<Option<String>>,
    id: StoreId,
}

impl PythonStore {
    /// Returns the store of an object, and the reference that keeps the object alive.
    pub fn of_object(object: &Bound<'_, PyAny>) -> PyResult<(SharedStore, Py<StrongRef>)> {
        // Called without the lock, as creating a Python object may run other code.
        let (strong, weak) = WeakRef::new(object)?;
        let created = Arc::new(PythonStore {
            object: weak,
            class: object.get_type().name()?.to_string(),
            has_lock: object.getattr_opt("lock")?.is_some_and(|method| method.is_callable()),
            last_saved: Mutex::new(None),
            id: StoreId::new(),
        });
        let (store, strong) = Self::known_or(created, strong, object);
        let id = store.id;
        Ok((SharedStore::new(store, id), strong))
    }

    /// Returns the store that the object already has in this process, or the store just created for
    /// it.
    fn known_or(
        created: Arc<Self>,
        strong: Py<StrongRef>,
        object: &Bound<'_, PyAny>,
    ) -> (Arc<Self>, Py<StrongRef>) {
        let Ok(stores) = shared::<Stores>() else {
            return (created, strong);
        };
        let mut stores = stores.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = object.as_ptr().addr();
        let known = stores.get(&address).and_then(Weak::upgrade);
        // Another object may have had the same address.
        if let Some(known) = known
            && let Some(strong) = known.object.strong(object)
        {
            return (known, strong);
        }
        stores.retain(|_, store| store.strong_count() > 0);
        stores.insert(address, Arc::downgrade(&created));
        (created, strong)
    }

    fn call<T>(
        &self,
        method: &str,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        call_python(&self.object, &format!("{}.{method}", self.class), call)
    }

    fn last_saved(&self) -> MutexGuard<'_, Option<String>> {
        self.last_saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error for a result of another class, whose value may be the tokens.
    fn wrong_result(&self, method: &str, class: &str, expected: &str) -> Error {
        let name = format!("{}.{method}", self.class);
        let text = format!("{name} returned {class}; expected {expected}");
        let advice = match class {
            "str" => format!("In {name}, return the bytes that were passed to save."),
            _ => {
                format!("Write {name} as a plain method, with the blocking client of the database.")
            }
        };
        Error::from(ErrorKind::Store(text)).with_advice(advice)
    }
}

impl TokenStore for PythonStore {
    fn why_empty(&self, key: &str) -> &'static str {
        match self.last_saved().as_deref() == Some(key) {
            true => {
                "the store's load(key) returned None for a token that its save(key, data) has stored; in \
                 load, return the bytes that were passed to save"
            }
            false => "the store has no token",
        }
    }

    fn load(&self, key: &str) -> Result<Option<Secret>> {
        self.call("load", |store| {
            let py = store.py();
            let value = match store.invoke_method(intern!(py, "load"), (key,)) {
                // A plain mapping raises `KeyError` for a missing key.
                Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(Ok(None)),
                value => value?,
            };
            if value.is_none() {
                return Ok(Ok(None));
            }
            if let Some(class) = class_if_awaitable(&value)? {
                return Ok(Err(class));
            }
            match value.extract::<Vec<u8>>() {
                Ok(bytes) => Ok(Ok(Some(Secret::new(bytes)))),
                Err(error) if is_refusal(py, &error) => {
                    Ok(Err(value.get_type().name()?.to_string()))
                }
                Err(error) => Err(error),
            }
        })?
        .map_err(|class| self.wrong_result("load", &class, "bytes or None"))
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        let awaitable = self.call("save", |store| {
            let py = store.py();
            let data = PyBytes::new(py, value);
            class_if_awaitable(&store.invoke_method(intern!(py, "save"), (key, data))?)
        })?;
        awaitable.map_or(Ok(()), |class| Err(self.wrong_result("save", &class, "None")))?;
        *self.last_saved() = Some(key.to_owned());
        Ok(())
    }

    fn delete(&self, key: &str) -> Result<()> {
        let awaitable = self.call("delete", |store| {
            let py = store.py();
            match store.invoke_method(intern!(py, "delete"), (key,)) {
                Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(None),
                outcome => class_if_awaitable(&outcome?),
            }
        })?;
        self.last_saved().take_if(|saved| saved == key);
        awaitable.map_or(Ok(()), |class| Err(self.wrong_result("delete", &class, "None")))
    }

    /// Python forgets a thread's `threading.local` as soon as the thread leaves the interpreter
    /// permanently.
    fn on_one_thread(&self, work: Box<dyn FnOnce() + Send + '_>) {
        with_one_thread_state(work);
    }

    /// Only the object knows how processes share it. If the object has no lock, each process
    /// refreshes once.
    fn lock(&self, key: &str) -> Result<Guard> {
        if !self.has_lock {
            return Ok(Guard::new(()));
        }
        let manager = self.call("lock", |store| {
            let manager = store.invoke_method(intern!(store.py(), "lock"), (key,))?;
            let has =
                |name: &str| manager.get_type().getattr_opt(name).map(|found| found.is_some());
            if !(has("__enter__")? && has("__exit__")?) {
                return Ok(Err(manager.get_type().name()?.to_string()));
            }
            manager.invoke_method(intern!(store.py(), "__enter__"), ())?;
            Ok(Ok(manager.unbind()))
        })?;
        let name = format!("{}.lock", self.class);
        let manager = manager.map_err(|class| {
            let text = format!("{name} returned {class}; expected a context manager");
            let advice = format!(
                "Correct {name}, or leave it out: each process then refreshes the token itself."
            );
            Error::from(ErrorKind::Store(text)).with_advice(advice)
        })?;
        Ok(Guard::released_by(move |failed| leave(&manager, &name, failed)))
    }
}

/// Returns the class of a result that would have to be awaited, and so has done nothing yet.
fn class_if_awaitable(returned: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let class = returned.get_type();
    if class.getattr_opt("__await__")?.is_none() {
        return Ok(None);
    }
    // Python would warn that an open coroutine was never awaited.
    if returned.hasattr("cr_code")? {
        returned.invoke_method(intern!(returned.py(), "close"), ())?;
    }
    Ok(Some(class.name()?.to_string()))
}

/// Leaves a context manager. If a change within it failed, an exception is passed, so that a
/// transaction is rolled back.
fn leave(manager: &Py<PyAny>, name: &str, failed: bool) -> Result<()> {
    call_object(name, |py| {
        let manager = manager.bind(py);
        let exit = intern!(py, "__exit__");
        if failed {
            let error = ErrorKind::Store("the tokens were not saved".into()).into();
            let error = crate::interpreter::errors::exception(py, &error)?;
            manager.invoke_method(exit, (error.get_type(), error, py.None())).map(drop)
        } else {
            manager.invoke_method(exit, (py.None(), py.None(), py.None())).map(drop)
        }
    })
}
