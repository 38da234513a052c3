//! The import rules of ARCHITECTURE.md.

use std::{collections::BTreeSet, path::Path};

use super::imports::{code, imports, inline_paths, is_test, sources, src};

/// Each module at the top of the crate, and the others that it may import.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("api", &["error"]),
    ("lock", &[]),
    ("atomic_file", &[]),
    ("fork_gate", &[]),
    ("auth", &["api", "atomic_file", "callback_pool", "error", "fork_gate", "lock", "process"]),
    ("process", &["error"]),
    ("callback_pool", &["error", "process"]),
    ("profile", &["atomic_file", "error", "lock"]),
    ("decode", &["api", "auth", "error"]),
    ("endpoint_file", &["api", "error"]),
    ("http", &["api", "auth", "decode", "error", "process"]),
    ("records_call", &["api", "decode", "error", "http"]),
    ("pages", &["api", "auth", "decode", "error", "http", "records_call", "process"]),
    ("client", &["api", "auth", "decode", "error", "http", "pages", "records_call", "process"]),
    ("client_options", &["http"]),
    ("login", &["api", "auth", "decode", "error", "http", "process"]),
    ("sandbox", &["api", "auth", "error"]),
    ("fuzzing", &["api", "auth", "decode", "error", "http", "login", "pages"]),
    (
        "py",
        &[
            "api",
            "atomic_file",
            "auth",
            "callback_pool",
            "client",
            "client_options",
            "decode",
            "endpoint_file",
            "error",
            "fork_gate",
            "http",
            "login",
            "pages",
            "records_call",
            "process",
            "profile",
            "sandbox",
        ],
    ),
];

/// The module at the top that a file belongs to.
fn module(path: &Path) -> String {
    let inside = path.strip_prefix(src()).expect("a source");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules at the top that a file names by `crate::`.
fn named(code: &str) -> BTreeSet<String> {
    let (imports, rest) = imports(code);
    let paths = imports.into_iter().map(|import| import.path).chain(inline_paths(&rest));
    paths.filter(|path| path[0] == "crate").filter_map(|path| path.get(1).cloned()).collect()
}

#[test]
fn each_module_imports_only_those_below_it() {
    for path in sources(&src()).iter().filter(|path| !is_test(path)) {
        let module = module(path);
        if module == "lib" {
            continue;
        }
        let (_, allowed) = ARROWS.iter().find(|(name, _)| *name == module).expect(&module);
        for name in named(&code(path)) {
            assert!(
                name == module || allowed.contains(&name.as_str()),
                "{} imports {name}, which {module} may not",
                path.display()
            );
        }
    }
}

#[test]
fn the_sandbox_imports_only_the_payload_of_auth() {
    for path in sources(&src().join("sandbox")).iter().filter(|path| !is_test(path)) {
        for part in code(path).split("auth::").skip(1) {
            assert!(part.starts_with("payload") || part.starts_with("{payload"), "{path:?}");
        }
    }
}

#[test]
fn libraries_are_used_in_their_modules_only() {
    let modules: &[(&str, &[&str])] = &[
        ("pyo3", &["py/", "lib.rs"]),
        ("reqwest", &["http/"]),
        ("axum", &["sandbox/"]),
        ("num_bigint::", &["sandbox/"]),
        ("arrow_array", &["decode/", "py/"]),
        ("boardlot_gated", &["py/"]),
    ];
    for path in sources(&src()) {
        let code = code(&path);
        let inside = path.strip_prefix(src()).expect("a source").to_string_lossy().into_owned();
        for (library, allowed) in modules {
            let uses = code.lines().map(str::trim).any(|line| {
                !line.starts_with("//")
                    && (line.starts_with(&format!("use {library}"))
                        || line.contains(&format!(" {library}::"))
                        || line.contains(&format!("({library}::"))
                        || line.contains(&format!("<{library}::")))
            });
            assert!(
                !uses || allowed.iter().any(|module| inside.starts_with(module)),
                "{inside} uses {library}"
            );
        }
    }
}
