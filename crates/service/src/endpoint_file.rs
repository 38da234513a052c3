//! Custom endpoints in a TOML file: a table for each, with the keys of `Endpoint`. An
//! error names the file, the line, the table and the key.

use std::{collections::BTreeMap, ops::Range};

use toml_edit::{Document, Item, TableLike, Value};

use crate::{
    api::{DateRange, Declaration, DeclarationError, Endpoint, Field, Paging, declared_field},
    error::{Error, Result, did_you_mean},
};

const KEYS: [&str; 8] = ["method", "path", "rows", "paging", "record", "arguments", "doc", "name"];
const RANGE_KEYS: [&str; 4] = ["end", "next", "before", "unique"];

/// The endpoints of a file with this content, by their names, and their rows. `file` is its path, for errors.
pub fn parse(file: &str, text: &str) -> Result<BTreeMap<String, (Declaration, Endpoint)>> {
    let source = Source { file, text };
    let document: Document<&str> = Document::parse(text).map_err(|error| {
        source.error(error.span(), format!("is not valid TOML: {}", error.message().trim()))
    })?;
    let mut endpoints = BTreeMap::new();
    for (name, item) in document.iter() {
        let span = document.get_key_value(name).and_then(|(key, _)| key.span());
        let table = Table { source, path: vec![name.to_owned()], span };
        let Some(members) = item.as_table_like() else {
            return Err(table.error(&[], "is not a table; expected [name] and its keys below"));
        };
        endpoints.insert(name.to_owned(), table.endpoint(name, members)?);
    }
    Ok(endpoints)
}

/// The text of a file, to find the lines in.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn error(&self, span: Option<Range<usize>>, what: impl AsRef<str>) -> Error {
        let line = span.map_or(String::new(), |span| {
            let before = self.text.get(..span.start).unwrap_or(self.text);
            format!(", line {}", before.matches('\n').count() + 1)
        });
        Error::config(format!("{}{line}: {}", self.file, what.as_ref()))
    }
}

/// The table of an endpoint, or one in it.
struct Table<'a> {
    source: Source<'a>,
    path: Vec<String>,
    /// Its position in the file, for members that have none of their own.
    span: Option<Range<usize>>,
}

impl Table<'_> {
    fn endpoint(&self, name: &str, members: &dyn TableLike) -> Result<(Declaration, Endpoint)> {
        self.check_keys(members, &KEYS)?;
        let required =
            |key: &str| self.text(members, key)?.ok_or_else(|| self.error(&[key], "is missing"));
        let declaration = Declaration {
            name: self.text(members, "name")?.unwrap_or_else(|| name.to_owned()),
            method: required("method")?,
            path: required("path")?,
            rows: self.text(members, "rows")?,
            paging: self.paging(members)?,
            record: self.record(members)?,
            arguments: self.kinds(members, "arguments")?,
            doc: self.text(members, "doc")?.unwrap_or_default(),
        };
        let endpoint = declaration.endpoint().map_err(|mistake| self.mistake(members, &mistake))?;
        Ok((declaration, endpoint))
    }

    fn record(&self, members: &dyn TableLike) -> Result<Vec<Field>> {
        let fields = self.kinds(members, "record")?.into_iter();
        fields
            .map(|(name, kind)| {
                declared_field(&name, &kind).map_err(|mistake| self.mistake(members, &mistake))
            })
            .collect()
    }

    fn paging(&self, members: &dyn TableLike) -> Result<Option<Paging>> {
        let Some(item) = members.get("paging") else { return Ok(None) };
        if let Some(name) = item.as_str() {
            let mistake = |what| self.mistake(members, &DeclarationError::new(&["paging"], what));
            return Paging::declared(name).map(Some).map_err(mistake);
        }
        let Some(range) = item.as_table_like() else {
            return Err(self.wrong(
                item,
                &["paging"],
                "a string or a table such as { next = \"...\" }",
            ));
        };
        let mut path = self.path.clone();
        path.push("paging".to_owned());
        let table = Table { source: self.source, path, span: item.span().or(self.span.clone()) };
        table.check_keys(range, &RANGE_KEYS)?;
        let text = |key: &str| table.text(range, key);
        let (next, before) = (text("next")?, text("before")?);
        let range = DateRange::declared(text("end")?, next, before, text("unique")?);
        let range = range.map(Paging::DateRange).map(Some);
        range.ok_or_else(|| table.error(&[], "must have exactly one of next and before"))
    }

    /// A table of names and kinds.
    fn kinds(&self, members: &dyn TableLike, key: &str) -> Result<Vec<(String, String)>> {
        let Some(item) = members.get(key) else { return Ok(Vec::new()) };
        let Some(kinds) = item.as_table_like() else {
            return Err(self.wrong(item, &[key], "a table such as { time = \"seconds\" }"));
        };
        kinds
            .iter()
            .map(|(name, kind)| match kind.as_str() {
                Some(text) => Ok((name.to_owned(), text.to_owned())),
                None => {
                    Err(self.wrong(kind, &[key, name], "a kind as a string, such as \"decimal\""))
                }
            })
            .collect()
    }

    /// A string that is not empty.
    fn text(&self, members: &dyn TableLike, key: &str) -> Result<Option<String>> {
        match members.get(key) {
            None => Ok(None),
            Some(item) => match item.as_str() {
                Some("") | None => Err(self.wrong(item, &[key], "a non-empty string")),
                Some(text) => Ok(Some(text.to_owned())),
            },
        }
    }

    fn check_keys(&self, members: &dyn TableLike, known: &[&str]) -> Result<()> {
        for (key, item) in members.iter() {
            if !known.contains(&key) {
                let span = key_span(members, key).or_else(|| item.span());
                let what = format!(
                    "unknown key '{}'; expected {}{}",
                    key.escape_debug(),
                    known.join(", "),
                    did_you_mean(key, known.iter().copied()),
                );
                return Err(self.located(span, &[], &what));
            }
        }
        Ok(())
    }

    /// The error of a value that is not of the expected type.
    fn wrong(&self, item: &Item, key: &[&str], expected: &str) -> Error {
        let shown: String = match item {
            Item::Value(Value::String(_)) => "an empty string".to_owned(),
            other => format!("of type {}", other.type_name()),
        };
        self.located(item.span(), key, &format!("is {shown}; expected {expected}"))
    }

    /// The error of a declaration, at the key that it is about.
    fn mistake(&self, members: &dyn TableLike, mistake: &DeclarationError) -> Error {
        let key: Vec<&str> = mistake.key.iter().map(String::as_str).collect();
        let span = key.split_first().and_then(|(first, rest)| {
            let item = members.get(first);
            let inner = rest.first().and_then(|inner| {
                let inside = item?.as_table_like()?;
                key_span(inside, inner)
            });
            inner.or_else(|| key_span(members, first)).or_else(|| item?.span())
        });
        self.located(span, &key, &mistake.message)
    }

    fn error(&self, key: &[&str], what: &str) -> Error {
        self.located(None, key, what)
    }

    fn located(&self, span: Option<Range<usize>>, key: &[&str], what: &str) -> Error {
        let key = if key.is_empty() { String::new() } else { format!("{} ", key.join(".")) };
        let table = self.path.join(".");
        self.source.error(span.or_else(|| self.span.clone()), format!("[{table}] {key}{what}"))
    }
}

