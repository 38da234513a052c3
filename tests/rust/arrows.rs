//! The import arrows of ARCHITECTURE.md hold.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each module at the top of the crate, and the others that it may name.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("api", &["error"]),
    ("lock", &[]),
    ("atomic_file", &[]),
    ("auth", &["api", "atomic_file", "error", "lock", "process"]),
    ("process", &["error"]),
    ("profile", &["atomic_file", "error", "lock"]),
    ("decode", &["api", "auth", "error"]),
    ("http", &["api", "auth", "decode", "error", "process"]),
    ("plan", &["api", "decode", "error", "http"]),
    ("pages", &["api", "auth", "decode", "error", "http", "plan", "process"]),
    ("client", &["api", "auth", "decode", "error", "http", "pages", "plan"]),
    ("client_options", &["http"]),
    ("login", &["api", "auth", "decode", "error", "http", "process"]),
    ("sandbox", &["api", "auth", "error"]),
    ("fuzzing", &["api", "auth", "decode", "error", "http", "login", "pages"]),
    (
        "py",
        &[
            "api",
            "auth",
            "client",
            "client_options",
            "decode",
            "error",
            "http",
            "login",
            "pages",
            "plan",
            "process",
            "profile",
            "sandbox",
        ],
    ),
];

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

/// The module at the top that a file belongs to.
fn module(path: &Path) -> String {
    let inside = path.strip_prefix(src()).expect("a source");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// A file without its tests, which may name what they like.
pub fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("text");
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

pub fn is_test(path: &Path) -> bool {
    path.to_string_lossy().contains("/tests") || path.ends_with("testing.rs")
}

/// The modules that a file names by `crate::`, alone or in a group.
fn named(code: &str) -> BTreeSet<String> {
    let word = |text: &str| {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let mut names = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        let Some(group) = part.strip_prefix('{') else {
            names.insert(word(part));
            continue;
        };
        let mut depth = 0;
        let mut item = String::new();
        for character in group.chars() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    names.insert(word(std::mem::take(&mut item).trim()));
                }
                _ if depth == 0 => item.push(character),
                _ => {}
            }
        }
        names.insert(word(item.trim()));
    }
    names.remove("");
    names
}

#[test]
fn each_module_names_only_those_below_it() {
    for path in sources(&src()).iter().filter(|path| !is_test(path)) {
        let module = module(path);
        if module == "lib" {
            continue;
        }
        let (_, allowed) = ARROWS.iter().find(|(name, _)| *name == module).expect(&module);
        for name in named(&code(path)) {
            assert!(
                name == module || allowed.contains(&name.as_str()),
                "{} names {name}, which {module} may not",
                path.display()
            );
        }
    }
}

#[test]
fn the_sandbox_uses_nothing_of_auth_but_the_payload() {
    for path in sources(&src().join("sandbox")).iter().filter(|path| !is_test(path)) {
        for part in code(path).split("auth::").skip(1) {
            assert!(part.starts_with("payload") || part.starts_with("{payload"), "{path:?}");
        }
    }
}

#[test]
fn libraries_stay_in_their_rooms() {
    let rooms: &[(&str, &[&str])] = &[
        ("pyo3", &["py/", "lib.rs"]),
        ("reqwest", &["http/"]),
        ("axum", &["sandbox/"]),
        ("num_bigint::", &["sandbox/"]),
        ("arrow_array", &["decode/", "py/"]),
    ];
    for path in sources(&src()) {
        let code = code(&path);
        let inside = path.strip_prefix(src()).expect("a source").to_string_lossy().into_owned();
        for (library, allowed) in rooms {
            let uses = code.lines().map(str::trim).any(|line| {
                !line.starts_with("//")
                    && (line.starts_with(&format!("use {library}"))
                        || line.contains(&format!(" {library}::"))
                        || line.contains(&format!("({library}::"))
                        || line.contains(&format!("<{library}::")))
            });
            assert!(
                !uses || allowed.iter().any(|room| inside.starts_with(room)),
                "{inside} names {library}"
            );
        }
    }
}
