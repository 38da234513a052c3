//! The Python extension module: its classes, calls that block or are awaited, and the conversion of
//! rows and errors to Python objects. Only this module knows Python.
#![allow(missing_debug_implementations, reason = "these types have a Python repr")]

#[cfg(not(system_allocator))]
mod allocator;
mod arguments;
mod arrow;
mod auth;
mod blocking;
mod call;
mod callback;
mod caller_context;
mod cassette;
mod client;
mod client_options;
mod client_registration;
mod completion;
mod converter;
mod credentials;
mod dates;
mod endpoint;
mod endpoint_arguments;
mod errors;
mod event_loop;
mod files;
mod fork_safe_cell;
mod forks;
mod frame;
mod instances;
mod logging;
mod login;
mod login_prompt;
mod notifier;
mod oauth;
mod oauth_app;
mod objects;
mod observer;
mod operation;
mod page_iterator;
mod pager;
mod pager_state;
mod paging;
mod profile;
mod progress;
mod python_store;
mod records;
mod request_arguments;
mod request_events;
mod response;
mod response_bodies;
mod row_builder;
mod row_class;
mod row_errors;
mod row_layout;
mod row_spec;
mod row_view;
#[cfg(feature = "sandbox")]
mod sandbox;
#[cfg(feature = "sandbox")]
mod sandbox_rows;
mod schema_field;
mod shapes;
mod shutdown_gate;
mod signals;
mod signing;
mod store_argument;
mod store_call;
mod stored_records;
mod stores;
mod texts;
mod thread_end;
mod time_range;
mod trial;
mod value_cache;
mod weak_ref;

use pyo3::prelude::*;

/// The compiled part of boardlot.
#[pymodule]
mod _core {
    use pyo3::{exceptions::PyImportError, ffi, prelude::*};

    use super::{
        callback::{Invoke, import},
        shutdown_gate::ExitHandler,
    };

    #[pymodule_export]
    use super::{
        arrow::ArrowStream,
        cassette::{Recorder, Replay},
        client::ClientBase,
        client_registration::{Registration, register_client},
        credentials::{ApiKey, BearerToken},
        endpoint::{Endpoint, load_endpoints},
        endpoint_arguments::did_you_mean_of,
        files::rename_over,
        frame::{import_frame_library, to_frame},
        login::{LoginFlow, begin_login, login},
        oauth::OAuth,
        oauth_app::{AsyncOAuthApp, AuthorizationRequest, OAuthApp, OAuthAppBase},
        page_iterator::{AsyncPageIterator, AsyncRowIterator, PageIterator, RowIterator},
        pager::{AsyncPager, Pager, PagerBase},
        paging::DateRange,
        profile::{
            check_profile_address, config_file, load_profile, profile_names, remove_profile,
            save_profile, set_default_profile,
        },
        records::{Records, RecordsIterator},
        request_events::{RequestEvent, ResponseEvent},
        response::{Explanation, Response},
        response_bodies::{pager_of_bodies, response_parser},
        schema_field::SchemaField,
        signing::{GeneratedKey, generate_key, signature_payload},
        stored_records::{fill_rows, micros, record_texts, stored_records},
        stores::{EncryptedFileStore, KeyringStore, MemoryStore},
        time_range::time_range_of,
    };

    #[cfg(feature = "sandbox")]
    #[pymodule_export]
    use super::sandbox::{Faults, RecordedRequest, Sandbox};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        if !is_main_interpreter(py) {
            return Err(PyImportError::new_err(
                "boardlot does not work in a subinterpreter; import it in the main interpreter",
            ));
        }
        create_types(py);
        super::forks::watch();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Importing `collections.abc` would load more of the standard library.
        let sequence = import(py, "_collections_abc")?.getattr("Sequence")?;
        sequence.invoke_method("register", (module.getattr("Records")?,))?;
        ExitHandler::register(py)
    }

    /// Whether this is the interpreter that the process began with. What exists once per process, such as
    /// the gate that its exit closes, can belong to one only.
    #[expect(unsafe_code, reason = "PyO3 has no function for it")]
    fn is_main_interpreter(_py: Python<'_>) -> bool {
        // SAFETY: this thread is attached to an interpreter, which the first function returns.
        unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) == 0 }
    }

    /// Creates the types that are not in the module. Later it could be done while another thread forks:
    /// see `fork_safe_cell`.
    fn create_types(py: Python<'_>) {
        py.get_type::<super::operation::Operation>();
        py.get_type::<super::event_loop::ResolveFinished>();
        py.get_type::<super::weak_ref::StrongRef>();
    }
}
