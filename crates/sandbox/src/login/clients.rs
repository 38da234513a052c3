//! The registered clients.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::http::StatusCode;

use super::error::OAuthError;
use crate::{
    credentials::hashed_store::{Hash, equal, hash},
    sync::lock,
};

const CLIENTS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Clients(Mutex<HashMap<String, Arc<Client>>>);

#[derive(Debug)]
pub struct Client {
    pub id: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// Whether it registered for refreshing.
    pub refreshes: bool,
    /// The hash of a confidential client's secret.
    pub secret: Option<Hash>,
}

impl Clients {
    pub fn get(&self, id: &str) -> Option<Arc<Client>> {
        lock(&self.0).get(id).cloned()
    }

    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    pub fn add(&self, client: Client) -> Result<(), OAuthError> {
        let mut all = lock(&self.0);
        if all.len() >= CLIENTS_MAX {
            // Removing an old one would end a login that works.
            return Err(OAuthError {
                status: StatusCode::SERVICE_UNAVAILABLE,
                error: "temporarily_unavailable",
                description: "too many clients have registered; reset the sandbox".to_owned(),
            });
        }
        all.insert(client.id.clone(), Arc::new(client));
        Ok(())
    }
}

impl Client {
    pub fn is_confidential(&self) -> bool {
        self.secret.is_some()
    }

    pub fn has_secret(&self, presented: &str) -> bool {
        self.secret.is_some_and(|secret| equal(&secret, &hash(presented)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_clients_is_bounded() {
        let clients = Clients::default();
        let client = |number: usize| Client {
            id: format!("c{number}"),
            name: String::new(),
            redirect_uris: Vec::new(),
            refreshes: false,
            secret: None,
        };
        for number in 0..CLIENTS_MAX {
            clients.add(client(number)).expect("room");
        }
        let refused = clients.add(client(CLIENTS_MAX)).expect_err("no room");
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(clients.get("c0").is_some());
        clients.clear();
        assert!(clients.get("c0").is_none() && clients.add(client(0)).is_ok());
    }
}
