//! What `Pager` and `AsyncPager` need of the core: pages, their rows as objects, and what is collected from them.

pub mod collecting;
pub mod page;
pub mod page_stream;
pub mod pages;
pub mod record_batches;
pub mod row_view;
