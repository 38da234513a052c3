//! The options of a client. The constructors of `Client` and `AsyncClient` read their arguments by
//! this table, and `tools/generate`, which includes this file, makes their signatures and
//! docstrings from it. An option that the core uses sets a field of `http::TransportOptions`; the
//! default of the field is the default of the option.

#![allow(dead_code, reason = "the extension and the generator each read their own part")]

use std::{sync::Arc, time::Duration};

use http::HeaderMap;

use boardlot_client::extension::http::{
    ClientIdentity, ClientRate, ConnectOptions, TransportOptions,
};

/// One option of a client: a keyword argument of its constructor.
#[derive(Debug, Clone, Copy)]
pub struct ClientOption {
    /// The keyword.
    pub name: &'static str,
    /// The values that the option takes, and the field of the core that they set.
    pub kind: OptionKind,
    /// A phrase for the docstring.
    pub doc: &'static str,
}

/// A field of the core's options. Its value in `TransportOptions::default()` is the option's
/// default.
pub type Field<T> = fn(&mut TransportOptions) -> &mut T;

/// The values that an option takes. `None` always selects the default.
#[derive(Debug, Clone, Copy)]
pub enum OptionKind {
    /// An `ApiKey`, a `BearerToken` or an `OAuth`.
    Credentials,
    /// The name of a profile in `config.toml`.
    Profile,
    /// A `Recorder` or a `Replay`.
    Cassette,
    /// A function that is called with a `RequestEvent`.
    RequestHook,
    /// A function that is called with a `ResponseEvent`.
    ResponseHook,
    /// A WebSocket address, which is validated and not used by the core.
    WebSocketUrl,
    /// A positive number of seconds, at most a day.
    Seconds(Field<Duration>),
    /// An integer from `min` to `max`.
    Integer {
        /// The lowest value.
        min: usize,
        /// The highest value.
        max: usize,
        /// Reads the field.
        get: fn(&TransportOptions) -> usize,
        /// Sets the field.
        set: fn(&mut TransportOptions, usize),
    },
    /// A number of requests per second, or a `RateLimit`.
    Rate(Field<Option<ClientRate>>),
    /// A mapping of header names to values.
    Headers(Field<HeaderMap>),
    /// True or false.
    Flag(Field<bool>),
    /// An option for connecting, which the functions for logins take too.
    Connect(ConnectKind),
}

/// The values that an option for connecting takes. `None` always selects the default.
#[derive(Debug, Clone, Copy)]
pub enum ConnectKind {
    /// A positive number of seconds, at most a day.
    Seconds(fn(&mut ConnectOptions) -> &mut Duration),
    /// An integer from `min` to `max`.
    Integer {
        /// The lowest value.
        min: usize,
        /// The highest value.
        max: usize,
        /// The field.
        field: fn(&mut ConnectOptions) -> &mut usize,
    },
    /// A string.
    Proxy(fn(&mut ConnectOptions) -> &mut Option<String>),
    /// The path of a file of certificates; the field gets the contents of the file.
    CertificateFile(fn(&mut ConnectOptions) -> &mut Option<Arc<[u8]>>),
    /// The path of a file with a certificate and its key, or the paths of a file for each.
    ClientCertificate(fn(&mut ConnectOptions) -> &mut Option<Arc<ClientIdentity>>),
}

/// The options for connecting, in the order of the signature: their names and kinds.
pub fn connect_options() -> impl Iterator<Item = (&'static str, ConnectKind)> {
    CLIENT_OPTIONS.iter().filter_map(|option| match option.kind {
        OptionKind::Connect(kind) => Some((option.name, kind)),
        _ => None,
    })
}

