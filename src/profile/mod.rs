//! Profiles: a service and credentials under a name, in `config.toml`. The file contains no secret.

mod file;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use serde::Deserialize;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TomlError};

pub use file::ChangeError;

use crate::error::{Error, Result};

/// One profile of `config.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The service.
    pub base_url: String,
    /// The credentials.
    #[serde(default)]
    pub auth: ProfileAuth,
    /// The file of the user's own endpoints; relative to the configuration folder.
    pub endpoints: Option<PathBuf>,
}

/// The kind of credentials, and where the secret is stored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProfileAuth {
    /// None.
    #[default]
    None,
    /// An API key.
    ApiKey {
        /// The id that the service gave the key.
        key_id: String,
        /// The file of the private key; relative to the configuration folder.
        private_key: PathBuf,
    },
    /// The tokens of a login.
    #[serde(rename = "oauth")]
    OAuth {
        /// The registered client.
        client_id: String,
        /// The encrypted file of the tokens; by default they are in the keychain.
        store: Option<PathBuf>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    /// Parsed when one is used, so that a mistake in one does not affect the others.
    #[serde(default)]
    profiles: BTreeMap<String, toml::Value>,
}

impl Profile {
    /// The profile of that name from the user's `config.toml`.
    pub fn load(name: &str) -> Result<Self> {
        Self::load_from(&folder()?, name)
    }

    /// The same; `None` if there is no such profile, or no file yet.
    pub fn find(name: &str) -> Result<Option<Self>> {
        check_name(name)?;
        let folder = folder()?;
        if !folder.join("config.toml").exists() {
            return Ok(None);
        }
        let found = ConfigFile::read(&folder)?.profiles.remove(name);
        found.map(|profile| Self::of(profile, &folder, name)).transpose()
    }

    /// Saves a login as a profile in the user's `config.toml` and returns the file's path. An existing
    /// profile is an error, or with `replace` is updated. `interrupted` is called while another
    /// process is changing the file, and ends the wait by returning true.
    pub fn save_login(
        name: &str,
        login: &ProfileLogin<'_>,
        replace: bool,
        interrupted: impl FnMut() -> bool,
    ) -> Result<PathBuf, ChangeError> {
        Self::save_login_in(&folder()?, name, login, replace, interrupted)
    }

    /// Everything else in the file is preserved, including comments.
    fn save_login_in(
        folder: &Path,
        name: &str,
        login: &ProfileLogin<'_>,
        replace: bool,
        interrupted: impl FnMut() -> bool,
    ) -> Result<PathBuf, ChangeError> {
        check_name(name)?;
        let path = folder.join("config.toml");
        let at = |what: String| Error::config(format!("profile: {}: {what}", path.display()));
        file::change(&path, interrupted, |before| {
            let mut document: DocumentMut =
                before.parse().map_err(|error: TomlError| at(error.message().to_owned()))?;
            // A file of comments alone: they would end up after the first table.
            let head = if document.is_empty() {
                document = DocumentMut::new();
                if before.is_empty() || before.ends_with('\n') {
                    before
                } else {
                    &format!("{before}\n")
                }
            } else {
                ""
            };
            login.insert(&mut document, name, replace).map_err(at)?;
            let text = format!("{head}{document}");
            toml::from_str::<ConfigFile>(&text).map_err(|error| at(error.message().to_owned()))?;
            Ok(text)
        })?;
        Ok(path)
    }

    fn load_from(folder: &Path, name: &str) -> Result<Self> {
        let mut profiles = ConfigFile::read(folder)?.profiles;
        let profile = profiles.remove(name).ok_or_else(|| {
            let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Error::config(format!(
                "profile: {}: '{}' is not a profile; the file has {known}",
                folder.join("config.toml").display(),
                name.escape_debug(),
            ))
        })?;
        Self::of(profile, folder, name)
    }

    fn of(value: toml::Value, folder: &Path, name: &str) -> Result<Self> {
        let mut profile: Profile = value.try_into().map_err(|error: toml::de::Error| {
            let path = folder.join("config.toml");
            let message = error.message();
            Error::config(format!("profile: {}: [profiles.{name}]: {message}", path.display()))
        })?;
        profile.endpoints = profile.endpoints.map(|file| folder.join(file));
        match &mut profile.auth {
            ProfileAuth::ApiKey { private_key: file, .. }
            | ProfileAuth::OAuth { store: Some(file), .. } => *file = folder.join(&file),
            ProfileAuth::OAuth { store: None, .. } | ProfileAuth::None => {}
        }
        Ok(profile)
    }
}

