//! Custom endpoints in a TOML file: one table for each, with the keys of [`Declaration`]. An error
//! names the file, the line, the table and the key.

use std::{collections::BTreeMap, ops::Range};

use indexmap::IndexMap;
use serde::Deserialize;
use toml_edit::Document;

use crate::{
    api::{DateRange, Declaration, DeclarationError, Endpoint, Paging, declared_field},
    error::{Error, Result},
};

/// The table of an endpoint.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: Option<String>,
    method: String,
    path: String,
    rows: Option<String>,
    paging: Option<TablePaging>,
    #[serde(default)]
    record: IndexMap<String, String>,
    #[serde(default)]
    arguments: IndexMap<String, String>,
    #[serde(default)]
    doc: String,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a string, or a table of `end`, `unique` and one of `next` and `before`"
)]
enum TablePaging {
    Cursor(String),
    DateRange {
        end: Option<String>,
        next: Option<String>,
        before: Option<String>,
        unique: Option<String>,
    },
}

/// Returns the endpoints of a file with this content, by their names, with their rows. `file` is
/// its path, for errors.
pub fn parse(file: &str, text: &str) -> Result<BTreeMap<String, (Declaration, Endpoint)>> {
    let error = |span: Option<Range<usize>>, what: &str| {
        let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Error::config(format!("{file}, line {line}: {what}"))
    };
    let tables: BTreeMap<String, Table> =
        toml_edit::de::from_str(text).map_err(|mut mistake| {
            // The error is then shown with the names of its table and key.
            mistake.set_input(None);
            let what = mistake.to_string().trim_end().replace('\n', " ");
            let start = mistake.span().map_or(0, |span| span.start);
            let (before, after) = text.split_at_checked(start).unwrap_or_default();
            let is_within = ["[endpoints.", "[endpoint."].iter().any(|it| before.ends_with(it));
            let name = after.split(']').next().filter(|_| is_within);
            let advice = name.map_or(String::new(), |name| format!("; write [{name}] alone"));
            error(mistake.span(), &format!("{what}{advice}"))
        })?;
    let declared = tables.into_iter().map(|(name, table)| match table.declared(&name) {
        Ok(declared) => Ok((name, declared)),
        Err(mistake) => {
            let what = format!("[{name}] {} {}", mistake.place(), mistake.message);
            Err(error(span_of(text, &name, &mistake.key), &what))
        }
    });
    declared.collect()
}

/// Returns the position of a key, or of the table that lacks it.
fn span_of(text: &str, table: &str, key: &[String]) -> Option<Range<usize>> {
    let document = Document::parse(text).ok()?;
    let table = document.get(table)?;
    key.iter().try_fold(table, |item, name| item.get(name)).unwrap_or(table).span()
}

impl Table {
    fn declared(self, name: &str) -> Result<(Declaration, Endpoint), DeclarationError> {
        let wrong_paging = |what: String| DeclarationError::new(&["paging"], what);
        let declaration = Declaration {
            name: self.name.unwrap_or_else(|| name.to_owned()),
            method: self.method,
            path: self.path,
            rows: self.rows,
            paging: match self.paging {
                None => None,
                Some(TablePaging::Cursor(name)) => {
                    Some(Paging::declared(&name).map_err(wrong_paging)?)
                }
                Some(TablePaging::DateRange { end, next, before, unique }) => {
                    let range = DateRange::declared(end, next, before, unique);
                    Some(Paging::DateRange(range.map_err(|what| wrong_paging(what.to_owned()))?))
                }
            },
            record: (self.record.iter().map(|(name, kind)| declared_field(name, kind)))
                .collect::<Result<_, _>>()?,
            arguments: self.arguments.into_iter().collect(),
            doc: self.doc,
        };
        let endpoint = declaration.endpoint()?;
        Ok((declaration, endpoint))
    }
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
            ("\"GET\"", "7", "e.toml, line 3: invalid type: integer"),
            ("\"GET\"", "7", "expected a string in `kline.method`"),
            ("method = \"GET\"", "", "e.toml, line 2: missing field `method` in `kline`"),
            ("rows =", "row =", "e.toml, line 5: unknown field `row`, expected one of"),
            ("\"decimal\"", "\"decimla\"", "e.toml, line 10: [kline] record.open is 'decimla'"),
            ("\"decimal\"", "1", "e.toml, line 10: invalid type: integer"),
            ("\"decimal\"", "1", "in `kline.record.open`"),
            ("next =", "nxt =", "e.toml, line 6: expected a string, or a table of `end`"),
            ("next =", "nxt =", "in `kline.paging`"),
            ("next = \"extra.next_time\", ", "", "line 6: [kline] paging takes exactly one"),
            ("[kline.record]", "[kline.record", "e.toml, line 8: "),
            ("[kline]", "[endpoints.kline]", "in `endpoints`; write [kline] alone"),
            ("[kline]", "other = 1\n[kline]", "e.toml, line 2: invalid type: integer `1`"),
            ("\"seconds\"", "\"seconds\"\ntime = \"date\"", "e.toml, line 10: duplicate key"),
        ] {
            let text = KLINE.replacen(before, after, 1);
            let message = refused(&text);
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }
}
