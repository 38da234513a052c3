//! The imports of each source file.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A path that a file names, such as `super::plan::Cursor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub path: Vec<String>,
    /// The name that it gets by `as`.
    pub alias: Option<String>,
    /// True if it is re-exported by `pub use`.
    pub public: bool,
}

impl Import {
    /// The name in the importing file.
    pub fn name(&self) -> &str {
        let last = self.path.last().map(String::as_str).unwrap_or_default();
        self.alias.as_deref().unwrap_or(last)
    }
}

pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

pub fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The sources of each crate of the core.
pub fn crates() -> [PathBuf; 3] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["src", "crates/service/src", "crates/sandbox/src"].map(|folder| root.join(folder))
}

/// A file without its tests, which may import anything, and without comments.
pub fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("text");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

pub fn is_test(path: &Path) -> bool {
    // Whatever the folder is called that this was checked out into.
    let inside = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path);
    let mut parts = inside.iter().map(|part| part.to_string_lossy());
    parts.any(|part| part.starts_with("tests") || part == "testing.rs")
}

/// The paths of all `use` declarations, and the code without these and the declarations of modules.
pub fn imports(code: &str) -> (Vec<Import>, String) {
    let (mut imports, mut rest) = (Vec::new(), String::new());
    let mut declaration = String::new();
    for line in code.lines() {
        let text = line.trim_start();
        if text.ends_with(';') && (text.starts_with("mod ") || text.starts_with("pub mod ")) {
            continue;
        }
        let starts = ["use ", "pub use ", "pub(super) use ", "pub(crate) use "];
        if declaration.is_empty() && !starts.iter().any(|start| text.starts_with(start)) {
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        declaration.push_str(text);
        declaration.push(' ');
        if text.ends_with(';') {
            let public = declaration.starts_with("pub");
            let tree = declaration.split_once("use ").expect("a declaration").1;
            expand(tree.trim_end().trim_end_matches(';'), &[], public, &mut imports);
            declaration.clear();
        }
    }
    (imports, rest)
}

/// Splits `a::{b, c as d}` into its paths.
fn expand(tree: &str, prefix: &[String], public: bool, imports: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    let mut tree = tree.trim();
    while let Some((segment, rest)) = tree.split_once("::")
        && !segment.contains('{')
    {
        path.push(segment.trim().to_owned());
        tree = rest.trim();
    }
    if let Some(group) = tree.strip_prefix('{') {
        let group = group.trim_end().strip_suffix('}').expect("a group");
        let mut depth = 0;
        let parts = group.split(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        for part in parts.filter(|part| !part.trim().is_empty()) {
            expand(part, &path, public, imports);
        }
        return;
    }
    let (name, alias) = match tree.split_once(" as ") {
        Some((name, alias)) => (name.trim(), Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    if name != "*" && name != "self" {
        path.push(name.to_owned());
    }
    imports.push(Import { path, alias, public });
}

/// The paths of two and more segments in code.
pub fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut paths = Vec::new();
    let mut rest = code;
    while let Some(begin) = rest.find(is_word) {
        rest = &rest[begin..];
        let end = rest.find(|c: char| !is_word(c) && c != ':').unwrap_or(rest.len());
        let path: Vec<String> = rest[..end].split("::").map(str::to_owned).collect();
        if path.len() > 1 && path.iter().all(|part| !part.is_empty() && part.chars().all(is_word)) {
            paths.push(path);
        }
        rest = &rest[end.max(1)..];
    }
    paths
}
