//! `_endpoints.py`: the rows of the table as far as the command line and the tests need them.

use boardlot_client::extension::api::{
    ENDPOINTS, Endpoint, MARKETS, Parameter, ParameterKind, ResponseShape, Value, ValueSet,
};

use super::{
    methods::{ExampleArgument, Method, method_of},
    python_api::windows_doc,
};

const HEAD: &str = r#""""The table of endpoints, for the command line and the tests.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Account(NamedTuple):
    """An argument that is an account of this kind."""

    kind: str


class Parameter(NamedTuple):
    """A parameter of a method, as an argument or option of its command."""

    name: str
    kind: Literal["text", "symbol", "market", "choice", "request type", "integer", "windows", "day", "time"]
    help: str
    required: bool = False
    # What a choice may be.
    choices: tuple[str, ...] = ()


class Endpoint(NamedTuple):
    """One endpoint: the method that calls it, and the command that calls the method."""

    method: str
    paged: bool
    # Whether its list covers a range of time, whose rows have a fixed order.
    resumable: bool
    # The required arguments of a call against the sandbox.
    arguments: tuple[str | Account, ...]
    command: str
    summary: str
    # A further paragraph of the help; may be empty.
    notes: str
    # Without the cursor and `resume`.
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]
    # The declared fields of the rows, in all markets.
    columns: tuple[str, ...]
    # The columns for a narrow terminal, the most important first.
    key_columns: tuple[str, ...]


"#;

pub fn text() -> String {
    let markets: Vec<String> = MARKETS.iter().map(|market| quoted(market)).collect();
    let rows =
        ENDPOINTS.iter().filter_map(|row| method_of(row).map(|method| endpoint(row, method)));
    format!(
        "{HEAD}# The prefixes of symbols that the service document names.\nMARKETS = ({})\n\n\
         ENDPOINTS = (\n{})\n",
        markets.join(", "),
        rows.collect::<String>()
    )
}

fn endpoint(row: &Endpoint, method: &Method) -> String {
    let arguments = method.arguments.iter().map(|argument| match argument {
        ExampleArgument::Text(text) => quoted(text),
        ExampleArgument::Account(kind) => format!("Account({})", quoted(kind)),
    });
    let (required, optional): (Vec<&Parameter>, Vec<&Parameter>) =
        row.arguments().partition(|parameter| parameter.required);
    let mut parameters: Vec<String> = required.into_iter().chain(optional).map(parameter).collect();
    if row.time_range().is_some() {
        let windows = sentence(&windows_doc());
        parameters.push(format!("Parameter(\"windows\", \"windows\", {})", quoted(&windows)));
    }
    let members = [
        ("method", quoted(&row.name)),
        ("paged", boolean(row.paging.is_some())),
        ("resumable", boolean(row.time_range().is_some())),
        ("arguments", tuple(arguments)),
        ("command", quoted(method.command)),
        ("summary", quoted(&sentence(row.summary))),
        ("notes", quoted(&sentence(row.notes))),
        ("parameters", tuple(parameters.into_iter())),
        ("examples", tuple(method.command_lines.iter().map(|text| quoted(text)))),
        ("columns", tuple(columns(row).into_iter().map(quoted))),
        ("key_columns", tuple(method.key_columns.split_whitespace().map(quoted))),
    ];
    let members = members.map(|(name, value)| format!("        {name}={value},\n"));
    format!("    Endpoint(\n{}    ),\n", members.concat())
}

fn parameter(parameter: &Parameter) -> String {
    let doc = parameter.doc;
    let mut choices: &[&str] = &[];
    let (kind, help) = match parameter.kind {
        ParameterKind::OneOf(words) => {
            choices = words;
            // Words that the sentence already has, it has as code.
            let lists_them = doc.split("such as").next().is_some_and(|text| text.contains('`'));
            let listed = format!("{doc} One of {}.", words.join(", "));
            ("choice", if lists_them { doc.to_owned() } else { listed })
        }
        ParameterKind::ValuesBy { sets, .. } => ("request type", request_types(sets)),
        ParameterKind::Time(_) => {
            let forms =
                "ISO 8601 with an offset, a date (midnight UTC), or microseconds since 1970.";
            ("time", format!("{doc} {forms}"))
        }
        ParameterKind::Date => ("day", format!("{doc} As yyyy-MM-dd.")),
        ParameterKind::Integer { .. } => ("integer", doc.to_owned()),
        ParameterKind::Symbol { .. } | ParameterKind::PlateCode => ("symbol", doc.to_owned()),
        ParameterKind::Market => ("market", doc.to_owned()),
        // The document lists no markets for these.
        ParameterKind::Text if ["market", "trd_market"].contains(&&*parameter.name) => {
            ("market", doc.to_owned())
        }
        _ => ("text", doc.to_owned()),
    };
    let mut out = vec![quoted(&parameter.name), quoted(kind), quoted(&sentence(&help))];
    if parameter.required {
        out.push("required=True".to_owned());
    }
    if !choices.is_empty() {
        out.push(format!(
            "choices=({},)",
            choices.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")
        ));
    }
    format!("Parameter({})", out.join(", "))
}

/// The names and numbers of the first market's set, and of those of other markets that differ.
fn request_types(sets: &[(&str, &ValueSet)]) -> String {
    let mut known: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    for (market, set) in sets {
        if known.contains(&set.name) {
            continue;
        }
        let members = set.members.iter().map(|member| {
            let number = match member.value {
                Value::Integer(number) => number.to_string(),
                Value::Text(text) => text.to_owned(),
            };
            format!("{} ({number})", member.name.to_lowercase().replace('_', "-"))
        });
        let members = members.collect::<Vec<_>>().join(", ");
        let prefix = if known.is_empty() { String::new() } else { format!("in {market} ") };
        texts.push(prefix + &members);
        known.push(set.name);
    }
    format!("What to list, by name or number: {}.", texts.join("; "))
}

fn columns(row: &Endpoint) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    if let ResponseShape::Rows(_, schema) = &row.response {
        for record in schema.records() {
            for field in record.fields() {
                if !names.contains(&&*field.name) {
                    names.push(&field.name);
                }
            }
        }
    }
    names
}

/// A text of the table for a terminal: without marks of code, and beginning with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let capital = letters.next().into_iter().flat_map(char::to_uppercase);
    capital.chain(letters).filter(|&letter| letter != '`').collect()
}

fn boolean(value: bool) -> String {
    if value { "True" } else { "False" }.to_owned()
}

fn tuple(items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("            {item},\n")).collect();
    if items.is_empty() { "()".to_owned() } else { format!("(\n{items}        )") }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
