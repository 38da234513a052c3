//! The classes of the `datetime` module.

use jiff::civil::Date;
use pyo3::exceptions::PyOverflowError;

use super::instances::ItemTuple;
use crate::interpreter::reentrant_once::ReentrantOnce;
use crate::prelude::*;
use boardlot_client::extension::{api::MICROS_PER_DAY, decode::scalars::date_of_days};

/// The classes of `datetime`, imported on first use.
pub struct DateClasses {
    pub datetime: Py<PyAny>,
    pub date: Py<PyAny>,
    /// 1970-01-01 in UTC.
    epoch: Py<PyAny>,
    microsecond: Py<PyAny>,
    utc: Py<PyAny>,
    /// Methods of `datetime` itself: the methods of subclasses may return or do something else.
    subtract: Py<PyAny>,
    utcoffset: Py<PyAny>,
}

impl DateClasses {
    pub fn get(py: Python<'_>) -> PyResult<&Self> {
        static CLASSES: ReentrantOnce<DateClasses> = ReentrantOnce::new();
        CLASSES.get_or_try_init(|| {
            let module = import(py, "datetime")?;
            // Libraries that set the clock of a test put a subclass in its place: the first class
            // that is made of `date` alone is the original.
            let classes = module.getattr("datetime")?.getattr("__mro__")?;
            let date = classes.get_item(-2)?;
            let mut classes = classes.try_iter()?.filter_map(Result::ok);
            let datetime = classes
                .find(|class| {
                    class
                        .getattr("__bases__")
                        .is_ok_and(|bases| bases.eq((&date,)).unwrap_or(false))
                })
                .unwrap_or(module.getattr("datetime")?);
            let timedelta = module.getattr("timedelta")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let microsecond = timedelta.invoke((0, 0, 1))?.unbind();
            let epoch = datetime.invoke((1970, 1, 1, 0, 0, 0, 0, &utc))?.unbind();
            Ok(DateClasses {
                subtract: datetime.getattr("__sub__")?.unbind(),
                utcoffset: datetime.getattr("utcoffset")?.unbind(),
                datetime: datetime.unbind(),
                date: date.unbind(),
                epoch,
                microsecond,
                utc: utc.unbind(),
            })
        })
    }

    /// Returns the microseconds since 1970 of a datetime; `None` for a naive one.
    pub fn micros_of(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let py = value.py();
        if self.utcoffset.bind(py).invoke((value,))?.is_none() {
            return Ok(None);
        }
        let since = self.subtract.bind(py).invoke((value, self.epoch.bind(py)))?;
        since.floor_div(self.microsecond.bind(py))?.extract().map(Some)
    }

    /// Makes the aware UTC datetime of a number of microseconds since 1970.
    pub fn datetime_of<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.next_datetime(py, micros, &mut None)
    }

    /// Returns the aware UTC datetime of a number of microseconds since 1970. `arguments` are those
    /// of the previous call.
    pub fn next_datetime<'py>(
        &self,
        py: Python<'py>,
        micros: i64,
        arguments: &mut Option<ItemTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (year, month, day) = date_of_days(micros.div_euclid(MICROS_PER_DAY));
        let year = u16::try_from(year).ok().filter(|year| (1..10_000).contains(year));
        let [century, year] = year.map(u16::to_be_bytes).ok_or_else(|| {
            let text = format!("{micros} microseconds since 1970; expected a year from 1 to 9999");
            PyOverflowError::new_err(text)
        })?;
        let micros = micros.rem_euclid(MICROS_PER_DAY);
        let (seconds, [.., high, middle, low]) =
            (micros / 1_000_000, (micros % 1_000_000).to_be_bytes());
        let (hour, minute, second) =
            ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8);
        // The constructor takes the ten bytes of a pickled datetime: one argument instead of seven.
        let state = [century, year, month, day, hour, minute, second, high, middle, low];
        let arguments = ItemTuple::prepare(arguments, py, 2)?;
        arguments.set(0, PyBytes::new(py, &state).into_any())?;
        arguments.set(1, self.utc.bind(py).clone())?;
        arguments.call(self.datetime.bind(py))
    }
}

/// Reads the calendar date of a `date`, or of a `datetime` in its own time zone.
pub fn date(value: &Bound<'_, PyAny>) -> PyResult<Option<Date>> {
    let field = |name: &str| value.getattr(name)?.extract::<i16>();
    let (year, month, day) = (field("year")?, field("month")?, field("day")?);
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return Ok(None) };
    Ok(Date::new(year, month, day).ok())
}

/// The start and the end of a range.
pub type Datetimes<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Makes the aware UTC datetimes of a range in microseconds since 1970.
pub fn datetimes<'py>(
    py: Python<'py>,
    range: Option<(i64, i64)>,
) -> PyResult<Option<Datetimes<'py>>> {
    // An end that the service computes may be in the year 10000, which Python's dates do not reach.
    const LAST: i64 = 253_402_300_799_999_999;
    let classes = DateClasses::get(py)?;
    let datetime = |micros: i64| classes.datetime_of(py, micros.min(LAST));
    range.map(|(start, end)| Ok((datetime(start)?, datetime(end)?))).transpose()
}
