//! Conversions of typed columns to the frames of pandas, polars and pyarrow.

use pyo3::exceptions::{PyImportError, PyModuleNotFoundError};

use super::arrow::{ArrowStream, column_options};
use crate::prelude::*;
use boardlot_client::extension::decode::{ColumnOptions, Rows};

/// A conversion to the frame of one library, with its checked options.
#[derive(Clone, Copy)]
pub struct FrameTarget {
    library: &'static FrameLibrary,
    pub options: ColumnOptions,
}

/// A library to convert to, and the function that takes the Arrow stream.
pub struct FrameLibrary {
    method: &'static str,
    /// The extra of the package that installs the libraries.
    extra: &'static str,
    libraries: &'static [&'static str],
    /// The string layout that the library uses without copying.
    strings: &'static str,
    module: &'static str,
    function: &'static str,
}

pub static PANDAS: FrameLibrary = FrameLibrary {
    method: "to_pandas",
    extra: "pandas",
    libraries: &["pandas", "pyarrow"],
    strings: "large",
    module: "boardlot.frames",
    function: "pandas_frame",
};

pub static POLARS: FrameLibrary = FrameLibrary {
    method: "to_polars",
    extra: "polars",
    libraries: &["polars"],
    strings: "view",
    module: "polars",
    function: "DataFrame",
};

pub static ARROW: FrameLibrary = FrameLibrary {
    method: "to_arrow",
    extra: "arrow",
    libraries: &["pyarrow"],
    strings: "utf8",
    module: "pyarrow",
    function: "table",
};

impl FrameTarget {
    /// Checks the options and imports the libraries, before any request is sent: without the
    /// libraries, the rows would be of no use.
    pub fn prepare(
        py: Python<'_>,
        library: &'static FrameLibrary,
        decimals: &str,
        invalid: &str,
    ) -> PyResult<Self> {
        let options = column_options(decimals, invalid, library.strings);
        let options = options.or_raise(py)?;
        library.import(py)?;
        Ok(FrameTarget { library, options })
    }

    /// Converts an Arrow stream to the frame.
    pub fn convert<'py>(
        self,
        py: Python<'py>,
        stream: impl IntoPyObject<'py>,
    ) -> PyResult<Py<PyAny>> {
        let FrameLibrary { module, function, .. } = self.library;
        import(py, module)?.getattr(*function)?.invoke((stream,)).map(Bound::unbind)
    }

    /// Makes the pyarrow RecordBatch of one page.
    pub fn batch(self, py: Python<'_>, rows: &Rows) -> PyResult<Py<PyAny>> {
        let stream = ArrowStream::of_rows(py, rows, self.options)?;
        let frames = import(py, "boardlot.frames")?;
        frames.invoke_method("record_batch", (stream,)).map(Bound::unbind)
    }
}

impl FrameLibrary {
    fn import(&self, py: Python<'_>) -> PyResult<()> {
        for library in self.libraries {
            let Err(error) = import(py, library) else { continue };
            // Installing the extra helps only if a module is missing.
            if !error.is_instance_of::<PyModuleNotFoundError>(py) {
                return Err(error);
            }
            let name = error.value(py).getattr("name")?;
            let (method, extra) = (self.method, self.extra);
            let text = format!("{method}() needs {name}: pip install 'boardlot[{extra}]'");
            let attributes = PyDict::new(py);
            attributes.set_item("name", name)?;
            let hint = py.get_type::<PyImportError>().invoke_named((text,), Some(&attributes))?;
            let hint = PyErr::from_value(hint);
            hint.set_cause(py, Some(error));
            return Err(hint);
        }
        Ok(())
    }
}

/// The frame of any object with an `_arrow` method, by the name of the conversion.
#[pyfunction]
#[pyo3(name = "_to_frame")]
pub fn to_frame(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::method)] method: &str,
    records: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
    #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
) -> PyResult<Py<PyAny>> {
    let frame = FrameTarget::prepare(py, library(py, method)?, decimals, invalid)?;
    let strings = frame.library.strings;
    frame.convert(py, records.invoke_method("_arrow", (decimals, invalid, strings))?)
}

/// Imports the libraries of a conversion.
#[pyfunction]
#[pyo3(name = "_import_frame_library")]
pub fn import_frame_library(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::method)] method: &str,
) -> PyResult<()> {
    library(py, method)?.import(py)
}

/// Returns the library of a conversion.
pub fn library(py: Python<'_>, method: &str) -> PyResult<&'static FrameLibrary> {
    let found = [&PANDAS, &POLARS, &ARROW].into_iter().find(|library| library.method == method);
    found.ok_or_else(|| {
        let shown = format!("'{}'", method.escape_debug());
        raise(py, Error::argument("method", &shown, "'to_pandas', 'to_polars' or 'to_arrow'"))
    })
}
