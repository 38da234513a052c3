//! `_records.py`: a TypedDict for each record, an enum for each closed set of values.

use boardlot_client::extension::api::{
    ENDPOINTS, Field, Kind, Record, ResponseShape, VALUE_SETS, Value, ValueSet, Wire,
};

use super::wrapped;

pub fn text() -> String {
    let mut out = String::from(
        "\"\"\"The service's records as TypedDicts, and its closed sets of values as enums.\n\n\
         Generated from the table of endpoints by `make generate`: change that, not this.\n\
         \"\"\"\n\n\
         # Without `from __future__ import annotations`: libraries read these types at run time.\n\n\
         import sys\nfrom enum import Enum, IntEnum\n\
         from typing import TYPE_CHECKING, Any\n\n\
         if TYPE_CHECKING or sys.version_info >= (3, 12):\n    from typing import TypedDict\n\
         else:\n    try:\n        \
         # Before CPython 3.12, pydantic takes no other.\n        \
         from typing_extensions import TypedDict\n    \
         except ImportError:\n        from typing import TypedDict\n",
    );
    let names = names().iter().map(|name| format!("    \"{name}\",\n")).collect::<String>();
    out += &format!("\n__all__ = [\n{names}]\n");
    for set in VALUE_SETS {
        out += &value_set(set);
    }
    for record in records() {
        out += &typed_dict(record);
    }
    let classes: Vec<String> = record_names().filter(|name| is_class(name)).collect();
    out + &format!(
        "\n\nif not TYPE_CHECKING:\n    \
         # For pydantic: fields that the service adds, and a caller's own, stay.\n    \
         for _record in (\n        {},\n    ):\n        \
         _record.__pydantic_config__ = {{\"extra\": \"allow\"}}\n",
        classes.join(",\n        ")
    )
}

/// False for the name of a record without declared fields, which is `dict[str, Any]`.
fn is_class(name: &str) -> bool {
    !records().iter().any(|record| record.name == name && record.groups.is_empty())
}

/// What the file defines, sorted.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = VALUE_SETS.iter().map(|set| set.name.to_owned()).collect();
    names.extend(record_names());
    names.sort();
    names
}

/// The names of the records, each after those of the objects within it.
fn record_names() -> impl Iterator<Item = String> {
    records().into_iter().flat_map(|record| {
        let objects = record.fields().filter(|field| matches!(field.kind, Kind::Object(_)));
        let objects: Vec<String> = objects.map(|field| object_name(record, field)).collect();
        objects.into_iter().chain([record.name.to_owned()])
    })
}

/// `docs/api/records.md`, with a section for each record.
pub fn page() -> String {
    const PAGE: &str = include_str!("../../docs/api/records.md");
    let head = PAGE.split("::: ").next().unwrap_or_default();
    let sections = record_names().map(|name| {
        let options = "\n    options: { heading_level: 2, inherited_members: true }";
        format!("::: boardlot.{name}{}\n", if is_class(&name) { options } else { "" })
    });
    head.to_owned() + &sections.collect::<Vec<_>>().join("\n")
}

/// Every record of a row, in the order of the table.
pub fn records() -> Vec<&'static Record> {
    ENDPOINTS
        .iter()
        .filter_map(|endpoint| match &endpoint.response {
            ResponseShape::Rows(_, schema) => Some(schema.records()),
            _ => None,
        })
        .flatten()
        .collect()
}

fn value_set(set: &ValueSet) -> String {
    let texts = set.members.iter().any(|member| matches!(member.value, Value::Text(_)));
    let base = if texts { "str, Enum" } else { "IntEnum" };
    let mut out = format!("\n\nclass {}({base}):\n    \"\"\"{}\"\"\"\n\n", set.name, set.doc);
    for member in set.members {
        let value = match member.value {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => format!("\"{text}\""),
        };
        out += &format!("    {} = {value}\n", member.name);
        if !member.doc.is_empty() {
            out += &format!("    \"\"\"{}\"\"\"\n", member.doc);
        }
    }
    if texts {
        out += "\n    def __str__(self) -> str:\n        return str(self.value)\n";
    }
    out
}

fn typed_dict(record: &Record) -> String {
    let mut out = String::new();
    for field in record.fields() {
        if let Kind::Object(fields) = field.kind {
            out += &class(&object_name(record, field), field.doc, fields.iter());
        }
    }
    out + &class_of(record)
}

fn class_of(record: &Record) -> String {
    if record.groups.is_empty() {
        return format!("\n\n{} = dict[str, Any]\n\"\"\"{}\"\"\"\n", record.name, record.doc);
    }
    let members = |required| {
        let fields = record.fields().filter(move |field| field.required == required);
        fields.map(|field| member(field, &python_type(record, field))).collect::<String>()
    };
    let optional = members(false);
    if optional.is_empty() {
        return header(record.name, "TypedDict", record.doc) + &members(true);
    }
    // A base, not `NotRequired`, which `typing` has from Python 3.11 on.
    let base = format!("_{}Required", record.name);
    let doc = format!("The fields that every `{}` has.", record.name);
    header(&base, "TypedDict", &doc)
        + &members(true)
        + &header(record.name, &format!("{base}, total=False"), record.doc)
        + &optional
}

fn class<'a>(name: &str, doc: &str, fields: impl Iterator<Item = &'a Field>) -> String {
    let mut out = header(name, "TypedDict", &format!("{doc}."));
    for field in fields {
        out += &member(field, "str");
    }
    out
}

fn header(name: &str, bases: &str, doc: &str) -> String {
    format!("\n\nclass {name}({bases}):\n    \"\"\"{doc}\"\"\"\n\n")
}

fn member(field: &Field, python_type: &str) -> String {
    let form = match field.kind {
        Kind::Timestamp(unit, _) => format!("({} since 1970)", unit.symbol()),
        Kind::Decimal if field.unit.is_empty() => "(decimal)".into(),
        Kind::Decimal => format!("(decimal, {})", field.unit),
        Kind::Date => "(date)".into(),
        _ if !field.unit.is_empty() => format!("({})", field.unit),
        _ => String::new(),
    };
    let declared = format!("    {}: {python_type}\n", field.name);
    match format!("{} {form}", field.doc).trim() {
        "" => declared,
        doc => format!("{declared}{}\n", wrapped(&format!("\"\"\"{doc}\"\"\""), 96, "    ")),
    }
}

/// The Python type of a field's value as it is sent.
fn python_type(record: &Record, field: &Field) -> String {
    let sent = match field.kind {
        Kind::Text | Kind::Date | Kind::Decimal => "str".to_owned(),
        Kind::Integer | Kind::IntegerNotZero => "int".to_owned(),
        Kind::Number => "float".to_owned(),
        Kind::Flag => "bool".to_owned(),
        Kind::Timestamp(_, Wire::Integer) => "int".to_owned(),
        Kind::Timestamp(_, Wire::Text) => "str".to_owned(),
        Kind::Object(_) => object_name(record, field),
    };
    if field.nullable { format!("{sent} | None") } else { sent }
}

/// `symbol_pair` of `CryptoOrder` is a `CryptoOrderSymbolPair`.
fn object_name(record: &Record, field: &Field) -> String {
    let camel: String = field
        .name
        .split('_')
        .flat_map(|part| {
            part.chars().take(1).flat_map(char::to_uppercase).chain(part.chars().skip(1))
        })
        .collect();
    format!("{}{camel}", record.name)
}
