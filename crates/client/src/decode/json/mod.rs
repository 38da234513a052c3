//! JSON text: scanned in place, parsed into values, and written.

mod byte_scanner;
mod escapes;
mod known_key;
mod object;
mod raw;
mod reader;
mod special_bytes;
mod tokens;
mod value;
mod writer;

pub use byte_scanner::short_eq;
pub(super) use byte_scanner::{all_digits, count_digits};
pub(super) use escapes::without_lone_surrogates;
pub(super) use known_key::KnownKey;
pub use object::Members;
pub(super) use object::is_too_deep;
pub use object::split_members;
pub use object::{find_member, parse_members};
pub(super) use raw::ByteRange;
pub use raw::Raw;
pub(super) use reader::JsonReader;
pub(super) use special_bytes::SpecialBytes;
pub use value::Value;
pub use writer::{canonical_json, write_text};
pub(super) use writer::{write_object, write_value};
