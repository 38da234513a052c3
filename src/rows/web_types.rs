//! Records as a type of pydantic, and as a result of a FastAPI route.

use crate::interpreter::reentrant_once::ReentrantOnce;
use crate::prelude::*;

/// The schema of records: themselves or any list of dicts, written as a list.
pub fn pydantic_schema<'py>(
    py: Python<'py>,
    handler: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    import(py, "boardlot._support.web_types")?
        .invoke_method(intern!(py, "records_schema"), (handler,))
}

/// Enters records in FastAPI's table of types, once it is imported: what a route without an annotation
/// returns is written by that table alone.
pub fn register_encoder(py: Python<'_>) -> PyResult<()> {
    static MODULES: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
    let modules = MODULES.import(py, "sys", "modules")?;
    if modules.contains(intern!(py, "fastapi.encoders"))? {
        let types = import(py, "boardlot._support.web_types")?;
        types.invoke_method(intern!(py, "register_encoder"), ())?;
    }
    Ok(())
}
