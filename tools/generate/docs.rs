//! `docs/endpoints.md`: the table of endpoints for reading.

use boardlot_client::extension::api::{
    ENDPOINTS, Endpoint, Envelope, FORMS, Field, Form, Member, OAUTH_ENDPOINTS, Of, Outcome,
    Paging, Parameter, ParameterKind, ParameterLocation, Record, RecordsLocation, ResponseShape,
    VALUE_SETS, Value,
};

use super::methods::{METHODS, notes};

pub fn text() -> String {
    let mut out = String::from(
        "# Endpoints\n\n\
         Every request that boardlot sends, with its parameters, documented errors and fields. Sections are those \
         of\nthe service's documentation. [OpenAPI](openapi.md) has the same for clients in any language.\n\n\
         | Method of the client | Request | Success | Records | Pages | Section |\n|---|---|---|---|---|---|\n",
    );
    for endpoint in ENDPOINTS {
        out += &format!(
            "| [`{0}`](#{0}) | `{1} {2}` | {3} | {4} | {5} | {6} |\n",
            endpoint.name,
            endpoint.method.as_str(),
            endpoint.path,
            envelope(endpoint.envelope),
            records(&endpoint.response),
            paging(endpoint.paging.as_ref()),
            endpoint.section
        );
    }
    out += "\nLogging in uses:\n\n| Request | What it does | Section |\n|---|---|---|\n";
    for endpoint in OAUTH_ENDPOINTS {
        out += &format!(
            "| [`{} {}`](#{}) | {} | {} |\n",
            endpoint.method.as_str(),
            endpoint.path,
            endpoint.name,
            endpoint.summary,
            endpoint.section
        );
    }
    for endpoint in ENDPOINTS.iter().chain(OAUTH_ENDPOINTS) {
        out += &section(endpoint);
    }
    out += "\n## Sets of values\n\n| Set | Values | Section |\n|---|---|---|\n";
    for set in VALUE_SETS {
        let values: Vec<String> = set.members.iter().map(value).collect();
        out += &format!("| `{}` | {} | {} |\n", set.name, values.join(", "), set.section);
    }
    out
}

/// The location of an endpoint's records in its response.
pub fn records(response: &ResponseShape) -> String {
    match response {
        ResponseShape::Rows(RecordsLocation::At(path), _) => format!("`{path}`"),
        ResponseShape::Rows(RecordsLocation::OnlyListOf(name), _) => format!("in `{name}`"),
        ResponseShape::Rows(RecordsLocation::OnlyList, _) => "not shown".to_owned(),
        ResponseShape::ServerTime(_) | ResponseShape::Object(_) | ResponseShape::Page => {
            String::new()
        }
    }
}

/// One of a set of values, with its meaning if the documentation has one.
pub fn value(member: &Member) -> String {
    let value = match member.value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.to_owned(),
    };
    match member.doc {
        "" => format!("`{value}`"),
        doc => format!("`{value}` {doc}"),
    }
}

/// `docs/service.md`, with a row for each method of the client.
pub fn service() -> String {
    let rows = ENDPOINTS.iter().map(|endpoint| {
        let summary = endpoint.summary.trim_end_matches('.');
        format!("| {summary} | [`{0}`][boardlot.Client.{0}] |\n", endpoint.name)
    });
    let page = include_str!("../../docs/service.md");
    replaced(page, "| Data | Method |\n|---|---|\n", &rows.collect::<String>(), "")
}

/// `docs/responses.md`, with a row for each form of a response.
pub fn responses() -> String {
    let page = include_str!("../../docs/responses.md");
    let head =
        "| Response to | HTTP | Body | Is | The service's documentation |\n|---|---|---|---|---|\n";
    replaced(page, head, &FORMS.iter().map(form).collect::<String>(), "")
}

/// A row of the table of forms.
fn form(form: &Form) -> String {
    let of = match form.of {
        Of::Named(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        }
        Of::Lists => "all that read one response".to_owned(),
        Of::Records => "all that return records".to_owned(),
    };
    let body = match form.body {
        "" => "empty".to_owned(),
        body => format!("`{body}`"),
    };
    let is = match form.is {
        Outcome::Success(0) => "a success".to_owned(),
        Outcome::Success(count) => format!("a success: {count} record"),
        Outcome::Error(class) => format!("`{class}`"),
    };
    format!("| {of} | {} | {body} | {is} | {} |\n", form.status, form.source)
}

/// `docs/command-line.md`, with an example of each command.
pub fn command_line() -> String {
    let examples = METHODS.iter().filter_map(|method| method.command_lines.first());
    let lines = examples.map(|line| format!("{line}\n")).collect::<String>();
    let page = include_str!("../../docs/command-line.md");
    replaced(page, "## Data\n\n```sh\n", &lines, "boardlot --profile live request")
}

/// A page with other lines after this head, up to a line that begins with `end` or is empty.
fn replaced(page: &str, head: &str, lines: &str, end: &str) -> String {
    let (before, rest) = page.split_once(head).unwrap_or((page, ""));
    let is_end = |line: &str| line.is_empty() || (!end.is_empty() && line.starts_with(end));
    let old: usize = rest.lines().take_while(|line| !is_end(line)).map(|line| line.len() + 1).sum();
    [before, head, lines, rest.get(old..).unwrap_or_default()].concat()
}

