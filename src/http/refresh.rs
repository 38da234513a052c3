//! The refresh of an access token, over the same connections and within the same limits as calls.

use super::{
    EventKind, RequestPlan,
    call::{Anonymous, call},
    transport::Transport,
};
use crate::{
    api::{Argument, SecretText, TOKEN},
    auth::{RefreshFuture, RefreshGrant, TokenEndpoint},
    decode::parse_token_response,
    error::Result,
};

impl TokenEndpoint for Transport {
    fn refresh(&self, grant: RefreshGrant) -> RefreshFuture<'_> {
        Box::pin(async move {
            let request = self.request(&plan(grant)?, None, None)?;
            let outcome = call(self, &mut Anonymous, &request, parse_token_response).await;
            if let Some(span) = self.span(&request, 1) {
                let kind = match &outcome {
                    Ok(_) => EventKind::TokenRefreshed,
                    Err(error) => EventKind::TokenNotRefreshed { reason: error.kind.summary() },
                };
                span.emit(kind).await;
            }
            outcome
        })
    }
}

fn plan(grant: RefreshGrant) -> Result<RequestPlan> {
    let text = |value: &str| Argument::Text(value.to_owned());
    let mut arguments = vec![
        ("grant_type", text("refresh_token")),
        ("refresh_token", Argument::Secret(SecretText(grant.refresh_token))),
        ("client_id", text(&grant.client_id)),
    ];
    if let Some(secret) = grant.client_secret {
        arguments.push(("client_secret", Argument::Secret(SecretText(secret))));
    }
    // A refresh token can be used again, so a refresh is idempotent; the exchange of a code is not.
    RequestPlan::new(&TOKEN, &arguments).map(RequestPlan::idempotent)
}
