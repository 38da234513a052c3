//! JSON text: scanned in place, parsed into values, and written.

mod byte_scanner;
mod escapes;
mod object;
mod raw;
mod reader;
mod tokens;
mod value;
mod writer;

pub(super) use byte_scanner::all_digits;
pub(crate) use byte_scanner::short_eq;
pub use object::Members;
pub(super) use object::is_too_deep;
pub(crate) use object::{find_member, parse_members};
pub(super) use raw::ByteRange;
pub use raw::Raw;
pub(crate) use reader::{JsonReader, Key};
pub use value::Value;
pub(super) use writer::{write_object, write_value};
