//! Endpoints that a user declares: checks a declaration, and converts it to a row of the table.

use std::{borrow::Cow, sync::Arc};

use super::{
    endpoint::{Endpoint, Method},
    paging::{DateRange, NextEnd, Paging},
    parameter::{Parameter, ParameterKind, ParameterLocation},
    record::{Field, Kind, Schema, TimeUnit, Wire},
    response::{RecordsLocation, ResponseShape},
};
use crate::error::did_you_mean;

/// The kinds of fields and arguments, as a user writes them.
const KINDS: [&str; 11] = [
    "text", "integer", "number", "flag", "decimal", "percent", "seconds", "millis", "micros",
    "date", "object",
];
/// The only kind that is just for arguments.
const SYMBOL: &str = "symbol";
const PATH_MAX_BYTES: usize = 1024;

/// An endpoint as a user declares it.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// Name of the endpoint, in errors and checkpoints.
    pub name: String,
    /// `GET` or `POST`.
    pub method: String,
    /// The path below the base URL; `{name}` stands for an argument.
    pub path: String,
    /// The location of the records in a response, separated by dots; by default the only list in
    /// `data`.
    pub rows: Option<String>,
    /// The paging of a list.
    pub paging: Option<Paging>,
    /// The fields of the records; by default columns are inferred.
    pub record: Vec<Field>,
    /// Kinds of arguments, by the arguments' names.
    pub arguments: Vec<(String, String)>,
    /// Description of the endpoint, in the user's words.
    pub doc: String,
}

/// An invalid declaration.
#[derive(Debug)]
pub struct DeclarationError {
    /// The key with the mistake, such as `["record", "time"]`.
    pub key: Vec<String>,
    /// The problem, and what is expected.
    pub message: String,
}

impl DeclarationError {
    /// Creates the error for a mistake in a key.
    pub fn new(key: &[&str], message: impl Into<String>) -> Self {
        DeclarationError {
            key: key.iter().map(|&part| part.to_owned()).collect(),
            message: message.into(),
        }
    }

    /// Returns the key, joined by dots.
    pub fn place(&self) -> String {
        self.key.join(".")
    }
}

impl Declaration {
    /// Returns the row of the endpoint.
    pub fn endpoint(&self) -> Result<Endpoint, DeclarationError> {
        check_name("name", &self.name)?;
        let method = self.checked_method()?;
        let rest = match method {
            Method::Get => ParameterLocation::Query,
            Method::Post => ParameterLocation::Body,
        };
        let response = ResponseShape::Rows(self.rows_place()?, self.schema()?);
        if let Some(Paging::DateRange(range)) = &self.paging {
            self.check_dates(range)?;
        }
        let names = path_names(&self.path)?;
        let endpoint = Endpoint {
            name: Cow::Owned(self.name.clone()),
            method,
            path: Cow::Owned(self.path.clone()),
            parameters: Cow::Owned(self.parameters(&names, rest, self.paging.is_some())?),
            undeclared: Some(rest),
            response,
            // A request for a list changes nothing at the service.
            idempotent: method == Method::Get || self.paging.is_some(),
            paging: self.paging.clone(),
            ..Endpoint::BASE
        };
        match endpoint.undeclared_cursor().filter(|cursor| names.contains(cursor)) {
            Some(cursor) => {
                let message = format!("has {{{cursor}}}, which the pager sets; remove it");
                Err(DeclarationError::new(&["path"], message))
            }
            None => Ok(endpoint),
        }
    }

    fn checked_method(&self) -> Result<Method, DeclarationError> {
        match self.method.to_ascii_uppercase().as_str() {
            "GET" => Ok(Method::Get),
            "POST" => Ok(Method::Post),
            _ => Err(DeclarationError::new(
                &["method"],
                format!("is '{}'; expected 'GET' or 'POST'", self.method.escape_debug()),
            )),
        }
    }

    fn rows_place(&self) -> Result<RecordsLocation, DeclarationError> {
        let Some(rows) = &self.rows else { return Ok(RecordsLocation::OnlyListOf("data")) };
        if rows.split('.').any(str::is_empty) {
            let message = format!(
                "is '{}'; expected the names that lead to the list, such as 'data.list'",
                rows.escape_debug()
            );
            return Err(DeclarationError::new(&["rows"], message));
        }
        check_no_nul(&["rows"], rows)?;
        Ok(RecordsLocation::At(Cow::Owned(rows.clone())))
    }

    fn schema(&self) -> Result<Schema, DeclarationError> {
        for (index, field) in self.record.iter().enumerate() {
            if self.record.iter().take(index).any(|known| known.name == field.name) {
                return Err(DeclarationError::new(&["record", &field.name], "is declared twice"));
            }
        }
        Ok(Schema::Fields(Arc::from(self.record.as_slice())))
    }

