//! Python source as text: a method's definition, a doctest, a list item.

use super::wrapped;

/// The client class that is written.
#[derive(Clone, Copy, PartialEq)]
pub enum Face {
    Sync,
    Async,
}

/// The attribute of a client that has its core.
pub const CORE: &str = "_boardlot_core";

/// The line or lines of a method's `def`.
pub fn head(
    is_async: bool,
    name: &str,
    signature: &[String],
    returns: &str,
    indent: &str,
) -> String {
    let asynchronous = if is_async { "async " } else { "" };
    let one_line =
        format!("{indent}{asynchronous}def {name}({}) -> {returns}:", signature.join(", "));
    if one_line.len() <= 100 {
        return one_line;
    }
    let parameters = signature.join(&format!(",\n{indent}    "));
    format!("{indent}{asynchronous}def {name}(\n{indent}    {parameters},\n{indent}) -> {returns}:")
}

/// A method that returns `call`.
pub fn definition(
    is_async: bool,
    name: &str,
    signature: &[String],
    returns: &str,
    doc: &str,
    result: &str,
) -> String {
    let head = head(is_async, name, signature, returns, "    ");
    let doc: Vec<String> = doc
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("        {line}") })
        .collect();
    format!(
        "\n{head}\n        \"\"\"{}\n        \"\"\"\n        return {result}\n",
        doc.join("\n").trim_start()
    )
}

/// An example as a doctest. The tests know how to run one that awaits.
pub fn doctest(call: &str, expression: &str, result: &str) -> String {
    format!(">>> {}\n{result}", expression.replace("{}", call))
}

/// A list item whose further lines are indented below its text.
pub fn hanging(text: &str, indent: &str) -> String {
    wrapped(text, 90, &format!("{indent}  ")).replacen(
        &format!("{indent}  -"),
        &format!("{indent}-"),
        1,
    )
}
