//! Requests to the OAuth endpoints.

use zeroize::Zeroizing;

use crate::{
    api::{Argument, Endpoint, SecretText},
    error::Result,
    http::{HttpResponse, RequestPlan, Sender},
};

/// Sends a request to an endpoint and parses the response.
pub async fn send<T>(
    sender: &Sender,
    endpoint: &Endpoint,
    arguments: &[(&str, Argument)],
    parse: fn(&HttpResponse) -> Result<T>,
) -> Result<T> {
    let plan = RequestPlan::new(endpoint, arguments)?;
    sender.call(&sender.request(&plan, None, None)?, parse).await
}

/// A string argument.
pub fn text(value: &str) -> Argument {
    Argument::Text(value.to_owned())
}

/// A secret argument, wiped from memory when it is dropped.
pub fn secret(value: &str) -> Argument {
    Argument::Secret(SecretText(Zeroizing::new(value.to_owned())))
}
