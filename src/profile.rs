//! Profiles: what a user calls by name instead of typing it. The file holds no secret.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use serde::Deserialize;

use crate::error::{Error, Result};

/// One profile of `config.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub base_url: String,
    #[serde(default)]
    pub auth: ProfileAuth,
}

/// The kind of credentials, and where the secret lies.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProfileAuth {
    #[default]
    None,
    ApiKey {
        key_id: String,
        /// The file of the private key; a relative path starts at the configuration folder.
        private_key: PathBuf,
    },
    #[serde(rename = "oauth")]
    OAuth {
        client_id: String,
        /// The encrypted file of the tokens; without it the keychain.
        store: Option<PathBuf>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

impl Profile {
    /// The profile of that name from the user's `config.toml`.
    pub fn load(name: &str) -> Result<Self> {
        Self::load_from(&folder()?, name)
    }

    /// Adds a profile of a login to the user's `config.toml`; gives the file's path.
    pub fn add_login(
        name: &str,
        base_url: &str,
        client_id: &str,
        store: Option<&Path>,
    ) -> Result<PathBuf> {
        Self::add_login_in(&folder()?, name, base_url, client_id, store)
    }

    /// What is there stays as it is, comments and all: the profile goes to the end.
    fn add_login_in(
        folder: &Path,
        name: &str,
        base_url: &str,
        client_id: &str,
        store: Option<&Path>,
    ) -> Result<PathBuf> {
        let path = folder.join("config.toml");
        let at = |what: String| Error::config(format!("profile: {}: {what}", path.display()));
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            let shown = format!("'{}'", name.escape_debug());
            return Err(Error::argument("profile", &shown, "letters, digits, _ and -"));
        }
        // A JSON string is a TOML string too.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut auth = format!("kind = \"oauth\", client_id = {}", quoted(client_id));
        if let Some(store) = store {
            auth += &format!(", store = {}", quoted(&store.to_string_lossy()));
        }
        let before = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(at(error.to_string())),
        };
        let base_url = quoted(base_url);
        let text =
            format!("{before}\n[profiles.{name}]\nbase_url = {base_url}\nauth = {{ {auth} }}\n");
        // A profile of that name, or a file that was broken before, is found out here.
        toml::from_str::<ConfigFile>(&text).map_err(|error| at(error.message().to_owned()))?;
        fs::create_dir_all(folder).map_err(|error| at(error.to_string()))?;
        let beside = path.with_extension(format!("toml.{}", std::process::id()));
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &path))
            .map_err(|error| at(error.to_string()))?;
        Ok(path)
    }

    fn load_from(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join("config.toml");
        let at = |what: String| Error::config(format!("profile: {}: {what}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| at(error.to_string()))?;
        let file: ConfigFile =
            toml::from_str(&text).map_err(|error| at(error.message().to_owned()))?;
        let known: Vec<&str> = file.profiles.keys().map(String::as_str).collect();
        let mut profile = file.profiles.get(name).cloned().ok_or_else(|| {
            at(format!(
                "there is no profile '{}'; there are {}",
                name.escape_debug(),
                known.join(", ")
            ))
        })?;
        match &mut profile.auth {
            ProfileAuth::ApiKey { private_key: file, .. }
            | ProfileAuth::OAuth { store: Some(file), .. } => *file = folder.join(&file),
            ProfileAuth::OAuth { store: None, .. } | ProfileAuth::None => {}
        }
        Ok(profile)
    }
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
    fn a_profile_names_a_service_and_where_its_key_lies() {
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
        Profile::add_login_in(&folder, "live", url, client_id, None).expect("added");
        let ProfileAuth::OAuth { client_id: read, store } =
            Profile::load_from(&folder, "live").expect("a profile").auth
        else {
            panic!("no login")
        };
        assert_eq!((read.as_str(), store), (client_id, None));
        Profile::load_from(&folder, "paper").expect("the other one is still there");
        for name in ["live", "", "a b", "x]\n[y"] {
            Profile::add_login_in(&folder, name, url, client_id, None).expect_err(name);
        }
        fs::remove_dir_all(&folder).expect("removed");
    }
}