    /// Checks the names of a range, and that the field `before` can have dates: only the day before
    /// a date is known to be what such a service means.
    fn check_dates(&self, range: &DateRange) -> Result<(), DeclarationError> {
        let name = match &range.next {
            NextEnd::At(path) => &path.join("."),
            NextEnd::DayBefore(field) => field,
        };
        for name in [Some(&range.end), Some(name), range.unique.as_ref()].into_iter().flatten() {
            check_no_nul(&["paging"], name)?;
        }
        let NextEnd::DayBefore(name) = &range.next else { return Ok(()) };
        let field = self.record.iter().find(|field| field.name == name.as_str());
        match field.map(|field| &field.kind) {
            None | Some(Kind::Date | Kind::Text) => Ok(()),
            Some(_) => Err(DeclarationError::new(
                &["paging"],
                format!(
                    "has before '{}', which is not a date; expected a 'date' field, or next instead",
                    name.escape_debug()
                ),
            )),
        }
    }

    fn parameters(
        &self,
        path_names: &[&str],
        rest: ParameterLocation,
        is_paged: bool,
    ) -> Result<Vec<Parameter>, DeclarationError> {
        let mut parameters = Vec::with_capacity(path_names.len() + self.arguments.len());
        for &name in path_names {
            let declared = self.arguments.iter().find(|(known, _)| known == name);
            let kind = match declared {
                Some((_, kind)) => path_kind(name, kind)?,
                None => ParameterKind::Segment,
            };
            parameters.push(parameter(name, ParameterLocation::Path, kind, true));
        }
        for (index, (name, kind)) in self.arguments.iter().enumerate() {
            check_argument_name("arguments", name)?;
            if self.arguments.iter().take(index).any(|(known, _)| known == name) {
                return Err(DeclarationError::new(&["arguments", name], "is declared twice"));
            }
            if !path_names.contains(&name.as_str()) {
                parameters.push(parameter(name, rest, argument_kind(name, kind, rest)?, false));
            }
        }
        if is_paged && let Some(reserved) = parameters.iter().find(|p| p.name == "resume") {
            let message = format!("{} is an argument of `pages` itself; rename it", reserved.name);
            return Err(DeclarationError::new(&["arguments"], message));
        }
        Ok(parameters)
    }
}

/// Refuses a name with U+0000, which no column can have.
fn check_no_nul(key: &[&str], name: &str) -> Result<(), DeclarationError> {
    match name.contains('\0') {
        true => Err(DeclarationError::new(
            key,
            format!("has the name '{}'; expected one without U+0000", name.escape_debug()),
        )),
        false => Ok(()),
    }
}

/// Creates a field of a record, by the name of its kind.
pub fn declared_field(name: &str, kind: &str) -> Result<Field, DeclarationError> {
    if name.is_empty() {
        return Err(DeclarationError::new(&["record"], "has a field without a name"));
    }
    check_no_nul(&["record", name], name)?;
    let (kind, unit) = match kind {
        "text" => (Kind::Text, ""),
        "integer" => (Kind::Integer, ""),
        "number" => (Kind::Number, ""),
        "flag" => (Kind::Flag, ""),
        "decimal" => (Kind::Decimal, ""),
        "percent" => (Kind::Number, "%"),
        "seconds" => (Kind::Timestamp(TimeUnit::Seconds, Wire::Integer), ""),
        "millis" => (Kind::Timestamp(TimeUnit::Millis, Wire::Integer), ""),
        "micros" => (Kind::Timestamp(TimeUnit::Micros, Wire::Integer), ""),
        "date" => (Kind::Date, ""),
        "object" => (Kind::Object(&[]), ""),
        other => return Err(unknown_kind(&["record", name], other, &KINDS)),
    };
    let name = Cow::Owned(name.to_owned());
    // The fields that the service always sends are not known.
    Ok(Field { name, kind, unit, values: None, required: false, nullable: true, doc: "" })
}

fn parameter(
    name: &str,
    place: ParameterLocation,
    kind: ParameterKind,
    required: bool,
) -> Parameter {
    Parameter { name: Cow::Owned(name.to_owned()), place, kind, required, doc: "" }
}

fn argument_kind(
    name: &str,
    kind: &str,
    place: ParameterLocation,
) -> Result<ParameterKind, DeclarationError> {
    Ok(match kind {
        "text" => ParameterKind::FreeText,
        "integer" => ParameterKind::Integer { min: i64::MIN as i128, max: u64::MAX as i128 },
        "number" | "percent" => ParameterKind::Number,
        "flag" => ParameterKind::Flag,
        "decimal" => ParameterKind::Decimal,
        "seconds" => ParameterKind::Time(TimeUnit::Seconds),
        "millis" => ParameterKind::Time(TimeUnit::Millis),
        "micros" => ParameterKind::Time(TimeUnit::Micros),
        "date" => ParameterKind::Date,
        SYMBOL => ParameterKind::Symbol { max: None },
        "object" if place == ParameterLocation::Body => ParameterKind::Json,
        "object" => {
            let message = "is 'object'; expected another kind: only the body of a POST has objects";
            return Err(DeclarationError::new(&["arguments", name], message));
        }
        other => {
            let known: Vec<&str> = KINDS.into_iter().chain([SYMBOL]).collect();
            return Err(unknown_kind(&["arguments", name], other, &known));
        }
    })
}

