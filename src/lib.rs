//! The extension module of the Python package: its classes, calls that block or are awaited, and
//! the conversion of rows and errors to Python objects. `boardlot-client` does the work, and knows
//! no Python.
#![allow(missing_debug_implementations, reason = "these types have a Python repr")]
#![allow(clippy::too_many_arguments, clippy::unused_self, reason = "as Python calls them")]

mod arguments;
mod calls;
mod client;
mod credentials;
mod hooks;
mod interpreter;
mod login;
mod pager;
mod prelude;
mod rows;
mod testing;
mod values;

use pyo3::prelude::*;

/// The compiled part of boardlot.
#[pymodule]
mod _core {
    use pyo3::{exceptions::PyImportError, ffi, prelude::*};

    use crate::{
        client::{
            endpoint_arguments::built_in_endpoints,
            options::{CLIENT_OPTIONS, connect_options},
        },
        credentials::stores::TokenStoreBase,
    };

    #[pymodule_export]
    use crate::{
        arguments::request_arguments::python_number,
        calls::blocking::polled,
        client::cassette::{RecorderCore, ReplayCore},
        client::client_core::ClientCore,
        client::endpoint::{EndpointCore, load_endpoints},
        client::endpoint_arguments::BuiltInEndpoint,
        client::endpoint_arguments::nearest_of,
        client::paging::DateRangeCore,
        client::rate_limit::{RateLimitCore, application_limit},
        client::response::{Explanation, Response},
        client::stored_records::{fill_rows, micros, record_texts, stored_records, typed_records},
        client::time_range::time_range_of,
        credentials::oauth::OAuth,
        credentials::profile::{
            check_profile_address, config_file, environment_proxy, load_profile, profile_names,
            remove_profile, save_profile, set_default_profile,
        },
        credentials::signing::{GeneratedKey, generate_key, signature_payload},
        credentials::static_credentials::{ApiKey, BearerToken},
        credentials::stores::{EncryptedFileStore, KeyringStore, MemoryStore},
        hooks::request_events::{RequestEvent, ResponseEvent},
        interpreter::files::{
            FileLock, authorize_reading, expand_user, remove_file, replace_file, shown_path,
        },
        login::client_registration::{Registration, register_client},
        login::login_flow::LoginFlowCore,
        login::oauth_app::{AuthorizationRequest, OAuthAppCore},
        pager::page::Page,
        pager::page_stream::{Batch, PageStream},
        pager::pages::Pages,
        pager::record_batches::RecordBatches,
        pager::row_view::RowView,
        rows::arrow::ArrowStream,
        rows::frame::{import_frame_library, to_frame},
        rows::page_rows::Rows,
        rows::schema_field::SchemaField,
        rows::shape::Shape,
        rows::typed_dicts::typed_dicts,
        testing::description::openapi_json,
        testing::response_bodies::{pages_of_bodies, response_parser},
    };

    #[pymodule_export]
    use crate::testing::{
        recorded_request::RecordedRequest,
        sandbox::{FaultsCore, SandboxCore},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        if !is_main_interpreter(py) {
            return Err(PyImportError::new_err(
                "boardlot does not work in a subinterpreter; import it in the main interpreter",
            ));
        }
        #[cfg(unix)]
        crate::interpreter::forks::register();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Errors name its methods after the protocol, which users know.
        module.add("_TokenStoreBase", py.get_type::<TokenStoreBase>())?;
        module.add("_BUILT_IN_ENDPOINTS", built_in_endpoints(py)?)?;
        module.add("_CLIENT_OPTIONS", CLIENT_OPTIONS.iter().map(|x| x.name).collect::<Vec<_>>())?;
        module
            .add("_CONNECT_OPTIONS", connect_options().map(|(name, _)| name).collect::<Vec<_>>())?;
        // No code imports all names of this module, and the stub would have to repeat them.
        module.delattr("__all__")
    }

    /// Returns true if this is the interpreter that the process began with. Objects that exist once
    /// per process, such as those in a `ReentrantOnce`, can belong to only one interpreter.
    #[expect(unsafe_code, reason = "PyO3 has no function for it")]
    fn is_main_interpreter(_py: Python<'_>) -> bool {
        // SAFETY: this thread is attached to an interpreter, which the first function returns.
        unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) == 0 }
    }
}
