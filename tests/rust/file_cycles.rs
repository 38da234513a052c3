//! Inside each module, files do not import each other in a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::imports::{code, crates, imports, inline_paths, is_test, sources};

/// A module by its path below the crate: `["http", "plan"]`.
pub type Module = Vec<String>;

/// The source files by their modules.
pub struct Tree {
    code: BTreeMap<Module, String>,
}

impl Tree {
    /// The sources of one crate.
    pub fn read(root: &Path) -> Self {
        let files = sources(root).into_iter().filter(|path| !is_test(path));
        Tree { code: files.map(|path| (module(root, &path), code(&path))).collect() }
    }

    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.code.keys()
    }

    /// Returns true if a module has others below it.
    pub fn is_folder(&self, module: &Module) -> bool {
        self.code.keys().any(|other| other.len() > module.len() && other.starts_with(module))
    }

    /// The modules that a module imports something from.
    pub fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let (imports, rest) = imports(&self.code[module]);
        let inline = inline_paths(&rest).into_iter();
        imports
            .into_iter()
            // A re-export alone does not depend on what it exports.
            .filter(|import| !import.public || names(&rest, import.name()))
            .map(|import| import.path)
            .chain(inline)
            .filter_map(|path| self.resolve(module, &path, 0))
            .filter(|target| target != module)
            .collect()
    }

    /// Those of them below the same top module.
    fn imports_within(&self, module: &Module) -> BTreeSet<Module> {
        let imports = self.imports(module).into_iter();
        imports.filter(|target| target.first() == module.first()).collect()
    }

    /// The module that defines what a path names; none if that is outside this crate.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut rest = path;
        let mut module = match rest.first()?.as_str() {
            "crate" => Module::new(),
            "self" | "super" => from.clone(),
            child if self.code.contains_key(&joined(from, child)) => {
                rest = path;
                return self.descend(from.clone(), rest, depth);
            }
            _ => return None,
        };
        if rest[0] != "super" {
            rest = &rest[1..];
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            module.pop()?;
            rest = &rest[1..];
        }
        self.descend(module, rest, depth)
    }

    fn descend(&self, mut module: Module, mut rest: &[String], depth: usize) -> Option<Module> {
        assert!(depth < 20, "re-exports in a circle at {module:?}");
        while let Some(segment) = rest.first()
            && self.code.contains_key(&joined(&module, segment))
        {
            module.push(segment.clone());
            rest = &rest[1..];
        }
        if module.is_empty() {
            return None;
        }
        if let Some(item) = rest.first() {
            let exports = imports(self.code.get(&module)?).0.into_iter();
            let export = exports.filter(|import| import.public).find(|one| one.name() == item);
            if let Some(export) = export {
                return self.resolve(&module, &export.path, depth + 1);
            }
        }
        Some(module)
    }

    /// The sets of modules of which each one imports every other, directly or not.
    fn cycles(&self) -> Vec<BTreeSet<Module>> {
        let direct: BTreeMap<&Module, BTreeSet<Module>> =
            self.code.keys().map(|module| (module, self.imports_within(module))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = direct
            .keys()
            .map(|&start| {
                let mut reached = BTreeSet::new();
                let mut open: Vec<&Module> = direct[start].iter().collect();
                while let Some(module) = open.pop() {
                    if reached.insert(module) {
                        open.extend(&direct[module]);
                    }
                }
                (start, reached)
            })
            .collect();
        let mut cycles: Vec<BTreeSet<Module>> = Vec::new();
        for (&start, targets) in &reached {
            let cycle: BTreeSet<Module> = targets
                .iter()
                .filter(|&&target| reached[target].contains(start))
                .map(|&module| module.clone())
                .collect();
            if cycle.len() > 1 && !cycles.contains(&cycle) {
                cycles.push(cycle);
            }
        }
        cycles
    }
}

fn module(root: &Path, path: &Path) -> Module {
    let inside: PathBuf = path.strip_prefix(root).expect("a source").with_extension("");
    let mut module: Module =
        inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| last == "mod" || last == "lib");
    module
}

fn joined(module: &Module, child: &str) -> Module {
    module.iter().cloned().chain([child.to_owned()]).collect()
}

/// Returns true if code has this word.
fn names(code: &str, word: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}

#[test]
fn files_of_a_module_do_not_import_each_other_in_a_circle() {
    for root in crates() {
        let found = Tree::read(&root).cycles();
        assert!(found.is_empty(), "these files import each other: {found:#?}");
    }
}
