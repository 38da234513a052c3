//! Looks up host names with the system's resolver, on a thread for blocking jobs.

use std::{
    fs::File,
    net::{SocketAddr, ToSocketAddrs},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::os::threads;

/// The system's own resolver. The HTTP library's resolver panics or waits forever if no thread can
/// be started.
#[derive(Debug)]
pub struct ThreadResolver;

impl Resolve for ThreadResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port comes from the URL.
            let look_up = move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                // Without a free file descriptor, the system reports that it does not know the
                // name.
                let missing = || File::open("/dev/null").err().filter(|_| cfg!(unix));
                found.map_err(|error| missing().unwrap_or(error))
            };
            let addresses: Vec<SocketAddr> = threads::run_for(look_up)?.await??.collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