fn section(endpoint: &Endpoint) -> String {
    let mut out = format!("\n## {}\n\n{}\n", endpoint.name, endpoint.summary);
    let notes = notes(endpoint);
    if !notes.is_empty() {
        out += &format!("\n{notes}\n");
    }
    if !endpoint.parameters.is_empty() {
        out += "\n| Parameter | In | Allowed | |\n|---|---|---|---|\n";
        for parameter in endpoint.parameters.iter() {
            out += &format!(
                "| `{}` | {}{} | {} | {} |\n",
                parameter.name,
                place(parameter.place),
                if parameter.required { ", required" } else { "" },
                allowed(parameter),
                parameter.doc
            );
        }
    }
    if !endpoint.failures.is_empty() {
        out += "\n| Code | error.code | Condition | Handling |\n|---|---|---|---|\n";
        for failure in endpoint.failures {
            let name = match failure.error_code {
                "" => String::new(),
                name => format!("`{name}`"),
            };
            let (condition, handling) = (failure.condition, failure.handling);
            out += &format!("| {} | {name} | {condition} | {handling} |\n", failure.code);
        }
    }
    match &endpoint.response {
        ResponseShape::Rows(_, schema) => {
            for record in schema.records() {
                out += &fields(record);
            }
        }
        ResponseShape::Object(record) => out += &fields(record),
        ResponseShape::ServerTime(_) | ResponseShape::Page => {}
    }
    out
}

fn fields(record: &Record) -> String {
    let mut out = format!("\n### {}\n\n{} Section {}.\n", record.name, record.doc, record.section);
    if record.groups.is_empty() {
        return out;
    }
    out += "\n| Field | Kind | |\n|---|---|---|\n";
    for field in record.fields() {
        out += &format!("| `{}` | {} | {} |\n", field.name, kind(field), field.doc);
    }
    out
}

/// The kind of a field, with its unit or its set of values.
fn kind(field: &Field) -> String {
    let name = field.kind.name();
    match (field.values, field.unit_name()) {
        (Some(set), _) => format!("{name}: [`{}`](#sets-of-values)", set.name),
        (None, "") => name.to_owned(),
        (None, unit) => format!("{name} ({unit})"),
    }
}

pub fn envelope(envelope: Envelope) -> String {
    match envelope {
        Envelope::RetCode => "`ret_code: 0`".into(),
        Envelope::Code => "`code: 0`".into(),
        Envelope::Status => "`s: \"ok\"`".into(),
        Envelope::Field(name) => format!("none; `{name}`"),
        Envelope::Undocumented | Envelope::Unknown => "not shown".into(),
    }
}

pub fn paging(paging: Option<&Paging>) -> String {
    match paging {
        None => String::new(),
        Some(Paging::Cursor(cursor)) => format!("`{}`", cursor.name),
        Some(Paging::DateRange(_)) => "date range".to_owned(),
    }
}

fn place(place: ParameterLocation) -> &'static str {
    match place {
        ParameterLocation::Path => "path",
        ParameterLocation::Query => "query",
        ParameterLocation::Body => "JSON body",
        ParameterLocation::Form => "form",
    }
}

pub fn allowed(parameter: &Parameter) -> String {
    match parameter.kind {
        ParameterKind::Symbol { max: Some(max) } => {
            format!("`{{market}}.{{code}}`, at most {max} characters")
        }
        ParameterKind::Symbol { max: None } => "`{market}.{code}`".into(),
        ParameterKind::Market => "a market prefix".into(),
        ParameterKind::PlateCode => "`{market}.BK<digits>`".into(),
        ParameterKind::OneOf(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        ParameterKind::ValuesBy { sets, .. } => {
            let mut names: Vec<&str> = sets.iter().map(|(_, set)| set.name).collect();
            names.dedup();
            names.sort_unstable();
            names.dedup();
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        }
        ParameterKind::AccountNumber => "uint64".into(),
        ParameterKind::AccountId => "1 to 64 letters, digits, `_`, `-`".into(),
        ParameterKind::Integer { min, max } if max >= i128::from(i32::MAX) => {
            if min == 1 {
                "a positive whole number".into()
            } else {
                "a whole number".into()
            }
        }
        ParameterKind::Integer { min, max } => format!("{min} to {max}"),
        ParameterKind::Date => "`yyyy-MM-dd`".into(),
        ParameterKind::Time(unit) => format!("{} since 1970, or 0", unit.name()),
        ParameterKind::Text | ParameterKind::FreeText | ParameterKind::Segment => "text".into(),
        ParameterKind::Number | ParameterKind::Decimal => "a number".into(),
        ParameterKind::Flag => "true or false".into(),
        ParameterKind::Json => "an object or list".into(),
        // The form of a token is an internal detail.
        ParameterKind::Secret => "text".into(),
        ParameterKind::TextList => "list of texts".into(),
        ParameterKind::Cursor => "opaque".into(),
    }
}
