//! The exception classes of `boardlot.errors`, and which of them stands for which error.

use super::{Error, ErrorKind, FailureClass};

macro_rules! exception_classes {
    ($($name:ident: $($base:ident),+ => $hint:literal;)+) => {
        /// An exception class of `boardlot.errors`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ExceptionClass {
            $(#[doc = concat!("`boardlot.errors.", stringify!($name), "`.")] $name,)+
        }

        impl ExceptionClass {
            /// Every class, bases before the classes derived from them.
            pub const ALL: &[ExceptionClass] = &[$(ExceptionClass::$name),+];

            /// The name of the class in Python.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ExceptionClass::$name => stringify!($name),)+
                }
            }

            /// The names of its bases: one of these classes, and perhaps a built-in exception.
            pub const fn bases(self) -> &'static [&'static str] {
                match self {
                    $(ExceptionClass::$name => &[$(stringify!($base)),+],)+
                }
            }

            /// Advice for an error of this class, unless it has a hint of its own; empty if the class alone
            /// tells nothing to do.
            pub const fn hint(self) -> &'static str {
                match self {
                    $(ExceptionClass::$name => $hint,)+
                }
            }
        }
    };
}

exception_classes! {
    BoardlotError: Exception => "";
    ConfigError: BoardlotError, ValueError => "";
    InternalError: BoardlotError, RuntimeError =>
        "Report this as a bug, with the message and the call that raised it.";
    TransportError: BoardlotError, ConnectionError =>
        "Check the base URL, the network and the proxy, then call again.";
    RequestTimeout: TransportError, TimeoutError =>
        "Call again, or set a larger `timeout`.";
    ProtocolError: BoardlotError =>
        "Check that the base URL is the API's own and that no proxy or login page responds in \
         its place.";
    PaginationError: ProtocolError =>
        "Resume from `.checkpoint` later; report the error if it repeats.";
    ApiError: BoardlotError =>
        "Ask the service about the code or status, which its documentation does not explain; \
         `.body` is its response.";
    InvalidParameter: ApiError, ValueError =>
        "Check the arguments: the docstring of the method says what each of them accepts.";
    InvalidSymbol: ApiError, LookupError =>
        "Verify that the code exists and is written as {market}.{code}.";
    ServiceError: ApiError =>
        "Call again later; report the error if it persists.";
    AuthenticationError: ApiError =>
        "Check the key id and that its public key was uploaded, or check the token.";
    ClockSkewError: AuthenticationError =>
        "Check this machine's clock, that the uploaded key is the one that signs, and that \
         you do not send too many requests.";
    PermissionDenied: ApiError =>
        "Log in again and allow what is missing on the consent page, or use another account or key.";
    RateLimited: ApiError =>
        "Send fewer requests: set `rate_limit`.";
    OAuthError: BoardlotError =>
        "Start the login again.";
    LoginRequired: OAuthError =>
        "Log in again: run `boardlot login`, or call `boardlot.login(base_url)`.";
    StoreError: BoardlotError =>
        "Check the owner and permissions of the file; for a token store, also the passphrase, \
         or that the keychain is unlocked. Stored tokens are unchanged.";
}

impl Error {
    /// The exception class that stands for this error.
    pub fn exception_class(&self) -> ExceptionClass {
        match self.kind.as_ref() {
            ErrorKind::Config(_) => ExceptionClass::ConfigError,
            ErrorKind::Internal(_) => ExceptionClass::InternalError,
            ErrorKind::Transport { .. } => ExceptionClass::TransportError,
            ErrorKind::Timeout(_) => ExceptionClass::RequestTimeout,
            ErrorKind::Protocol { .. } => ExceptionClass::ProtocolError,
            ErrorKind::Pagination(_) => ExceptionClass::PaginationError,
            ErrorKind::Api(failure) => failure.class.exception_class(),
            ErrorKind::OAuth { .. } | ErrorKind::GrantRejected { .. } => ExceptionClass::OAuthError,
            ErrorKind::LoginRequired { .. } => ExceptionClass::LoginRequired,
            ErrorKind::Store(_) => ExceptionClass::StoreError,
        }
    }
}

impl FailureClass {
    /// The exception class that stands for a failure of this class.
    pub const fn exception_class(self) -> ExceptionClass {
        match self {
            FailureClass::InvalidParameter => ExceptionClass::InvalidParameter,
            FailureClass::InvalidSymbol => ExceptionClass::InvalidSymbol,
            FailureClass::Service => ExceptionClass::ServiceError,
            FailureClass::Authentication => ExceptionClass::AuthenticationError,
            FailureClass::ClockSkew => ExceptionClass::ClockSkewError,
            FailureClass::PermissionDenied => ExceptionClass::PermissionDenied,
            FailureClass::RateLimited => ExceptionClass::RateLimited,
            FailureClass::Other => ExceptionClass::ApiError,
        }
    }
}
