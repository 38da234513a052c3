//! The refresh of an access token, over the same connections and within the same limits as the calls.

use std::sync::Arc;

use super::{Draft, EventKind, Sender};
use crate::{
    api::{Argument, TOKEN},
    auth::{RefreshFuture, RefreshGrant, TokenEndpoint},
    error::Result,
};

impl Sender {
    /// This sender as one that refreshes tokens: it bears none itself.
    pub(super) fn token_endpoint(&self) -> Arc<dyn TokenEndpoint> {
        Arc::new(self.without_credentials())
    }
}

impl TokenEndpoint for Sender {
    fn refresh(&self, grant: RefreshGrant) -> RefreshFuture<'_> {
        Box::pin(async move {
            let draft = draft(&grant)?;
            let prepared = draft.prepare(self.base(), &self.options().headers)?;
            let outcome = self.send(&prepared, self.readers().token).await;
            if let Some(span) = self.path_span(prepared.method.as_str(), prepared.url.path()) {
                let what = match &outcome {
                    Ok(_) => EventKind::TokenRefreshed,
                    Err(error) => EventKind::TokenNotRefreshed { reason: error.kind.summary() },
                };
                span.tell(what).await;
            }
            outcome
        })
    }
}

fn draft(grant: &RefreshGrant) -> Result<Draft> {
    let text = |value: &str| Argument::Text(value.to_owned());
    let mut arguments = vec![
        ("grant_type", text("refresh_token")),
        ("refresh_token", text(&grant.refresh_token)),
        ("client_id", text(&grant.client_id)),
    ];
    if let Some(secret) = &grant.client_secret {
        arguments.push(("client_secret", text(secret)));
    }
    let mut draft = Draft::of(&TOKEN, &arguments)?;
    // The refresh token is not used up, so asking twice does the same as asking once.
    draft.idempotent = true;
    Ok(draft)
}
