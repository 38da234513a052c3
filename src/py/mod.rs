//! The only place that knows Python: the classes, the bridge between the two worlds, objects made
//! from rows, exceptions made from errors.
#![allow(missing_debug_implementations, reason = "Python's repr stands in its place")]

#[cfg(not(system_allocator))]
mod allocator;
mod arguments;
mod arrow;
mod bridge;
mod cassette;
mod client;
mod credentials;
mod errors;
mod event_loop;
mod fork_safe_cell;
mod measuring;
mod notifier;
mod oauth;
mod objects;
mod observer;
mod operation;
mod options;
mod pager;
mod paging;
mod progress;
mod ranges;
mod reading;
mod records;
mod response;
#[cfg(feature = "sandbox")]
mod sandbox;
mod shapes;
mod shutdown_gate;
mod signals;
mod stores;
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
        credentials::{ApiKey, BearerToken, GeneratedKey, generate_key, signature_payload},
        measuring::{pager_of, reader_of},
        oauth::{LoginFlow, OAuth, begin_login, login},
        observer::{RequestEvent, ResponseEvent},
        options::{config_file, keep_login, profile_of},
        pager::{AsyncPager, Pager, PagerBase},
        paging::DateRange,
        ranges::time_range_of,
        reading::{AsyncPageIterator, PageIterator},
        records::{Records, RecordsIterator, SchemaField},
        response::{Explanation, Response},
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
