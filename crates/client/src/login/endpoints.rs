//! Requests to the OAuth endpoints.

use crate::{
    api::{Argument, Endpoint},
    error::Result,
    http::{HttpResponse, RequestPlan, Transport},
};

/// Sends a request to an endpoint and parses the response.
pub async fn send<T>(
    transport: &Transport,
    endpoint: &Endpoint,
    arguments: &[(&str, Argument)],
    parse: fn(&HttpResponse) -> Result<T>,
) -> Result<T> {
    let plan = RequestPlan::new(endpoint, arguments)?;
    transport.call_unauthorized(&transport.request(&plan, None, None)?, parse).await
}