/// A login to save as a profile.
#[derive(Debug, Clone, Copy)]
pub struct ProfileLogin<'a> {
    /// The service.
    pub base_url: &'a str,
    /// The registered client.
    pub client_id: &'a str,
    /// The encrypted file of the tokens; by default they are in the keychain.
    pub store: Option<&'a Path>,
}

impl ProfileLogin<'_> {
    fn insert(&self, document: &mut DocumentMut, name: &str, replace: bool) -> Result<(), String> {
        let mut profiles = Table::new();
        profiles.set_implicit(true);
        let profiles = document.entry("profiles").or_insert(Item::Table(profiles));
        let profiles = profiles.as_table_like_mut().ok_or("'profiles' is not a table")?;
        if profiles.contains_key(name) && !replace {
            return Err(format!("the profile '{name}' already exists; choose another name"));
        }
        let mut auth = InlineTable::new();
        auth.insert("kind", "oauth".into());
        auth.insert("client_id", self.client_id.into());
        if let Some(store) = self.store {
            auth.insert("store", store.to_string_lossy().as_ref().into());
        }
        let profile = profiles.entry(name).or_insert(Item::Table(Table::new()));
        let profile = profile
            .as_table_like_mut()
            .ok_or_else(|| format!("the profile '{name}' is not a table"))?;
        profile.insert("base_url", Item::Value(self.base_url.into()));
        profile.insert("auth", Item::Value(auth.into()));
        Ok(())
    }
}

impl ConfigFile {
    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("config.toml");
        let at = |what: String| Error::config(format!("profile: {}: {what}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| at(error.to_string()))?;
        toml::from_str(&text).map_err(|error| at(error.message().to_owned()))
    }
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        let shown = format!("'{}'", name.escape_debug());
        return Err(Error::argument("profile", &shown, "letters, digits, _ and - only"));
    }
    Ok(())
}

/// The path of the user's `config.toml`, which may not exist. Links are followed: this is the file that
/// a change writes.
pub fn config_file() -> Result<PathBuf> {
    let path = folder()?.join("config.toml");
    file::resolve_links(&path)
        .map_err(|error| Error::config(format!("profile: {}: {error}", path.display())))
}

fn folder() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy()
        .map_err(|error| Error::config(format!("profile: {error}")))?;
    Ok(strategy.config_dir().join("boardlot"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_a_service_and_its_credentials() {
        let folder = std::env::temp_dir().join(format!("boardlot-profile-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let text = "[profiles.paper]\nbase_url = \"https://api.example.com\"\n\
                    auth = { kind = \"api_key\", key_id = \"k\", private_key = \"paper.pem\" }\n";
        fs::write(folder.join("config.toml"), text).expect("written");
        let profile = Profile::load_from(&folder, "paper").expect("a profile");
        assert_eq!(profile.base_url, "https://api.example.com");
        let ProfileAuth::ApiKey { private_key, .. } = profile.auth else { panic!("no key") };
        assert_eq!(private_key, folder.join("paper.pem"));
        let error = Profile::load_from(&folder, "live").expect_err("unknown").to_string();
        assert!(error.contains("'live'") && error.contains("paper"), "{error}");

        let client_id = "a \"quoted\" id";
        let url = "https://api.example.com";
        let save = |name, client_id, replace| {
            let login = ProfileLogin { base_url: url, client_id, store: None };
            Profile::save_login_in(&folder, name, &login, replace, || false)
        };
        save("live", client_id, false).expect("added");
        let ProfileAuth::OAuth { client_id: read, store } =
            Profile::load_from(&folder, "live").expect("a profile").auth
        else {
            panic!("no login")
        };
        assert_eq!((read.as_str(), store), (client_id, None));
        Profile::load_from(&folder, "paper").expect("the other one is still there");
        for name in ["live", "", "a b", "x]\n[y"] {
            save(name, client_id, false).expect_err(name);
        }
        save("live", "another", true).expect("replaced");
        let again = Profile::load_from(&folder, "live").expect("a profile").auth;
        assert!(matches!(again, ProfileAuth::OAuth { client_id, .. } if client_id == "another"));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
