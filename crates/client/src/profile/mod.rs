//! Profiles: a service and credentials under a name, in `config.toml`. The file contains no secret.

mod document;
mod entry;
mod file;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

pub use entry::{Profile, ProfileAuth};
pub use file::ChangeError;

use crate::{
    error::{Error, Result, did_you_mean},
    os::texts::config_folder,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    default_profile: Option<String>,
    /// Each profile is parsed when it is used, so that a mistake in one does not affect the others.
    #[serde(default)]
    profiles: BTreeMap<String, Value>,
    #[serde(skip)]
    looked_at: file::LookedAt,
}

impl Profile {
    /// Reads the profile of that name from the user's `config.toml`.
    pub fn load(name: &str) -> Result<Self> {
        let folder = config_folder()?;
        ConfigFile::read(&folder)?.profile(&folder, name)
    }

    /// Reads the profile; `None` if there is no such profile, or no file yet.
    pub fn find(name: &str) -> Result<Option<Self>> {
        check_name(name)?;
        let folder = config_folder()?;
        let file = ConfigFile::read(&folder)?;
        file.profiles.contains_key(name).then(|| file.profile(&folder, name)).transpose()
    }

    /// Saves the profile in the user's `config.toml` and returns the file's path. An existing
    /// profile is updated with `replace`, and an error otherwise. `interrupted` is called while
    /// another process is changing the file, and ends the wait by returning true.
    pub fn save(
        &self,
        replace: bool,
        interrupted: impl FnMut() -> bool,
    ) -> Result<PathBuf, ChangeError> {
        check_name(&self.name)?;
        self.check().map_err(|what| Error::config(format!("profile {}: {what}", self.name)))?;
        change(&config_folder()?, interrupted, |document| document::insert(document, self, replace))
    }

    /// Removes a profile from the user's `config.toml`. If it was the default, there is no default
    /// any more.
    pub fn remove(name: &str, interrupted: impl FnMut() -> bool) -> Result<PathBuf, ChangeError> {
        let folder = config_folder()?;
        ConfigFile::read(&folder)?.take(&folder, name)?;
        change(&folder, interrupted, |document| document::remove(document, name))
    }

    /// Makes a profile the default of the command line, or unsets the default.
    pub fn set_default(
        name: Option<&str>,
        interrupted: impl FnMut() -> bool,
    ) -> Result<PathBuf, ChangeError> {
        let folder = config_folder()?;
        if let Some(name) = name {
            ConfigFile::read(&folder)?.take(&folder, name)?;
        }
        change(&folder, interrupted, |document| {
            document::set_default(document, name);
            Ok(())
        })
    }
}

impl ConfigFile {
    /// Reads the user's file; an empty one if there is none yet.
    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("config.toml");
        let at = |what: String| Error::config(format!("profile: {}: {what}", path.display()));
        let found = file::read(folder).map_err(|error| at(error.to_string()))?;
        let Some((text, looked_at)) = found else { return Ok(Self::default()) };
        let config: Self = toml_edit::de::from_str(&text)
            .map_err(|error| at(document::problem(&text, error.span(), error.message())))?;
        Ok(ConfigFile { looked_at, ..config })
    }

    /// Returns the profile of that name, unless other users could change it.
    fn profile(mut self, folder: &Path, name: &str) -> Result<Profile> {
        let profile = Profile::of(self.take(folder, name)?, folder, name)?;
        self.looked_at.check_only_writer(profile.runs_command())?;
        Ok(profile)
    }

    fn take(&mut self, folder: &Path, name: &str) -> Result<Value> {
        if let Some(found) = self.profiles.remove(name) {
            return Ok(found);
        }
        let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        let path = folder.join("config.toml");
        let expected = if known.is_empty() {
            // A cron job, for example, has another configuration folder than the user.
            let homeless = cfg!(unix) && std::env::var_os("HOME").is_none();
            let remedy = match homeless {
                true => {
                    "HOME is not set: set it to the home folder of the user who has the profile"
                }
                false => "add one with `boardlot profile add`",
            };
            let has = if path.exists() { "has none" } else { "does not exist" };
            format!("a profile, but {} {has}: {remedy}", path.display())
        } else {
            let nearest = did_you_mean(name, known.iter().copied());
            format!("a profile of {}: {}{nearest}", path.display(), known.join(", "))
        };
        Err(Error::argument("profile", &format!("'{}'", name.escape_debug()), &expected))
    }
}

