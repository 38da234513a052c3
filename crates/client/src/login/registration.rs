//! The client of a login: the registration of the last login, the caller's own, or a new one.

use tokio::net::TcpListener;

use super::{callback::redirect_uri, endpoints::send, options::LoginOptions};
use crate::{
    api::{Argument, REGISTER},
    auth::{RegisteredClient, Registration, blocking, store::registration_key},
    decode::parse_registration,
    error::{Error, Result},
    http::Transport,
};

/// Returns the client to log in with, and a socket on the port of its redirect URI. Registers a
/// client if the last one cannot be used.
pub async fn client(
    transport: &Transport,
    options: &LoginOptions,
) -> Result<(TcpListener, Registration)> {
    let stored = stored_client(transport, options).await?;
    let unusable = |error: std::io::Error| {
        let port = options.redirect_port;
        let advice = "choose another port, or 0 for a free one";
        Error::config(format!("redirect_port {port} {}; {advice}", reason(&error)))
            .caused_by(&error)
    };
    if let Some(stored) = stored {
        match bind(stored.redirect_port).await {
            Ok(socket) => return Ok((socket, stored)),
            Err(error) if options.client_id.is_some() => {
                return Err(Error::config(format!(
                    "port {}, which is in the registered redirect URI of client_id, {}; try again later, \
                     or log in without client_id, which registers another client",
                    stored.redirect_port,
                    reason(&error),
                ))
                .caused_by(&error));
            }
            Err(_) => {}
        }
    }
    if let Some(client_id) = &options.client_id {
        if options.redirect_port == 0 {
            return Err(Error::config(
                "client_id was passed without redirect_port; expected the port that the client is \
                 registered with, since the service matches http://127.0.0.1:PORT/callback exactly",
            ));
        }
        let socket = bind(options.redirect_port).await.map_err(unusable)?;
        return Ok((socket, Registration::new(client_id.clone(), None, options.redirect_port)));
    }
    let socket = bind(options.redirect_port).await.map_err(unusable)?;
    let port = socket.local_addr().map_err(unusable)?.port();
    let redirect_uris = [redirect_uri(port)];
    let client =
        register(transport, &redirect_uris, &options.client_name, options.confidential).await?;
    let mut registration = Registration::new(client.client_id, client.client_secret, port);
    registration.confidential = options.confidential;
    Ok((socket, registration))
}

/// Returns the client of the last login, if it matches the options.
async fn stored_client(
    transport: &Transport,
    options: &LoginOptions,
) -> Result<Option<Registration>> {
    let (store, key) = (options.store.clone(), registration_key(transport.base.as_str()));
    let stored = blocking(move || {
        let Some(bytes) = store.load(&key)? else { return Ok(None) };
        Registration::read(&bytes, &format!("the store's entry '{key}'")).map(Some)
    })
    .await?;
    Ok(stored.filter(|stored| {
        let port = options.redirect_port;
        options.client_id.as_ref().is_none_or(|wanted| *wanted == stored.client_id)
            && (port == 0 || port == stored.redirect_port)
            && (options.client_id.is_some() || options.confidential == stored.confidential)
    }))
}

/// Registers a client with these redirect URIs.
pub async fn register(
    transport: &Transport,
    redirect_uris: &[String],
    client_name: &str,
    confidential: bool,
) -> Result<RegisteredClient> {
    let method = if confidential { "client_secret_post" } else { "none" };
    let texts = |texts: &[&str]| Argument::Texts(texts.iter().map(|&t| t.to_owned()).collect());
    let arguments = [
        ("redirect_uris", Argument::Texts(redirect_uris.to_vec())),
        ("token_endpoint_auth_method", Argument::text(method)),
        ("grant_types", texts(&["authorization_code", "refresh_token"])),
        ("response_types", texts(&["code"])),
        ("client_name", Argument::text(client_name)),
    ];
    let client = send(transport, &REGISTER, &arguments, parse_registration).await?;
    Ok(RegisteredClient {
        redirect_uris: client.redirect_uris.or_else(|| Some(redirect_uris.to_vec())),
        ..client
    })
}

/// Returns the reason why a port cannot be opened.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "is already in use".to_owned(),
        _ => format!("cannot be opened: {error}"),
    }
}

async fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).await
}
