//! Writes what is derived from the tables of endpoints and of their methods: the Python classes with their signatures
//! and docstrings, the table of commands, the hints of the exception classes, the TypedDicts and enums,
//! in the docs the page of endpoints and the lists of methods, commands and records, and the endpoints in the
//! documentation of the Rust crate.
//!
//! `make generate` runs it; a test fails if a file is stale.

mod client_options;
mod docs;
mod methods;
mod openapi;
mod openapi_page;
mod python_api;
mod python_common;
mod python_endpoints;
mod python_hints;
mod python_records;
mod python_text;
mod rust_docs;

use std::{fs, io, path::Path};

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Every generated file with its contents.
pub fn files() -> Vec<(String, String)> {
    let files = [
        ("python/boardlot/_api.py", python_api::text()),
        ("python/boardlot/_endpoints.py", python_endpoints::text()),
        ("python/boardlot/_hints.py", python_hints::text()),
        ("python/boardlot/_records.py", python_records::text()),
        ("crates/client/src/endpoints.rs", rust_docs::module()),
        ("docs/api/records.md", python_records::page()),
        ("docs/command-line.md", docs::command_line()),
        ("docs/endpoints.md", docs::text()),
        // Within the crate, which can be packaged.
        ("crates/sandbox/openapi.json", openapi::text()),
        ("docs/openapi.json", openapi::text()),
        ("docs/openapi.md", openapi_page::text()),
        ("docs/responses.md", docs::responses()),
        ("docs/service.md", docs::service()),
    ];
    let files = files.into_iter().map(|(path, text)| (path.to_owned(), text));
    files.chain(rust_docs::pages()).collect()
}

fn main() -> io::Result<()> {
    for (path, text) in files() {
        let path = Path::new(ROOT).join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// A text broken into lines of at most `width` characters, each behind `indent`.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_generated_file_is_stale() {
        for (path, text) in files() {
            let there = fs::read_to_string(Path::new(ROOT).join(&path)).unwrap_or_default();
            assert!(there == text, "{path} is stale: run `make generate`");
        }
    }
}
