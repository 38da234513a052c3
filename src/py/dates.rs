//! The classes of the `datetime` module.

use jiff::civil::Date;
use pyo3::prelude::*;

use super::fork_safe_cell::ForkSafeOnce;

/// The classes of `datetime`, imported on first use.
pub struct DateClasses {
    pub datetime: Py<PyAny>,
    pub date: Py<PyAny>,
    pub timedelta: Py<PyAny>,
    /// 1970-01-01 in UTC.
    pub epoch: Py<PyAny>,
    pub microsecond: Py<PyAny>,
}

impl DateClasses {
    pub fn get(py: Python<'_>) -> PyResult<&Self> {
        static CLASSES: ForkSafeOnce<DateClasses> = ForkSafeOnce::new();
        CLASSES.get_or_try_init(|| {
            let module = py.import("datetime")?;
            let datetime = module.getattr("datetime")?;
            let timedelta = module.getattr("timedelta")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let microsecond = timedelta.call1((0, 0, 1))?.unbind();
            let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?.unbind();
            Ok(DateClasses {
                datetime: datetime.unbind(),
                date: module.getattr("date")?.unbind(),
                timedelta: timedelta.unbind(),
                epoch,
                microsecond,
            })
        })
    }

    /// The aware UTC datetime of a number of microseconds since 1970.
    pub fn datetime_of<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.epoch.bind(py).add(self.timedelta.bind(py).call1((0, 0, micros))?)
    }
}

/// The calendar date of a `date`, or of a `datetime` in its own time zone.
pub fn date(value: &Bound<'_, PyAny>) -> PyResult<Option<Date>> {
    let field = |name: &str| value.getattr(name)?.extract::<i16>();
    let (year, month, day) = (field("year")?, field("month")?, field("day")?);
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return Ok(None) };
    Ok(Date::new(year, month, day).ok())
}
