//! `docs/openapi.md`: the OpenAPI description for reading, as narrow as a telephone.

use super::openapi::{Node, Object, description};

const HEAD: &str = "# The service over HTTP

What boardlot knows of the service, for clients in any language: [`openapi.json`](openapi.json) is an OpenAPI 3.1
description, from which tools generate clients, types and mocks. `boardlot.openapi()` returns it, `boardlot openapi`
prints it, `boardlot openapi --schema Fill` prints the JSON Schema of a record, and a [sandbox](any-language.md) serves
it at `/openapi.json`. This page is made from it.
";

pub fn text() -> String {
    let whole = description();
    let empty = Object::default();
    let components = member(&whole, "components").unwrap_or(&empty);
    let mut out = format!("{HEAD}\n{}\n", text_of(member(&whole, "info"), "description"));
    out += "\n## Authentication\n";
    for (name, scheme) in objects(member(components, "securitySchemes")) {
        out += &format!("\n### {name}\n\n{}\n", text_of(Some(scheme), "description"));
    }
    out += "\n## Requests\n";
    for (path, item) in objects(member(&whole, "paths")) {
        for (method, operation) in objects(Some(item)) {
            out += &section(path, method, operation);
        }
    }
    out += "\n## Schemas\n";
    for (name, schema) in objects(member(components, "schemas")) {
        out += &format!("\n### {name}\n");
        let about = text_of(Some(schema), "description");
        if !about.is_empty() {
            out += &format!("\n{about}\n");
        }
        if schema.0.contains_key("enum") {
            out += &format!("\nOne of {}.\n", type_of(schema));
        }
        out += &members(schema);
    }
    out
}

fn section(path: &str, method: &str, operation: &Object) -> String {
    let id = text_of(Some(operation), "operationId");
    let mut out = format!("\n### {id}\n\n```http\n{} {path}\n```\n", method.to_uppercase());
    for name in ["summary", "description"] {
        out += &format!("\n{}\n", text_of(Some(operation), name));
    }
    if let Some(Node::List(parameters)) = operation.0.get("parameters") {
        out += "\n| Parameter | Type | |\n|---|---|---|\n";
        for parameter in parameters {
            let Node::Object(parameter) = parameter else { continue };
            let schema = member(parameter, "schema").map(type_of).unwrap_or_default();
            let must = match parameter.0.get("required") {
                Some(Node::Flag(true)) => ", required",
                _ => "",
            };
            out += &format!(
                "| `{}` | {}{must}: {schema} | {} |\n",
                text_of(Some(parameter), "name"),
                text_of(Some(parameter), "in"),
                text_of(Some(parameter), "description"),
            );
        }
    }
    if let Some(body) = member(operation, "requestBody").and_then(|body| member(body, "content")) {
        for (media_type, content) in objects(Some(body)) {
            let schema = member(content, "schema").map(type_of).unwrap_or_default();
            out += &format!("\nBody: `{media_type}`, {schema}.\n");
        }
    }
    let success = member(operation, "responses").and_then(|responses| member(responses, "2XX"));
    let content = success.and_then(|success| member(success, "content"));
    for (media_type, content) in objects(content) {
        let schema = member(content, "schema").map(type_of).unwrap_or_default();
        out += &format!("\nResponse: `{media_type}`, {schema}.\n");
    }
    out
}

/// The members of an object schema, and of those within it.
fn members(schema: &Object) -> String {
    let Some(properties) = member(schema, "properties") else { return String::new() };
    let mut out = "\n| Member | Type | |\n|---|---|---|\n".to_owned();
    add_members(&mut out, "", properties);
    out
}

fn add_members(out: &mut String, prefix: &str, properties: &Object) {
    for (name, property) in objects(Some(properties)) {
        let unit = text_of(Some(property), "x-unit");
        let kind = text_of(Some(property), "x-kind");
        let about = text_of(Some(property), "description");
        let about = match unit.is_empty() {
            true => about.to_owned(),
            false => format!("{about} ({unit})"),
        };
        let kind = if kind.is_empty() { String::new() } else { format!(" ({kind})") };
        *out += &format!("| `{prefix}{name}` | {}{kind} | {} |\n", type_of(property), about.trim());
        if let Some(inner) = member(property, "properties") {
            add_members(out, &format!("{prefix}{name}."), inner);
        }
    }
}

/// A schema in a few words, with links to others.
fn type_of(schema: &Object) -> String {
    if let Some(Node::Text(target)) = schema.0.get("$ref") {
        let name = target.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(Node::List(items)) = schema.0.get(name) {
            return items
                .iter()
                .filter_map(as_object)
                .map(type_of)
                .collect::<Vec<_>>()
                .join(" or ");
        }
    }
    if let Some(Node::List(values)) = schema.0.get("enum") {
        return values
            .iter()
            .map(|value| format!("`{}`", word(value)))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(value) = schema.0.get("const") {
        return format!("`{}`", word(value));
    }
    let kind = match schema.0.get("type") {
        Some(Node::List(kinds)) => kinds.iter().map(word).collect::<Vec<_>>().join(" or "),
        Some(kind) => word(kind),
        None => "anything".to_owned(),
    };
    let mut out = match member(schema, "items") {
        Some(items) => format!("{kind} of {}", type_of(items)),
        None => kind,
    };
    if member(schema, "not").is_some() {
        out += " other than 0";
    }
    for (name, words) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("maxLength", "length at most"),
        ("default", "default"),
    ] {
        // The bounds of a uint64 are in its name.
        let is_uint64 = text_of(Some(schema), "format") == "uint64" && name != "default";
        if let (Some(value), false) = (schema.0.get(name), is_uint64) {
            out += &format!(", {words} {}", word(value));
        }
    }
    match text_of(Some(schema), "format") {
        "" => out,
        format => format!("{out} ({format})"),
    }
}

fn word(value: &Node) -> String {
    match value {
        Node::Text(text) => text.clone(),
        Node::Number(number) => number.to_string(),
        Node::Flag(flag) => flag.to_string(),
        Node::List(_) | Node::Object(_) => String::new(),
    }
}

fn member<'a>(object: &'a Object, name: &str) -> Option<&'a Object> {
    object.0.get(name).and_then(as_object)
}

fn as_object(node: &Node) -> Option<&Object> {
    match node {
        Node::Object(object) => Some(object),
        _ => None,
    }
}

fn objects(object: Option<&Object>) -> impl Iterator<Item = (&str, &Object)> {
    let members = object.into_iter().flat_map(|object| &object.0);
    members.filter_map(|(name, node)| Some((name.as_str(), as_object(node)?)))
}

fn text_of<'a>(object: Option<&'a Object>, name: &str) -> &'a str {
    match object.and_then(|object| object.0.get(name)) {
        Some(Node::Text(text)) => text,
        _ => "",
    }
}
