//! `_hints.py`: what to do about an error of each exception class.

use boardlot_client::error::ExceptionClass;

pub fn text() -> String {
    let hints = ExceptionClass::ALL.iter().map(|class| {
        let (name, hint) = (class.name(), class.hint());
        format!("    \"{name}\": \"{hint}\",\n")
    });
    format!(
        "\"\"\"What to do about an error of each exception class, unless it has a hint of its own.\n\n\
         Generated from `crates/service/src/error/exception.rs` by `make generate`: change that, not this.\n\
         \"\"\"\n\nHINTS = {{\n{}}}\n",
        hints.collect::<String>()
    )
}
