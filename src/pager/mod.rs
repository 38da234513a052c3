//! Iterations over pages.

pub mod item_iterator;
pub mod missing_attribute;
pub mod page_reader;
pub mod pager_base;
pub mod pager_state;
pub mod row_view;
