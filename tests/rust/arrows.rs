//! The import rules of ARCHITECTURE.md, read from its table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    file_cycles::{Module, Tree},
    imports::{code, imports, inline_paths, sources, src},
};

/// The modules of the table, and what each may import: of the crate's modules those at the top, and of a
/// folder within one its neighbours.
fn table() -> BTreeMap<Module, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(path).expect("the architecture");
    let mut rows = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("| `src/")) {
        let (path, rest) = line.split_once('`').expect("a path");
        let imports = rest.trim_end_matches(" |").rsplit(" | ").next().expect("a column");
        let module: Module = path
            .trim_end_matches('/')
            .trim_end_matches(".rs")
            .split('/')
            .map(str::to_owned)
            .collect();
        rows.insert(module, imports.to_owned());
    }
    let named = |text: &str| -> BTreeSet<String> {
        // Text in brackets explains the name before it.
        let names = text.replace(" and ", ", ");
        let names = names.split(", ").map(|name| name.split(' ').next().unwrap_or_default());
        names.filter(|name| *name != "–").map(str::to_owned).collect()
    };
    let tops: BTreeSet<String> =
        rows.keys().filter(|module| module.len() == 1).map(|module| module[0].clone()).collect();
    let allowed = |own: &str, imports: &str| match imports.strip_prefix("all except ") {
        Some(others) => {
            tops.difference(&named(others)).filter(|name| *name != own).cloned().collect()
        }
        None => named(imports),
    };
    let rows = rows.into_iter();
    rows.map(|(module, imports)| (module.clone(), allowed(&module[0], &imports))).collect()
}

/// The row of a module: its own, or that of the nearest module above it.
fn row(table: &BTreeMap<Module, BTreeSet<String>>, module: &Module) -> Module {
    let found = (1..=module.len()).rev().find(|&n| table.contains_key(&module[..n]));
    module[..found.expect("a row of the table")].to_vec()
}

#[test]
fn each_module_imports_only_those_that_its_row_lists() {
    let (table, tree) = (table(), Tree::read(&src()));
    for module in tree.modules().filter(|module| !module.is_empty()) {
        for target in tree.imports(module) {
            let (own, other) = (row(&table, module), row(&table, &target));
            // The first part in which the two differ is listed in the row of the first.
            let same = own.iter().zip(&other).take_while(|(one, two)| one == two).count();
            let Some(name) = other.get(same) else { continue };
            let allowed = match own.get(same) {
                Some(_) => &table[&own[..=same]],
                // A module imports its own folders.
                None => continue,
            };
            assert!(allowed.contains(name), "{module:?} imports {target:?}, which {own:?} may not");
        }
    }
}

#[test]
fn the_table_has_every_module_and_no_circle() {
    let (table, tree) = (table(), Tree::read(&src()));
    for (module, allowed) in &table {
        assert!(tree.modules().any(|known| known == module), "there is no {module:?}");
        for name in allowed {
            let neighbour: Module =
                module[..module.len() - 1].iter().chain([name]).cloned().collect();
            assert!(
                table.contains_key(&neighbour),
                "{module:?} may import {name}, which is no row"
            );
        }
    }
    // Of neighbours that import each other, none would ever be removed.
    let mut open: BTreeSet<&Module> = table.keys().collect();
    while let Some(lowest) = open.iter().copied().find(|module| {
        let is_open = |name: &String| {
            let above = &module[..module.len() - 1];
            open.iter().any(|other| other.split_last() == Some((name, above)))
        };
        !table[*module].iter().any(is_open)
    }) {
        open.remove(lowest);
    }
    assert!(open.is_empty(), "these may import each other: {open:?}");
    // Beside a folder that has a row, every folder has one.
    let folders = tree.modules().filter(|module| module.len() == 2 && tree.is_folder(module));
    for folder in folders {
        let has_rows = table.keys().any(|module| module.len() == 2 && module[0] == folder[0]);
        assert!(!has_rows || table.contains_key(folder), "{folder:?} has no row");
    }
}

#[test]
fn only_the_extension_uses_the_sandbox() {
    for path in sources(&src()) {
        let (imports, rest) = imports(&code(&path));
        let mut named = imports.into_iter().map(|import| import.path).chain(inline_paths(&rest));
        let uses = named.any(|path| path.starts_with(&["crate".into(), "sandbox".into()]));
        assert!(!uses || path.starts_with(src().join("py")), "{path:?}");
    }
}

#[test]
fn libraries_are_used_in_their_modules_only() {
    let modules: &[(&str, &[&str])] = &[
        ("pyo3", &["py/", "lib.rs"]),
        ("reqwest", &["http/"]),
        ("arrow_array", &["decode/", "py/"]),
        ("boardlot_gated", &["py/"]),
    ];
    for path in sources(&src()) {
        let code = code(&path);
        let inside = path.strip_prefix(src()).expect("a source").to_string_lossy();
        let inside = inside.replace('\\', "/");
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
