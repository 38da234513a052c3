//! The classes of errors: a name for each, and advice.

use super::{Error, ErrorKind, FailureClass};

macro_rules! error_classes {
    ($($name:ident, $doc:literal => $hint:literal;)+) => {
        /// The class of an error, from [`Error::class`]: the kind of error, and for a rejection
        /// by the service its meaning. The exceptions of the Python package have the same names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ErrorClass {
            $(#[doc = $doc] $name,)+
        }

        impl ErrorClass {
            /// Every class.
            pub const ALL: &[ErrorClass] = &[$(ErrorClass::$name),+];

            /// Returns the name of the class.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ErrorClass::$name => stringify!($name),)+
                }
            }

            /// Returns advice for an error of this class, unless the error has a hint of its own;
            /// empty if the class alone suggests no remedy.
            pub const fn hint(self) -> &'static str {
                match self {
                    $(ErrorClass::$name => $hint,)+
                }
            }
        }
    };
}

error_classes! {
    ConfigError, "An invalid argument or setting; nothing was sent." => "";
    InternalError, "An impossible state: a bug in boardlot itself." =>
        "Report this as a bug, with the message and the call that raised it.";
    TransportError, "There was no response: the server is down, or the network or the proxy failed." =>
        "Check the base URL, the network and the proxy, then call again.";
    RequestTimeout, "There was no response in time." =>
        "Call again, or set a larger `timeout`.";
    ProtocolError, "A response in an undocumented format." =>
        "Check that the base URL is the API's own and that no proxy or login page responds in \
         its place.";
    PaginationError, "A cursor that cannot be followed." =>
        "Resume from `.checkpoint` later; report the error if it repeats.";
    ApiError, "A rejection that the service document does not explain." =>
        "Ask the service about the code or status, which its documentation does not explain.";
    InvalidParameter, "The service rejected an argument." =>
        "Check the arguments: the documentation of the endpoint says what each of them accepts.";
    InvalidSymbol, "The service does not know the symbol." =>
        "Verify that the code exists and is written as {market}.{code}.";
    ServiceError, "An error of the service itself." =>
        "Call again later; report the error if it persists.";
    AuthenticationError, "The service rejected the key, its signature or the token." =>
        "Check the key id and that its public key was uploaded, or check the token.";
    ClockSkewError, "The time of a signature was too far from the service's clock." =>
        "Check this machine's clock. The code has also been seen for a signature by a key other than the \
         uploaded one, and for too many requests.";
    PermissionDenied, "The credentials do not allow the request." =>
        "Log in again and grant the missing permission on the consent page, or use another account or key.";
    RateLimited, "Too many requests." =>
        "Send fewer requests: set `rate_limit`.";
    OAuthError, "The authorization server, or the user on its page, rejected the login." =>
        "Start the login again.";
    LoginRequired, "The tokens cannot be used or refreshed: a new login is needed." =>
        "Log in again.";
    StoreError, "A token store, or the file of a shared rate limit, failed." =>
        "Check the owner and permissions of the file; for a token store, also the passphrase, \
         or that the keychain is unlocked. Stored tokens are unchanged.";
}

impl Error {
    /// Returns the class of this error.
    pub fn class(&self) -> ErrorClass {
        match self.kind.as_ref() {
            ErrorKind::Config(_) => ErrorClass::ConfigError,
            ErrorKind::Internal(_) => ErrorClass::InternalError,
            ErrorKind::Transport { .. } => ErrorClass::TransportError,
            ErrorKind::Timeout(_) => ErrorClass::RequestTimeout,
            ErrorKind::Protocol { .. } => ErrorClass::ProtocolError,
            ErrorKind::Pagination(_) => ErrorClass::PaginationError,
            ErrorKind::Api(failure) => failure.class.error_class(),
            ErrorKind::OAuth { .. } | ErrorKind::GrantRejected { .. } => ErrorClass::OAuthError,
            ErrorKind::LoginRequired { .. } => ErrorClass::LoginRequired,
            ErrorKind::Store(_) => ErrorClass::StoreError,
        }
    }
}

impl FailureClass {
    /// Returns the class of the error for a failure of this class.
    pub const fn error_class(self) -> ErrorClass {
        match self {
            FailureClass::InvalidParameter => ErrorClass::InvalidParameter,
            FailureClass::InvalidSymbol => ErrorClass::InvalidSymbol,
            FailureClass::Service => ErrorClass::ServiceError,
            FailureClass::Authentication => ErrorClass::AuthenticationError,
            FailureClass::ClockSkew => ErrorClass::ClockSkewError,
            FailureClass::PermissionDenied => ErrorClass::PermissionDenied,
            FailureClass::RateLimited => ErrorClass::RateLimited,
            FailureClass::Other => ErrorClass::ApiError,
        }
    }
}
