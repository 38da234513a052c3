//! Entries in the Secret Service, over D-Bus.
//!
//! A crate of its own because D-Bus is generic code, which is compiled where it is used: compiled here for
//! size, the wheel is 0.2 MB smaller.

use std::{collections::HashMap, future::Future, pin::Pin};

use secret_service::{EncryptionType, Error, Item, SecretService};
use zeroize::Zeroizing;

/// A call that has not begun. Boxed, so that it is compiled in this crate.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

const CONTENT_TYPE: &str = "application/octet-stream";

/// An entry of an application. Each call has a connection of its own: a forked child has none of its
/// parent's.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The application.
    pub application: &'a str,
    /// The entry's name there.
    pub key: &'a str,
}

impl<'a> Entry<'a> {
    /// Loads the stored value, if there is one.
    pub fn load(self) -> Call<'a, Option<Zeroizing<Vec<u8>>>> {
        Box::pin(async move {
            let service = SecretService::connect(EncryptionType::Dh).await?;
            match self.find(&service).await? {
                Some(item) => Ok(Some(Zeroizing::new(item.get_secret().await?))),
                None => Ok(None),
            }
        })
    }

    /// Stores the value, replacing an earlier one.
    pub fn save(self, value: &'a [u8]) -> Call<'a, ()> {
        Box::pin(async move {
            let service = SecretService::connect(EncryptionType::Dh).await?;
            if let Some(item) = self.find(&service).await? {
                return item.set_secret(value, CONTENT_TYPE).await;
            }
            let collection = service.get_any_collection().await?;
            if collection.is_locked().await? {
                collection.unlock().await?;
            }
            let label = format!("{}: {}", self.application, self.key);
            let attributes = self.attributes();
            collection.create_item(&label, attributes, value, true, CONTENT_TYPE).await?;
            Ok(())
        })
    }

    /// Deletes the entry, if there is one.
    pub fn delete(self) -> Call<'a, ()> {
        Box::pin(async move {
            let service = SecretService::connect(EncryptionType::Dh).await?;
            match self.find(&service).await? {
                Some(item) => item.delete().await,
                None => Ok(()),
            }
        })
    }

    async fn find<'s>(self, service: &'s SecretService<'s>) -> Result<Option<Item<'s>>, Error> {
        let found = service.search_items(self.attributes()).await?;
        if let Some(item) = found.unlocked.into_iter().next() {
            return Ok(Some(item));
        }
        let Some(item) = found.locked.into_iter().next() else { return Ok(None) };
        item.unlock().await?;
        Ok(Some(item))
    }

    fn attributes(self) -> HashMap<&'a str, &'a str> {
        HashMap::from([("application", self.application), ("key", self.key)])
    }
}
