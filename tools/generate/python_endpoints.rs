//! `_endpoints.py`: the rows of the table as far as the command line and the tests need them.

use boardlot::api::{Command, ENDPOINTS, Endpoint, ExampleArgument};

const HEAD: &str = r#""""The table of endpoints, for the command line and the tests.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

from __future__ import annotations

from typing import NamedTuple


class Account(NamedTuple):
    """An argument that is an account of this kind."""

    kind: str


class Endpoint(NamedTuple):
    """One endpoint: the method that calls it, and the command that calls the method."""

    method: str
    paged: bool
    # The required arguments of a call against the sandbox.
    arguments: tuple[str | Account, ...]
    command: str
    examples: tuple[str, ...]
    # The columns for a narrow terminal, the most important first.
    key_columns: tuple[str, ...]


ENDPOINTS = (
"#;

pub fn text() -> String {
    let rows = ENDPOINTS.iter().filter_map(|row| row.command.as_ref().map(|c| endpoint(row, c)));
    format!("{HEAD}{})\n", rows.collect::<String>())
}

fn endpoint(row: &Endpoint, command: &Command) -> String {
    let arguments = row.example.iter().flat_map(|example| example.arguments);
    let arguments = arguments.map(|argument| match argument {
        ExampleArgument::Text(text) => quoted(text),
        ExampleArgument::Account(kind) => format!("Account({})", quoted(kind)),
    });
    let texts = |texts: &[&str]| tuple(texts.iter().map(|text| quoted(text)));
    format!(
        "    Endpoint(\n        method={},\n        paged={},\n        arguments={},\n        \
         command={},\n        examples={},\n        key_columns={},\n    ),\n",
        quoted(&row.name),
        if row.paging.is_some() { "True" } else { "False" },
        tuple(arguments),
        quoted(command.name),
        texts(command.examples),
        texts(command.key_columns),
    )
}

/// A tuple as the formatter writes it.
fn tuple(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.as_slice() {
        [] => "()".to_owned(),
        [item] if item.len() < 70 => format!("({item},)"),
        items => format!(
            "(
            {},
        )",
            items.join(
                ",
            "
            )
        ),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
