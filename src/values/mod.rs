//! One value at a time: JSON, dates and numbers as Python objects.

pub mod converter;
pub mod dates;
pub mod hit_rate;
pub mod instances;
pub mod objects;
pub mod value_cache;
