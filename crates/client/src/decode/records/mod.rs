//! Locates the records of a response, and their values.

mod grid;
mod key_column;
mod known_layout;
mod page;
mod page_slice;
mod scan;
mod slow_path;
mod utf8;

pub use grid::RowValues;
pub use key_column::{KEY_DOC, field_name};
pub use page::Page;
pub use page_slice::{PageSlice, RecordNumber, RecordRef};
pub(super) use scan::scan;
pub(super) use slow_path::find_page;
pub(super) use utf8::check_utf8;
