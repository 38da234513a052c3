//! Texts and paths as users write them.

use std::{
    io,
    path::{Path, PathBuf},
};

use etcetera::{BaseStrategy, HomeDirError};

use crate::error::{Error, Resource, Result};

/// The byte order mark that editors of Windows put before UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Removes the byte order mark at the start of a text. Every text that is read goes through this
/// function.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// Returns the text of a file without the byte order mark.
pub fn text(bytes: &[u8]) -> io::Result<String> {
    let text = str::from_utf8(without_mark(bytes));
    text.map(str::to_owned)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Replaces a `~` at the start of a path by the user's home folder. Every path that a user wrote
/// goes through this function.
pub fn expand_user(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Returns the folder of the user's configuration.
pub fn config_folder() -> Result<PathBuf> {
    base_folder("XDG_CONFIG_HOME", || Ok(etcetera::choose_base_strategy()?.config_dir()))
}

/// Returns the folder of the user's state.
pub fn state_folder() -> Result<PathBuf> {
    base_folder("XDG_STATE_HOME", || {
        let strategy = etcetera::choose_base_strategy()?;
        Ok(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()))
    })
}

/// Returns this program's folder of one kind. The variable suffices without a home folder, as in a
/// systemd service.
fn base_folder(
    variable: &str,
    otherwise: impl FnOnce() -> Result<PathBuf, HomeDirError>,
) -> Result<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = match named.filter(|_| cfg!(unix)) {
        Some(named) => named,
        None => otherwise().map_err(|error| {
            Error::config(format!("no home folder was found: {error}"))
                .with_resource(Resource::Home)
        })?,
    };
    Ok(folder.join("boardlot"))
}

/// Extensions of the files that users name, which distinguish a path from a secret.
const EXTENSIONS: [&str; 22] = [
    "pem", "key", "der", "p8", "pk8", "crt", "cer", "txt", "text", "md", "enc", "json", "jsonl",
    "toml", "conf", "cfg", "ini", "env", "yaml", "yml", "db", "secret",
];

/// Names of files for a secret, as docs and secret managers write them. A caller who passes one
/// means the file; as a secret, the name would be none.
const NAMES: [&str; 16] = [
    "passphrase",
    "passphrases",
    "password",
    "passwords",
    "passwd",
    "pass",
    "pin",
    "secret",
    "secrets",
    "key",
    "keys",
    "token",
    "tokens",
    "credential",
    "credentials",
    "private",
];

/// Shows the path of a file with a secret, for an error. The argument may be the secret itself, so
/// a text that neither exists as a file nor looks like a path is not shown.
pub fn shown_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.trim().is_empty() {
        return format!("'{text}'");
    }
    // The root alone does not suffice: a secret in Base64 may begin with a slash.
    let is_told = |folder: &&Path| folder.file_name().is_some() && folder.is_dir();
    let folder = path.ancestors().skip(1).find(is_told);
    let missing = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    let looks_like_path = has_known_extension(path)
        || is_known_name(path)
        || (!is_name(path) && missing.to_string_lossy().split(['/', '\\']).all(is_of_words));
    if path.exists() || (looks_like_path && !text.contains(char::is_control)) {
        return text.into_owned();
    }
    let within = folder.map_or_else(String::new, |folder| format!(" in {}", folder.display()));
    format!("(a file{within}; its name is not shown, as it looks like a key or another secret)")
}

fn has_known_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Returns true for one of `NAMES` in a folder, or of several of them: `boardlot/db-password`.
fn is_known_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folders_are_words = path.parent().is_none_or(|folder| {
        folder.is_dir()
            || folder.components().all(|part| is_of_words(&part.as_os_str().to_string_lossy()))
    });
    let is_name = |word: &str| NAMES.contains(&word.to_ascii_lowercase().as_str());
    folders_are_words && name.split(['-', '_']).all(is_name)
}

/// Returns true for a bare name, also in the folders that a program puts before it: the working
/// folder and the configuration folder.
fn is_name(path: &Path) -> bool {
    let folders = [std::env::current_dir().ok(), config_folder().ok()];
    let within = folders.iter().flatten().find_map(|folder| path.strip_prefix(folder).ok());
    within.unwrap_or(path).components().nth(1).is_none()
}

/// Returns true for a name of a path such as `live-keys` or `Users`, and false for a part of a
/// Base64 text.
fn is_of_words(name: &str) -> bool {
    name.split(['-', '_', '.', ' ', ':']).all(|word| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut rest = letters.chars().skip(1);
        word.len() - letters.len() <= 4 && rest.all(|c| c.is_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_and_a_secret_is_not() {
        let at = |name: &str| std::env::temp_dir().join(name).display().to_string();
        let here = std::env::current_dir().expect("a working folder");
        for shown in [
            "kye.pem",
            "passphrase",
            "Passphrase",
            "secret_key",
            "/run/secrets/token",
            "no/such/key",
            "./key",
            "../keys/key",
            "/Users/me/live-keys/key2",
            "/nowhere/my key.key",
            &at(""),
            &at("no.txt"),
            &at("no-such-secret"),
        ] {
            assert_eq!(shown_path(Path::new(shown)), shown);
        }
        assert_eq!(shown_path(Path::new("")), "''", "an empty path is no secret");
        for secret in [
            "hunter22",
            "correct horse battery staple",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "/wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY=",
            "0b9c2a3e-5d1f-4c7b-8e6a-9f2d4b1c3a5e",
            "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM",
            "sk_live.4eC39HqLyjWD",
            "first line\nsecond line.pem",
        ] {
            for given in [PathBuf::from(secret), here.join(secret)] {
                let shown = shown_path(&given);
                let parts = secret.split(['/', '\n']).filter(|part| !part.is_empty());
                for part in parts {
                    assert!(!shown.contains(part), "{secret}: {shown}");
                }
            }
        }
        assert!(shown_path(&here.join("hunter22")).contains(&*here.to_string_lossy()));
    }

    #[test]
    fn only_a_tilde_that_is_the_first_name_is_the_home_folder() {
        let home = std::env::home_dir().expect("a home folder");
        for (given, expected) in [
            ("~", home.clone()),
            ("~/keys/a.pem", home.join("keys/a.pem")),
            ("./~/a", "./~/a".into()),
            ("a/~", "a/~".into()),
            ("a~b", "a~b".into()),
            ("/~", "/~".into()),
        ] {
            assert_eq!(expand_user(Path::new(given)), expected, "{given}");
        }
    }

    #[test]
    fn one_byte_order_mark_is_left_out() {
        for (text, expected) in
            [("\u{feff}a", "a"), ("a", "a"), ("", ""), ("\u{feff}\u{feff}a", "\u{feff}a")]
        {
            assert_eq!(without_mark(text.as_bytes()), expected.as_bytes());
        }
    }
}
