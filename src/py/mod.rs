//! The only place that knows Python: the classes, the bridge between the two worlds, objects made
//! from rows, exceptions made from errors.
#![allow(missing_debug_implementations, reason = "Python's repr stands in its place")]

#[cfg(not(system_allocator))]
mod allocator;
mod arguments;
mod arrow;
mod auth;
mod bridge;
mod cassette;
mod client;
mod client_options;
mod credentials;
mod dates;
mod dict_shape;
mod errors;
mod event_loop;
mod fork_safe_cell;
mod frame;
mod measuring;
mod notifier;
mod oauth;
mod objects;
mod observer;
mod operation;
mod pager;
mod paging;
mod profile;
mod progress;
mod ranges;
mod reading;
mod records;
mod request_arguments;
mod response;
#[cfg(feature = "sandbox")]
mod sandbox;
mod schema_field;
mod shapes;
mod shutdown_gate;
mod signals;
mod signing;
mod stores;
mod text_cache;
mod typed_dicts;
mod weak;

use pyo3::prelude::*;

/// The compiled part of boardlot.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        arrow::ArrowStream,
        bridge::shut_down,
        cassette::{Recorder, Replay},
        client::ClientBase,
        credentials::{ApiKey, BearerToken},
        frame::{import_frame_library, to_frame},
        measuring::{pager_of, reader_of},
        oauth::{LoginFlow, OAuth, begin_login, login},
        observer::{RequestEvent, ResponseEvent},
        pager::{AsyncPager, Pager, PagerBase},
        paging::DateRange,
        profile::{config_file, load_profile, save_profile},
        ranges::time_range_of,
        reading::{AsyncPageIterator, PageIterator},
        records::{Records, RecordsIterator},
        response::{Explanation, Response},
        schema_field::SchemaField,
        signing::{GeneratedKey, generate_key, signature_payload},
        stores::{EncryptedFileStore, KeyringStore, MemoryStore},
    };

    #[cfg(feature = "sandbox")]
    #[pymodule_export]
    use super::sandbox::{Faults, RecordedRequest, Sandbox};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        super::event_loop::make_types(py);
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // `collections.abc` would load more of the standard library than importing may cost.
        let sequence = py.import("_collections_abc")?.getattr("Sequence")?;
        sequence.call_method1("register", (module.getattr("Records")?,))?;
        let atexit = py.import("atexit")?;
        atexit.call_method1("register", (module.getattr("_shut_down")?,))?;
        Ok(())
    }
}