fn key_span(members: &dyn TableLike, key: &str) -> Option<Range<usize>> {
    members.get_key_value(key).and_then(|(key, _)| key.span())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KLINE: &str = "\
# Two lists that the service document names without their paths.
[kline]
method = \"GET\"
path = \"/api/v1.0/quote/{symbol}/history-kline\"
rows = \"data.kline_list\"
paging = { end = \"end\", next = \"extra.next_time\", unique = \"time\" }

[kline.record]
time = \"seconds\"
open = \"decimal\"
";

    fn refused(text: &str) -> String {
        parse("e.toml", text).expect_err("a mistake").to_string()
    }

    #[test]
    fn a_file_has_a_table_for_each_endpoint() {
        let endpoints = parse("e.toml", KLINE).expect("a file");
        let kline = &endpoints["kline"];
        assert_eq!(kline.1.path, "/api/v1.0/quote/{symbol}/history-kline");
        assert_eq!(kline.0.record.len(), 2);
        assert!(parse("e.toml", "").expect("empty").is_empty());
    }

    #[test]
    fn a_mistake_names_the_file_the_line_the_table_and_the_key() {
        for (before, after, expected) in [
            ("\"GET\"", "\"PUT\"", "e.toml, line 3: [kline] method is 'PUT'"),
            (
                "\"GET\"",
                "7",
                "e.toml, line 3: [kline] method is of type integer; expected a non-empty string",
            ),
            ("method = \"GET\"", "", "e.toml, line 2: [kline] method is missing"),
            ("rows =", "row =", "e.toml, line 5: [kline] unknown key 'row'; expected method"),
            ("rows =", "row =", "did you mean 'rows'?"),
            ("\"decimal\"", "\"decimla\"", "e.toml, line 10: [kline] record.open is 'decimla'"),
            ("\"decimal\"", "1", "e.toml, line 10: [kline] record.open is of type integer"),
            ("next =", "nxt =", "e.toml, line 6: [kline.paging] unknown key 'nxt'; expected end"),
            ("next = \"extra.next_time\", ", "", "line 6: [kline.paging] must have exactly one"),
            ("[kline.record]", "[kline.record", "e.toml, line 8: is not valid TOML"),
            ("[kline]", "other = 1\n[kline]", "e.toml, line 2: [other] is not a table"),
            ("\"seconds\"", "\"seconds\"\ntime = \"date\"", "e.toml, line 10: is not valid TOML"),
        ] {
            let text = KLINE.replacen(before, after, 1);
            let message = refused(&text);
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }
}
