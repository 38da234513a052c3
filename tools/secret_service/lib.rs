//! Entries in the Secret Service, over D-Bus.
//!
//! A crate of its own, so that it is compiled for size.

use std::collections::HashMap;

use dbus_secret_service::{EncryptionType, Error, Item, SecretService};
use zeroize::Zeroizing;

const CONTENT_TYPE: &str = "application/octet-stream";
/// Long enough for a person to type the keychain's password.
const PROMPT_SECONDS: u64 = 120;

/// An entry of an application. Each call has a connection of its own, and waits.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The application.
    pub application: &'a str,
    /// The entry's name there.
    pub key: &'a str,
}

impl Entry<'_> {
    /// Loads the stored value, if there is one.
    pub fn load(self) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let service = connect()?;
        let item = self.find(&service)?;
        item.map(|item| item.get_secret().map(Zeroizing::new)).transpose()
    }

    /// Stores the value, replacing an earlier one.
    pub fn save(self, value: &[u8]) -> Result<(), Error> {
        let service = connect()?;
        if let Some(item) = self.find(&service)? {
            return item.set_secret(value, CONTENT_TYPE);
        }
        let collection = service.get_any_collection()?;
        if collection.is_locked()? {
            collection.unlock()?;
        }
        let label = format!("{}: {}", self.application, self.key);
        collection.create_item(&label, self.attributes(), value, true, CONTENT_TYPE).map(drop)
    }

    /// Deletes the entry, if there is one.
    pub fn delete(self) -> Result<(), Error> {
        let service = connect()?;
        self.find(&service)?.map_or(Ok(()), |item| item.delete())
    }

    fn find(self, service: &SecretService) -> Result<Option<Item<'_>>, Error> {
        let found = service.search_items(self.attributes())?;
        if let Some(item) = found.unlocked.into_iter().next() {
            return Ok(Some(item));
        }
        let Some(item) = found.locked.into_iter().next() else { return Ok(None) };
        item.unlock()?;
        Ok(Some(item))
    }

    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([("application", self.application), ("key", self.key)])
    }
}

fn connect() -> Result<SecretService, Error> {
    SecretService::connect_with_max_prompt_timeout(EncryptionType::Dh, PROMPT_SECONDS)
}
