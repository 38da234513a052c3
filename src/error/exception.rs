//! The exception classes of `boardlot.errors`, and which of them stands for which error.

use super::{Error, ErrorKind, FailureClass};

macro_rules! exception_classes {
    ($($name:ident: $($base:ident),+;)+) => {
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
        }
    };
}

exception_classes! {
    BoardlotError: Exception;
    ConfigError: BoardlotError, ValueError;
    InternalError: BoardlotError, RuntimeError;
    TransportError: BoardlotError, ConnectionError;
    RequestTimeout: TransportError, TimeoutError;
    ProtocolError: BoardlotError;
    PaginationError: ProtocolError;
    ApiError: BoardlotError;
    InvalidParameter: ApiError, ValueError;
    InvalidSymbol: ApiError, LookupError;
    ServiceError: ApiError;
    AuthenticationError: ApiError;
    ClockSkewError: AuthenticationError;
    PermissionDenied: ApiError;
    RateLimited: ApiError;
    OAuthError: BoardlotError;
    LoginRequired: OAuthError;
    StoreError: BoardlotError;
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
