//! Python source as text: a method's definition, a doctest, a list item.

use super::wrapped;

/// Which of the two client classes is written.
#[derive(Clone, Copy, PartialEq)]
pub enum Face {
    Sync,
    Async,
}

/// A method that returns `call`.
pub fn definition(
    is_async: bool,
    name: &str,
    signature: &[String],
    returns: &str,
    doc: &str,
    call: &str,
) -> String {
    let (asynchronous, awaited) = if is_async { ("async ", "await ") } else { ("", "") };
    let one_line = format!("    {asynchronous}def {name}({}) -> {returns}:", signature.join(", "));
    let head = if one_line.len() <= 100 {
        one_line
    } else {
        format!(
            "    {asynchronous}def {name}(\n        {},\n    ) -> {returns}:",
            signature.join(",\n        ")
        )
    };
    let doc: Vec<String> = doc
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("        {line}") })
        .collect();
    format!(
        "\n{head}\n        \"\"\"{}\n        \"\"\"\n        return {awaited}{call}\n",
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
