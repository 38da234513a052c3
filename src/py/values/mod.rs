//! One value at a time: JSON, dates and numbers as Python objects.

pub mod converter;
pub mod dates;
pub mod instances;
pub mod objects;
pub mod time_range;
pub mod trial;
pub mod value_cache;
