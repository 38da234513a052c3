//! Embeds the templates of the built-in data: each file of `src/data/templates`, by its name.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/data/templates");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files: io::Result<Vec<_>> = fs::read_dir(&folder)?.map(|file| Ok(file?.path())).collect();
    let mut files = files?;
    files.sort();
    let items = files.iter().map(|path| {
        format!("({:?}, include_str!({path:?})),", path.file_stem().unwrap_or_default())
    });
    let target = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&target).join("templates.rs"), format!("[{}]", items.collect::<String>()))
}