/// Parses the kind of a parameter that is a segment of the path.
fn path_kind(name: &str, kind: &str) -> Result<ParameterKind, DeclarationError> {
    match argument_kind(name, kind, ParameterLocation::Path)? {
        ParameterKind::FreeText => Ok(ParameterKind::Segment),
        ParameterKind::Integer { .. } => {
            Ok(ParameterKind::Integer { min: 0, max: u64::MAX as i128 })
        }
        kind @ (ParameterKind::Symbol { .. } | ParameterKind::Date | ParameterKind::Time(_)) => {
            Ok(kind)
        }
        _ => {
            let message = format!(
                "is '{kind}'; expected 'text', 'symbol', 'integer', 'date', 'seconds', 'millis' or \
                 'micros' for an argument in the path"
            );
            Err(DeclarationError::new(&["arguments", name], message))
        }
    }
}

fn unknown_kind(key: &[&str], kind: &str, known: &[&str]) -> DeclarationError {
    let message = format!("is '{}'; expected {}", kind.escape_debug(), one_of(kind, known));
    DeclarationError::new(key, message)
}

/// Lists the kinds of a field, and suggests the one that was meant by a word or by the name of a
/// Python type.
pub fn kinds_for(word: &str) -> String {
    one_of(word, &KINDS)
}

fn one_of(word: &str, known: &[&str]) -> String {
    let nearest = match word {
        "str" => "; did you mean 'text'?".to_owned(),
        "int" => "; did you mean 'integer'?".to_owned(),
        "float" => "; did you mean 'number', or 'decimal' for a text?".to_owned(),
        "bool" => "; did you mean 'flag'?".to_owned(),
        "datetime" => "; did you mean 'seconds', 'millis' or 'micros'?".to_owned(),
        "dict" => "; did you mean 'object'?".to_owned(),
        word => did_you_mean(word, known.iter().copied()),
    };
    format!("one of {}{nearest}", known.join(", "))
}

/// Returns the names in the path. The error tells what is wrong with it.
fn path_names(path: &str) -> Result<Vec<&str>, DeclarationError> {
    let wrong = |what: &str| {
        let message = format!(
            "is '{}', {what}; expected a path such as '/api/v1.0/quote/{{symbol}}/history-kline'",
            path.escape_debug()
        );
        DeclarationError::new(&["path"], message)
    };
    let Some(inside) = path.strip_prefix('/') else {
        return Err(wrong("which does not begin with /"));
    };
    if path.len() > PATH_MAX_BYTES {
        return Err(DeclarationError::new(
            &["path"],
            format!("is longer than {PATH_MAX_BYTES} bytes"),
        ));
    }
    let mut names = Vec::new();
    for segment in inside.split('/') {
        if let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            check_argument_name("path", name)?;
            if names.contains(&name) {
                return Err(wrong(&format!("which has {{{name}}} twice")));
            }
            names.push(name);
            continue;
        }
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
        if segment.is_empty() {
            return Err(wrong("which has an empty segment"));
        }
        if let Some(name) = segment.strip_prefix(':') {
            let shown = name.escape_debug();
            return Err(wrong(&format!(
                "whose segment ':{shown}' would be sent as it is; write {{{shown}}}"
            )));
        }
        if matches!(segment, "." | "..") || !segment.bytes().all(is_plain) {
            let shown = segment.escape_debug();
            return Err(wrong(&format!("whose segment '{shown}' is neither plain nor {{name}}")));
        }
    }
    Ok(names)
}

fn check_name(key: &str, name: &str) -> Result<(), DeclarationError> {
    if is_valid_name(&name.replace('-', "_")) {
        return Ok(());
    }
    let message = format!(
        "is '{}'; expected 1 to 64 letters, digits, _ or -, not starting with a digit",
        name.chars().take(64).collect::<String>().escape_debug()
    );
    Err(DeclarationError::new(&[key], message))
}

/// Checks the name of an argument: callers pass it by name, so it has to be an identifier in most
/// languages.
fn check_argument_name(key: &str, name: &str) -> Result<(), DeclarationError> {
    if is_valid_name(name) {
        return Ok(());
    }
    let message = format!(
        "has the argument '{}'; expected 1 to 64 letters, digits or _, not starting with a digit",
        name.chars().take(64).collect::<String>().escape_debug()
    );
    Err(DeclarationError::new(&[key], message))
}

/// Returns true if a name is 1 to 64 ASCII letters, digits or underscores, not starting with a
/// digit.
fn is_valid_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests;
