//! `docs/openapi.md`: the service in words, for clients in any language; `docs/endpoints.md` has its requests.

use super::openapi::{Node, Object, description};

const HEAD: &str = "# The service over HTTP

[`openapi.json`](openapi.json) describes the service in OpenAPI 3.1, from which tools generate clients, types and mocks
in any language. [Endpoints](endpoints.md) has every request and field on one page. To print the description, and the
JSON Schema of a record:

```sh
boardlot openapi > openapi.json
boardlot openapi --schema Fill
```

In Python, `boardlot.openapi()` returns the description. A [sandbox](any-language.md) serves it at `/openapi.json`.

## Conventions
";

pub fn text() -> String {
    let whole = description();
    let mut out = format!("{HEAD}\n{}\n", text_of(member(&whole, "info")));
    out += "\n## Authentication\n";
    let components = member(&whole, "components");
    let schemes = components.and_then(|components| member(components, "securitySchemes"));
    for (name, node) in schemes.into_iter().flat_map(|schemes| &schemes.0) {
        out += &format!("\n### {name}\n\n{}\n", text_of(as_object(node)));
    }
    out
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

/// The description of an object.
fn text_of(object: Option<&Object>) -> &str {
    match object.and_then(|object| object.0.get("description")) {
        Some(Node::Text(text)) => text,
        _ => "",
    }
}
