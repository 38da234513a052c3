//! Rows as dicts, typed dicts, instances of classes, columns and frames.

pub mod arrow;
pub mod caller_value;
pub mod column_plan;
pub mod frame;
pub mod known_layouts;
pub mod page_rows;
pub mod row_builder;
pub mod row_builder_pool;
pub mod row_class;
pub mod row_errors;
pub mod row_layout;
pub mod row_spec;
pub mod rows_of_dicts;
pub mod schema_field;
pub mod shape;
pub mod typed_dicts;
