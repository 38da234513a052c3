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
        let folder = etcetera::choose_base_strategy()
            .map_err(|error| Error::config(format!("profile: {error}")))?
            .config_dir()
            .join("boardlot");
        Self::load_from(&folder, name)
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
        if let ProfileAuth::ApiKey { private_key, .. } = &mut profile.auth {
            *private_key = folder.join(&private_key);
        }
        Ok(profile)
    }
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
        fs::remove_dir_all(&folder).expect("removed");
    }
}
