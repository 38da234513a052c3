//! Pages for `Pager` and `AsyncPager`: their rows as objects, and the results that are collected
//! from them.

pub mod collecting;
pub mod page;
pub mod page_stream;
pub mod pages;
pub mod record_batches;
pub mod row_view;
