//! The one service to which credentials belong.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::error::{Error, Result};

/// The service's address: unknown until the first client uses the credentials, and fixed from then
/// on. A signature covers neither host nor nonce, so one service could replay a request to another
/// one that knows the same key.
#[derive(Debug, Default)]
pub struct Origin(ArcSwapOption<String>);

impl Origin {
    /// Returns the address if it is already known.
    pub fn get(&self) -> Option<Arc<String>> {
        self.0.load_full()
    }

    /// Binds the credentials to this service. Fails if they are bound to another one.
    pub fn bind(&self, origin: &str) -> Result<()> {
        self.0.rcu(|known| known.clone().or_else(|| Some(Arc::new(origin.to_owned()))));
        match self.get() {
            Some(known) if *known != origin => Err(Error::config(format!(
                "auth: these credentials are in use for {known} and are not sent to {origin}; create \
                 separate credentials for that service"
            ))),
            _ => Ok(()),
        }
    }
}
