//! Records as dicts, typed dicts, instances of classes, columns and frames.

pub mod arrow;
pub mod frame;
pub mod kept_dicts;
pub mod missing_attribute;
pub mod pickles;
pub mod records;
pub mod records_iterator;
pub mod records_methods;
pub mod row_builder;
pub mod row_builder_pool;
pub mod row_class;
pub mod row_errors;
pub mod row_layout;
pub mod row_spec;
pub mod schema_field;
pub mod sequence;
pub mod web_types;
