//! One profile: a service, its credentials, and the location of their secret.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    os::texts::expand_user,
};

/// One profile of `config.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name of the profile, of letters, digits, `_` and `-`.
    #[serde(skip)]
    pub name: String,
    /// The service.
    pub base_url: String,
    /// The credentials.
    #[serde(default, skip_serializing_if = "ProfileAuth::is_none")]
    pub auth: ProfileAuth,
    /// The file of custom endpoints; relative to the configuration folder.
    pub endpoints: Option<PathBuf>,
    /// The URL of a proxy without a password, or `environment`.
    pub proxy: Option<String>,
    /// Certificates that are trusted besides the system's; relative to the configuration folder.
    pub ca_file: Option<PathBuf>,
    /// The file of the certificate and key by which the client identifies itself; relative to the
    /// configuration folder.
    pub client_cert: Option<PathBuf>,
    /// Requests per second.
    pub rate_limit: Option<f64>,
    /// True if all processes of this user with the same credentials share the rate limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rate_limit_shared: bool,
    /// True if the profile's clients only read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// The kind of credentials, and the location of their secret.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
        /// The file with the password of an encrypted key.
        passphrase_file: Option<PathBuf>,
        /// The command that prints that password, as a program and its arguments.
        #[serde(default, deserialize_with = "command")]
        passphrase_command: Option<Vec<String>>,
    },
    /// The tokens of a login.
    #[serde(rename = "oauth")]
    OAuth {
        /// The registered client.
        client_id: String,
        /// The encrypted file of the tokens; by default, the keychain stores them.
        store: Option<PathBuf>,
        /// The file with the passphrase of `store`.
        passphrase_file: Option<PathBuf>,
        /// The command that prints that passphrase, as a program and its arguments.
        #[serde(default, deserialize_with = "command")]
        passphrase_command: Option<Vec<String>>,
    },
}

impl ProfileAuth {
    fn is_none(&self) -> bool {
        matches!(self, ProfileAuth::None)
    }
}

impl Profile {
    /// Reads the profile of that name from its value in the file in this folder.
    pub(super) fn of(value: Value, folder: &Path, name: &str) -> Result<Self> {
        let at = |what: &str| {
            let path = folder.join("config.toml");
            Error::config(format!("profile: {}: [profiles.{name}]: {what}", path.display()))
        };
        let mut profile: Profile =
            serde_json::from_value(value).map_err(|error| at(&error.to_string()))?;
        name.clone_into(&mut profile.name);
        profile.check().map_err(at)?;
        let Profile { auth, ca_file, client_cert, endpoints, .. } = &mut profile;
        let others = [ca_file.as_mut(), client_cert.as_mut(), endpoints.as_mut()];
        let of_auth = match auth {
            ProfileAuth::ApiKey { private_key, passphrase_file, .. } => {
                [Some(private_key), passphrase_file.as_mut()]
            }
            ProfileAuth::OAuth { store, passphrase_file, .. } => {
                [store.as_mut(), passphrase_file.as_mut()]
            }
            ProfileAuth::None => [None, None],
        };
        for file in of_auth.into_iter().chain(others).flatten() {
            if file.as_os_str().as_encoded_bytes().contains(&0) {
                return Err(at("a path has the character U+0000, which no path can have"));
            }
            *file = folder.join(expand_user(file));
        }
        Ok(profile)
    }

    /// Returns the id of the application to which the service grants its rate; none without
    /// credentials.
    pub fn application(&self) -> Option<&str> {
        match &self.auth {
            ProfileAuth::None => None,
            ProfileAuth::ApiKey { key_id, .. } => Some(key_id),
            ProfileAuth::OAuth { client_id, .. } => Some(client_id),
        }
    }

    fn check_rate_limit(&self) -> Result<(), &'static str> {
        match self.rate_limit {
            None if self.rate_limit_shared => {
                Err("rate_limit_shared needs `rate_limit`, the requests per second")
            }
            Some(rate) if !(0.001..=1_000_000.0).contains(&rate) => Err(
                "rate_limit is out of range; expected requests per second from 0.001 to 1000000",
            ),
            _ => Ok(()),
        }
    }

    /// Returns true if a command prints the profile's passphrase.
    pub(super) fn runs_command(&self) -> bool {
        self.passphrase().1.is_some()
    }

    /// Returns the file or the command of the passphrase, and true if there is an encrypted file to
    /// open with it.
    fn passphrase(&self) -> (Option<&Path>, Option<&[String]>, bool) {
        match &self.auth {
            ProfileAuth::None => (None, None, false),
            ProfileAuth::ApiKey { passphrase_file, passphrase_command, .. } => {
                (passphrase_file.as_deref(), passphrase_command.as_deref(), true)
            }
            ProfileAuth::OAuth { store, passphrase_file, passphrase_command, .. } => {
                (passphrase_file.as_deref(), passphrase_command.as_deref(), store.is_some())
            }
        }
    }

    /// Rejects members that exclude each other, and secrets.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.proxy.as_ref().is_some_and(|proxy| proxy.contains('@')) {
            return Err("proxy has a name or a password, and this file contains no secrets; use \
                        proxy = \"environment\" and the variable HTTPS_PROXY");
        }
        self.check_rate_limit()?;
        self.check_passphrase()
    }

    /// Checks that a passphrase comes from one source and belongs to an encrypted file.
    fn check_passphrase(&self) -> Result<(), &'static str> {
        let (file, command, encrypted) = self.passphrase();
        match (file, command) {
            (Some(_), Some(_)) => Err(
                "passphrase_file and passphrase_command are mutually exclusive; set one of them",
            ),
            (_, Some([])) => {
                Err("passphrase_command is empty; expected a program and its arguments")
            }
            (None, None) => Ok(()),
            _ if !encrypted => Err("a passphrase needs `store`, the encrypted file that it opens"),
            _ => Ok(()),
        }
    }
}

/// Reads a program and its arguments. The error names the key, which the kinds of credentials hide,
/// but not the value: an argument may be a secret.
fn command<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let value = Value::deserialize(from)?;
    let what = match &value {
        Value::Array(_) => "a list of other values",
        Value::String(_) => "a string",
        _ => "a value of another type",
    };
    serde_json::from_value(value).map(Some).map_err(|_| {
        let expected =
            "a list of strings: the program and its arguments, such as [\"pass\", \"boardlot\"]";
        D::Error::custom(format!("auth.passphrase_command is {what}; expected {expected}"))
    })
}