/// Changes `config.toml`. Everything else in the file is preserved, including comments.
fn change(
    folder: &Path,
    interrupted: impl FnMut() -> bool,
    change: impl FnOnce(&mut toml_edit::DocumentMut) -> Result<(), String>,
) -> Result<PathBuf, ChangeError> {
    let path = folder.join("config.toml");
    let at = |what: String| Error::config(format!("profile: {}: {what}", path.display()));
    file::change(&path, interrupted, |before| {
        let text = document::changed(before, change).map_err(at)?;
        toml_edit::de::from_str::<ConfigFile>(&text)
            .map_err(|error| at(error.message().to_owned()))?;
        Ok(text)
    })?;
    Ok(path)
}

/// Returns the names of the profiles in the user's `config.toml`, in alphabetical order, and the
/// one that the command line uses if no service is given.
pub fn names() -> Result<(Vec<String>, Option<String>)> {
    let config = ConfigFile::read(&config_folder()?)?;
    Ok((config.profiles.into_keys().collect(), config.default_profile))
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        let shown = format!("'{}'", name.escape_debug());
        return Err(Error::argument("profile", &shown, "letters, digits, _ and - only"));
    }
    Ok(())
}

/// Returns the path of the user's `config.toml`, which may not exist. Links are followed: a change
/// writes this file.
pub fn config_file() -> Result<PathBuf> {
    let path = config_folder()?.join("config.toml");
    file::resolve_links(&path).map_err(|error| {
        Error::config(format!("profile: {}: {error}", path.display())).caused_by(&error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://api.example.com";

    fn config(text: &str) -> Result<ConfigFile> {
        toml_edit::de::from_str(text).map_err(|error| Error::config(error.message().to_owned()))
    }

    fn profile(text: &str) -> Result<Profile> {
        config(text)?.profile(Path::new("/home/me"), "paper")
    }

    #[test]
    fn a_profile_names_a_service_and_its_credentials() {
        let text = "[profiles.paper]\nbase_url = \"https://api.example.com\"\n\
                    auth = { kind = \"api_key\", key_id = \"k\", private_key = \"paper.pem\" }\n";
        let found = profile(text).expect("a profile");
        assert_eq!(found.base_url, URL);
        let ProfileAuth::ApiKey { private_key, .. } = found.auth else { panic!("no key") };
        assert_eq!(private_key, Path::new("/home/me/paper.pem"));
    }

    #[test]
    fn an_unknown_profile_is_an_error_with_the_nearest_name() {
        let text = "[profiles.paper]\n[profiles.live]\n";
        let error =
            config(text).expect("valid").profile(Path::new(""), "papre").expect_err("unknown");
        let expected = "profile is 'papre'; expected a profile of config.toml: live, paper; did you \
                        mean 'paper'?";
        assert_eq!(error.to_string(), expected);
        let error = config("").expect("valid").profile(Path::new(""), "live").expect_err("none");
        assert!(error.to_string().contains("boardlot profile add"), "{error}");
    }

    #[test]
    fn a_passphrase_comes_from_one_place_and_opens_a_file() {
        let of = |auth: &str| {
            profile(&format!("[profiles.paper]\nbase_url = \"{URL}\"\nauth = {{ {auth} }}\n"))
        };
        let login = "kind = \"oauth\", client_id = \"c\"";
        let found =
            of(&format!("{login}, store = \"t\", passphrase_file = \"p\"")).expect("a file");
        let ProfileAuth::OAuth { passphrase_file, .. } = found.auth else { panic!("no login") };
        assert_eq!(passphrase_file.as_deref(), Some(Path::new("/home/me/p")));
        of(&format!("{login}, store = \"t\", passphrase_command = [\"pass\", \"x\"]"))
            .expect("a command");
        for wrong in [
            "passphrase_file = \"p\"",
            "store = \"t\", passphrase_command = []",
            "store = \"t\", passphrase_command = \"pass\"",
            "store = \"t\", passphrase = \"secret\"",
            "store = \"t\", passphrase_file = \"p\", passphrase_command = [\"c\"]",
        ] {
            let error = of(&format!("{login}, {wrong}")).expect_err(wrong).to_string();
            assert!(error.contains("[profiles.paper]") && !error.contains("secret"), "{error}");
        }
    }
}
