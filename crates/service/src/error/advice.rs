//! Advice on an error: how to resolve it.

use std::fmt;

/// Advice whose words differ between programs, because each has other names for the remedy. The
/// texts here are those of the Rust crate. A program with other names matches on the variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// Advice in the same words everywhere.
    Text(String),
    /// The password of an encrypted key is missing or wrong.
    KeyPassword,
    /// The file is not a private key that can be used.
    AnotherKey,
    /// The response is too large.
    LargerBody,
    /// The server's certificate comes from an authority that is not trusted.
    TrustAuthority,
    /// The server's certificate comes from another authority than the trusted one of the same name.
    CheckAuthority,
    /// The system trusts no authority.
    NoAuthorities,
    /// The proxy wants a user name and a password.
    ProxyPassword,
    /// This environment variable names a proxy that is not used.
    UnusedProxy(String),
    /// No server is listening.
    NotListening,
    /// The keychain is locked, or there is none.
    LockedKeychain,
    /// The client is closed.
    ClientClosed,
    /// The client has no credentials.
    NoCredentials,
    /// A list was passed for a single value.
    SeveralKeys,
    /// The records do not fit into columns.
    NoColumns,
    /// A value does not fit into its column.
    NullInColumn,
    /// Pages do not have the same columns.
    OneBatch,
    /// The service may send a field that is not declared.
    UndeclaredField,
    /// A list cannot be read in windows.
    OneCursor,
    /// More records follow a response that was requested alone: its request, the paging that the
    /// response shows, and the location of the records.
    MorePages {
        /// The HTTP method.
        method: String,
        /// The path.
        path: String,
        /// The name of the cursor; none if the list continues by its date range.
        cursor: Option<&'static str>,
        /// The location of the records, if it is known.
        rows: Option<String>,
    },
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        Advice::Text(text)
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        Advice::Text(text.to_owned())
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Advice::Text(text) => text,
            Advice::KeyPassword => {
                "The key itself is valid, so do not generate a new one: pass its password."
            }
            Advice::AnotherKey => {
                "Pass the private key whose public key you uploaded, Ed25519 or RSA in PKCS#8 or PKCS#1."
            }
            Advice::LargerBody => "Request smaller pages, or set a larger `max_body_bytes`.",
            Advice::TrustAuthority => {
                "If the certificate belongs to your network's proxy or to your own server, trust its \
                 authority: set `ca_file`. Otherwise another server is responding in the service's place."
            }
            Advice::CheckAuthority => {
                "The trusted authority's key did not sign the server's certificate: check that `ca_file` is \
                 the certificate of the authority that issued it. If it is, another server is responding in \
                 the service's place."
            }
            Advice::NoAuthorities => {
                "This system has no list of trusted authorities: install its package `ca-certificates`, name \
                 a PEM bundle by SSL_CERT_FILE, or set `ca_file`."
            }
            Advice::ProxyPassword => {
                "The proxy requires a user name and a password, or rejects those in its URL: set `proxy` to \
                 http://NAME:PASSWORD@HOST:PORT, with special characters percent-encoded, such as %40 for @."
            }
            Advice::UnusedProxy(variable) => {
                return write!(
                    out,
                    "{variable} is set, but not used: if the service can only be reached through that \
                     proxy, set `proxy` to \"environment\"."
                );
            }
            Advice::NotListening => {
                "No server is listening at this address: check the host and the port of the base URL; a \
                 sandbox that was closed does not listen either."
            }
            Advice::LockedKeychain => "Unlock it, or keep the tokens in an `EncryptedFileStore`.",
            Advice::ClientClosed => "Make calls before `close()`.",
            Advice::NoCredentials => "The client has no credentials: set them in its options.",
            Advice::SeveralKeys => "For several keys, make a call for each.",
            Advice::NoColumns => "Read the records one by one.",
            Advice::NullInColumn => {
                "Read the records one by one, or make invalid values null: `InvalidValues::Null`."
            }
            Advice::OneBatch => {
                "Read the list as a whole: its columns are chosen once all pages are there."
            }
            Advice::UndeclaredField => {
                "Correct the name; a field that is not declared is known once a record has it."
            }
            Advice::OneCursor => "Read the list by one cursor: `Windows::Number(1)`.",
            Advice::MorePages { .. } => {
                "Declare the paging of the endpoint, or request the pages one by one."
            }
        })
    }
}