/// Every option, in the order of the signature.
pub const CLIENT_OPTIONS: &[ClientOption] = &[
    ClientOption {
        name: "auth",
        kind: OptionKind::Credentials,
        doc: "the credentials: an `ApiKey`, a `BearerToken` or an `OAuth`",
    },
    ClientOption {
        name: "profile",
        kind: OptionKind::Profile,
        doc: "the name of a profile in `config.toml`, which has a base URL and says where the \
              credentials are stored",
    },
    ClientOption {
        name: "timeout",
        kind: OptionKind::Seconds(|options| &mut options.timeout),
        doc: "seconds for one attempt, including the time to connect",
    },
    ClientOption {
        name: "connect_timeout",
        kind: OptionKind::Connect(ConnectKind::Seconds(|options| &mut options.timeout)),
        doc: "seconds for connecting",
    },
    ClientOption {
        name: "max_retries",
        kind: OptionKind::Integer {
            min: 0,
            max: 100,
            get: |options| options.max_retries as usize,
            set: |options, number| options.max_retries = u32::try_from(number).unwrap_or(u32::MAX),
        },
        doc: "how many times a failed request is sent again, if that is safe",
    },
    ClientOption {
        name: "rate_limit",
        kind: OptionKind::Rate(|options| &mut options.rate_limit),
        doc: "requests per second of this client, or a `RateLimit` that others share; None: \
              unlimited",
    },
    ClientOption {
        name: "max_connections",
        kind: OptionKind::Connect(ConnectKind::Integer {
            min: 1,
            max: 65_536,
            field: |options| &mut options.max_connections,
        }),
        doc: "how many requests may be in flight at once",
    },
    ClientOption {
        name: "max_body_bytes",
        kind: OptionKind::Integer {
            min: 1,
            max: isize::MAX as usize,
            get: |options| options.max_body_bytes,
            set: |options, number| options.max_body_bytes = number,
        },
        doc: "the largest response body, after decompression",
    },
    ClientOption {
        name: "proxy",
        kind: OptionKind::Connect(ConnectKind::Proxy(|options| &mut options.proxy)),
        doc: "the URL of a proxy, or `\"environment\"` for the one in `HTTPS_PROXY`, `ALL_PROXY` and \
              `NO_PROXY`, which are ignored otherwise",
    },
    ClientOption {
        name: "ca_file",
        kind: OptionKind::Connect(ConnectKind::CertificateFile(|options| &mut options.ca_file)),
        doc: "a PEM bundle of certificates to trust in addition to the system's",
    },
    ClientOption {
        name: "client_cert",
        kind: OptionKind::Connect(ConnectKind::ClientCertificate(|options| {
            &mut options.client_cert
        })),
        doc: "the certificate by which the client identifies itself to the server: a PEM file with \
              certificate and key, or `(certificate, key)`",
    },
    ClientOption {
        name: "headers",
        kind: OptionKind::Headers(|options| &mut options.headers),
        doc: "headers to send with every request",
    },
    ClientOption {
        name: "ws_quote_url",
        kind: OptionKind::WebSocketUrl,
        doc: "the address of the quote WebSocket; validated, and available as an attribute",
    },
    ClientOption {
        name: "ws_trade_url",
        kind: OptionKind::WebSocketUrl,
        doc: "the address of the trade WebSocket; validated, and available as an attribute",
    },
    ClientOption {
        name: "on_request",
        kind: OptionKind::RequestHook,
        doc: "called before each request is sent, with its endpoint, path and attempt; may return \
              headers to add",
    },
    ClientOption {
        name: "on_response",
        kind: OptionKind::ResponseHook,
        doc: "called after each request, also with its status and duration",
    },
    ClientOption {
        name: "cassette",
        kind: OptionKind::Cassette,
        doc: "a `Recorder`, which writes the traffic to a file, or a `Replay`, which responds from \
              such a file without a network",
    },
    ClientOption {
        name: "read_only",
        kind: OptionKind::Flag(|options| &mut options.read_only),
        doc: "refuse requests that could change data: only GET is sent, and the POST of `plate_stocks`",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_options_for_connecting_is_an_option_of_clients_and_logins() {
        let mut options = ConnectOptions::default();
        for (_, kind) in connect_options() {
            match kind {
                ConnectKind::Seconds(field) => *field(&mut options) = Duration::from_secs(77),
                ConnectKind::Integer { field, .. } => *field(&mut options) = 77,
                ConnectKind::Proxy(field) => *field(&mut options) = Some("77".to_owned()),
                ConnectKind::CertificateFile(field) => *field(&mut options) = Some([77].into()),
                ConnectKind::ClientCertificate(field) => *field(&mut options) = None,
            }
        }
        // After a field is added, this line does not compile until the field is an option.
        let (timeout, max_connections, proxy, ca_file, client_cert) = options.fields();
        assert_eq!(client_cert, None);
        assert_eq!(timeout, Duration::from_secs(77));
        assert_eq!(max_connections, 77);
        assert_eq!(proxy, Some("77"));
        assert_eq!(ca_file, Some(&[77].into()));
    }
}
