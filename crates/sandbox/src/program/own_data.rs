//! Rows of the user's own, from a folder:
//!
//! - `dividends.json`: a list of objects, in place of the invented rows of that endpoint;
//! - `dividends/symbol=HK.00700.json`: the rows of the requests with this argument, or with
//!   several, separated by commas;
//! - `endpoints.toml`: endpoints that the service document does not show, whose rows are in files
//!   with their names.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use boardlot_sandbox::Sandbox;
use boardlot_service::{api::EndpointRef, endpoint_file};

const ENDPOINTS: &str = "endpoints.toml";

/// Serves all rows of a folder. An error names the file.
pub fn serve(sandbox: &Sandbox, folder: &Path) -> Result<(), String> {
    let declarations = folder.join(ENDPOINTS);
    let mut own = BTreeMap::new();
    if declarations.exists() {
        let text = text_of(&declarations)?;
        let shown = declarations.display().to_string();
        for (name, (_, endpoint)) in
            endpoint_file::parse(&shown, &text).map_err(|error| error.to_string())?
        {
            own.insert(name, EndpointRef::from(Arc::new(endpoint)));
        }
    }
    for path in entries(folder)? {
        let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        if path.is_dir() {
            for file in entries(&path)? {
                put(sandbox, &own, &name, &file, arguments(&file)?)?;
            }
        } else if path.extension() == Some(OsStr::new("json")) {
            put(sandbox, &own, &name, &path, Vec::new())?;
        }
    }
    Ok(())
}

fn put(
    sandbox: &Sandbox,
    own: &BTreeMap<String, EndpointRef>,
    name: &str,
    file: &Path,
    only: Vec<(String, String)>,
) -> Result<(), String> {
    let rows = text_of(file)?;
    let done = match own.get(name) {
        Some(endpoint) => sandbox.serve(endpoint.clone(), &rows, only),
        None => sandbox.put(name, &rows, only),
    };
    done.map_err(|error| format!("{}: {error}", file.display()))
}

/// Parses a file name such as `symbol=HK.00700.json` as arguments.
fn arguments(file: &Path) -> Result<Vec<(String, String)>, String> {
    let name = file.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(".json"));
    let pairs = name.map(|name| name.split(',').map(|pair| pair.split_once('=')));
    let pairs: Option<Vec<_>> = pairs.and_then(Iterator::collect);
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let pairs = pairs.map(|pairs| pairs.into_iter().map(owned).collect());
    pairs.ok_or_else(|| format!("{}: expected a name such as symbol=HK.00700.json", file.display()))
}

/// Returns the entries of a folder in the order of their names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// Returns the text of a file.
pub fn text_of(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}
