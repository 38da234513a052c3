//! The error type: the problem, its endpoint, and advice.

mod advice;
mod class;
mod error_class;
mod escapes;
mod nearest;
mod printable;
mod redact;
mod rejection;
mod resource;
mod unredacted;

use std::{fmt, time::Duration};

pub use advice::Advice;
pub use class::{CLOCK_OFFSET_CODE, Evidence, FailureClass, is_temporary_status};
pub use error_class::ErrorClass;
pub use nearest::{did_you_mean, nearest};
pub use printable::{excerpt, is_unprintable, printable, record_value};
pub use redact::{HELD_BYTES, Redactor, SHOWN_BYTES, Shown, held};
pub use rejection::{says_client_unknown, says_token_rejected};
pub use resource::{Refused, Resource, causes};
pub use unredacted::Unredacted;

/// A result whose error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, with the endpoint and the position of the iteration. It is shown as one line, without
/// its hint.
///
/// ```
/// # use boardlot_service::error::{Error, ErrorClass};
/// /// True if the program should wait and call again.
/// fn report(error: &Error) -> bool {
///     eprintln!("{}: {error}\n{}", error.class().name(), error.hint());
///     match error.class() {
///         ErrorClass::RateLimited => {
///             let wait = error.api_failure().and_then(|failure| failure.retry_after);
///             eprintln!("the service asks for a wait of {wait:?}");
///             true
///         }
///         ErrorClass::InvalidSymbol => false,
///         _ => error.retryable(),
///     }
/// }
/// assert!(!report(&Error::config("acc_id is missing")));
/// ```
///
/// Code of a program, such as a token store, creates an error from an [`ErrorKind`]:
/// `ErrorKind::Store(text).into()`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Error {
    /// The kind of error, with its details.
    pub kind: Box<ErrorKind>,
    /// The endpoint's name, or `METHOD /path` for a custom request.
    pub endpoint: Option<String>,
    /// The key that failed, in a request for many keys.
    pub key: Option<String>,
    /// The position at which a failed iteration can be resumed.
    pub checkpoint: Option<String>,
    /// Advice that is more specific than the advice of the kind, if there is any.
    #[doc(hidden)]
    pub advice: Option<Box<Advice>>,
    /// The login that is needed, if any; the hint ends with it.
    #[doc(hidden)]
    pub login: Option<Box<Login>>,
    /// The resource of the system that was missing, if any; the hint is about it alone.
    #[doc(hidden)]
    pub resource: Option<Resource>,
    /// True if the secrets of the error's call are redacted. They are not redacted in an error
    /// about a value of an earlier response.
    #[doc(hidden)]
    pub is_redacted: bool,
}

/// The delivery of a request without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// The request was not sent.
    NotSent,
    /// The service certainly did not process the request, and would process it on another
    /// connection.
    Unprocessed,
    /// The service may have processed the request.
    Unknown,
}

/// A login that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// The login of the profile with this name.
    Profile(String),
    /// A login at the service with this base URL.
    Service(String),
    /// The login of a user of a web application.
    OfUser,
}

/// Formats a sentence that asks for the login.
impl fmt::Display for Login {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Profile(name) => write!(out, "Log in again with the profile '{name}'."),
            Login::Service(url) => write!(out, "Log in again at {url}."),
            Login::OfUser => {
                out.write_str("Start a new login: send the user to the authorization URL.")
            }
        }
    }
}

/// The kinds of error.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An invalid argument or setting; nothing was sent.
    #[error("{0}")]
    Config(String),
    /// An impossible state: a bug in boardlot itself.
    #[error("{0}")]
    Internal(String),
    /// There was no response.
    #[error("{message}")]
    Transport {
        /// A description of the failure.
        message: String,
        /// Delivery of the request: the service may have acted on it.
        sent: Delivery,
    },
    /// There was no response in time.
    #[error("{0}")]
    Timeout(String),
    /// An undocumented response format.
    #[error("{message}{}", shown_body(body))]
    Protocol {
        /// A description of the problem.
        message: String,
        /// The beginning of the response body.
        body: String,
    },
    /// A cursor that cannot be followed.
    #[error("{0}")]
    Pagination(String),
    /// The service rejected the request.
    #[error("{0}")]
    Api(ApiFailure),
    /// The authorization server, or the user on its page, rejected the request.
    #[error("{}", with_description(error, description))]
    OAuth {
        /// The error code of RFC 6749.
        error: String,
        /// The server's description of it.
        description: String,
    },
    /// The token endpoint, or a server in front of it, rejected the grant in a form other than that
    /// of RFC 6749, section 5.2. Another attempt may succeed.
    #[error("{}", with_description(error, description))]
    GrantRejected {
        /// The code in the response, or `invalid_grant`.
        error: String,
        /// The description in the response.
        description: String,
    },
    /// The tokens cannot be used or refreshed: a new login is needed.
    #[error("{message}")]
    LoginRequired {
        /// The error code of RFC 6749, or `login_required`.
        error: String,
        /// The reason.
        message: String,
    },
    /// A token store, or the file of a shared rate limit, failed.
    #[error("{0}")]
    Store(String),
}

impl ErrorKind {
    /// Returns a summary without any text of the service, for logs.
    #[doc(hidden)]
    pub fn summary(&self) -> Shown {
        Shown::constant(match self {
            ErrorKind::Api(ApiFailure { code: Some(code), http_status, .. }) => {
                let text = format!("rejected by the service (code {code}, HTTP {http_status})");
                return Redactor::default().show(text);
            }
            ErrorKind::Api(ApiFailure { http_status, .. }) => {
                let text = format!("rejected by the service (HTTP {http_status})");
                return Redactor::default().show(text);
            }
            ErrorKind::Config(_) => "invalid argument",
            ErrorKind::Internal(_) => "internal error",
            ErrorKind::Transport { .. } => "no response",
            ErrorKind::Timeout(_) => "no response in time",
            ErrorKind::Protocol { .. } => "undocumented response format",
            ErrorKind::Pagination(_) => "pages that cannot be followed",
            ErrorKind::OAuth { .. } | ErrorKind::GrantRejected { .. } => {
                "rejected by the authorization server"
            }
            ErrorKind::LoginRequired { .. } => "login required",
            ErrorKind::Store(_) => "store failed",
        })
    }
}

impl ErrorKind {
    /// Returns the error code and the description of an authorization server, if one rejected the
    /// request or a login is needed.
    #[doc(hidden)]
    pub fn of_login(&self) -> Option<(String, String)> {
        match self {
            ErrorKind::OAuth { error, description }
            | ErrorKind::GrantRejected { error, description } => {
                Some((excerpt(error), excerpt(description)))
            }
            ErrorKind::LoginRequired { error, message } => Some((excerpt(error), message.clone())),
            ErrorKind::Config(_)
            | ErrorKind::Internal(_)
            | ErrorKind::Transport { .. }
            | ErrorKind::Timeout(_)
            | ErrorKind::Protocol { .. }
            | ErrorKind::Pagination(_)
            | ErrorKind::Api(_)
            | ErrorKind::Store(_) => None,
        }
    }
}

/// A response that rejects the request.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApiFailure {
    /// The meaning of the rejection.
    pub class: FailureClass,
    /// The HTTP status.
    pub http_status: u16,
    /// `ret_code` or `code` of the response.
    pub code: Option<i64>,
    /// `error.code` of the response.
    pub error_code: Option<String>,
    /// The service's message.
    pub message: String,
    /// The headers of the response.
    pub headers: Vec<(String, String)>,
    /// The beginning of the response body.
    pub body: String,
    /// Time that the service asks the client to wait.
    pub retry_after: Option<Duration>,
}

/// Shows neither the values of the headers nor the body.
impl fmt::Debug for ApiFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ApiFailure")
            .field("class", &self.class)
            .field("http_status", &self.http_status)
            .field("code", &self.code)
            .field("error_code", &self.error_code)
            .field("message", &self.message)
            .field("retry_after", &self.retry_after)
            .finish_non_exhaustive()
    }
}

impl ApiFailure {
    /// Creates a rejection with this meaning and HTTP status, without any other details.
    pub fn new(class: FailureClass, http_status: u16) -> Self {
        ApiFailure {
            class,
            http_status,
            code: None,
            error_code: None,
            message: String::new(),
            headers: Vec::new(),
            body: String::new(),
            retry_after: None,
        }
    }

    fn retryable(&self) -> bool {
        match self.class {
            FailureClass::Service | FailureClass::RateLimited => true,
            FailureClass::Other => is_temporary_status(self.http_status),
            FailureClass::InvalidParameter
            | FailureClass::InvalidSymbol
            | FailureClass::Authentication
            | FailureClass::ClockSkew
            | FailureClass::PermissionDenied => false,
        }
    }
}

impl Error {
    /// Creates the error for an invalid argument or setting.
    pub fn config(message: impl Into<String>) -> Self {
        ErrorKind::Config(message.into()).into()
    }

    /// Creates the error for an impossible state.
    #[doc(hidden)]
    pub fn internal(message: impl Into<String>) -> Self {
        ErrorKind::Internal(message.into()).into()
    }

    /// Creates the error for an invalid argument: its name, its value, and the expected form.
    pub fn argument(name: &str, value: &str, expected: &str) -> Self {
        Self::config(format!("{name} is {value}; expected {expected}"))
            .with_advice("Correct the argument; nothing was sent.")
    }

    /// Creates the error for an argument that breaks a rule of boardlot's own, which the service
    /// document does not state. `meant` suggests another value at the end.
    #[doc(hidden)]
    pub fn own_rule(name: &str, value: &str, expected: &str, meant: &str) -> Self {
        Self::argument(name, value, &format!("{expected} (boardlot's own rule){meant}"))
    }

    /// Creates the error for a call that this object cannot serve, or cannot serve now. The
    /// arguments are not the cause.
    #[doc(hidden)]
    pub fn misuse(message: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self::config(message).with_advice(advice)
    }

    /// Creates the error for a response in an undocumented format, with the beginning of its body.
    #[doc(hidden)]
    pub fn protocol(message: impl Into<String>, body: &[u8]) -> Self {
        ErrorKind::Protocol { message: message.into(), body: body_preview(body) }.into()
    }

    /// Creates the error for a record that cannot become the requested type, although the response
    /// can be read.
    #[doc(hidden)]
    pub fn conversion(message: impl Into<String>) -> Self {
        let advice = "Convert the records in another way; the response was read without error.";
        Self::protocol(message, b"").with_advice(advice)
    }

    /// Creates the error for a task that ended without an outcome, because the runtime is shutting
    /// down.
    #[doc(hidden)]
    pub fn aborted(error: &dyn fmt::Display) -> Self {
        let message = format!("the request was aborted: {error}");
        ErrorKind::Transport { message, sent: Delivery::Unknown }.into()
    }

    /// Creates the error for a cursor that cannot be followed.
    pub fn pagination(message: impl Into<String>) -> Self {
        ErrorKind::Pagination(message.into()).into()
    }

    /// Adds the endpoint that failed, unless the error has one.
    #[must_use]
    #[doc(hidden)]
    pub fn with_endpoint(mut self, endpoint: &str) -> Self {
        self.endpoint.get_or_insert_with(|| endpoint.to_owned());
        self
    }

    /// Adds the key that failed.
    #[must_use]
    #[doc(hidden)]
    pub fn for_key(mut self, key: &str) -> Self {
        self.key = Some(key.chars().take(64).collect());
        self
    }

    /// Adds the position at which the iteration can be resumed.
    #[must_use]
    #[doc(hidden)]
    pub fn with_checkpoint(mut self, checkpoint: String) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Adds advice.
    #[must_use]
    #[doc(hidden)]
    pub fn with_advice(mut self, advice: impl Into<Advice>) -> Self {
        self.advice = Some(Box::new(advice.into()));
        self
    }

    /// Adds this advice unless the error has its own.
    #[must_use]
    #[doc(hidden)]
    pub fn or_advice(mut self, advice: impl Into<Advice>) -> Self {
        self.advice.get_or_insert_with(|| Box::new(advice.into()));
        self
    }

    /// Adds the resource of the system that was missing, if any.
    #[must_use]
    #[doc(hidden)]
    pub fn with_resource(mut self, resource: impl Into<Option<Resource>>) -> Self {
        self.resource = resource.into().or(self.resource);
        self
    }

    /// Adds the resource whose lack caused the error, if any.
    #[must_use]
    #[doc(hidden)]
    pub fn caused_by(self, error: &(dyn std::error::Error + 'static)) -> Self {
        self.with_resource(Resource::of(error))
    }

    /// Adds the login that is needed.
    #[must_use]
    #[doc(hidden)]
    pub fn with_login(mut self, login: Option<Login>) -> Self {
        self.login = login.map(Box::new);
        self
    }

    /// Returns the rejection by the service, if the error is one.
    pub fn api_failure(&self) -> Option<&ApiFailure> {
        match self.kind.as_ref() {
            ErrorKind::Api(api_failure) => Some(api_failure),
            _ => None,
        }
    }

    /// Returns true if the service rejected the credentials or the time of the signature.
    #[doc(hidden)]
    pub fn rejects_credentials(&self) -> bool {
        self.rejects_token()
            || self
                .api_failure()
                .is_some_and(|api_failure| api_failure.class == FailureClass::ClockSkew)
    }

    /// Returns true if the service rejected the token: by HTTP 401, or in the response.
    pub fn rejects_token(&self) -> bool {
        self.api_failure().is_some_and(|api_failure| {
            api_failure.class == FailureClass::Authentication || api_failure.http_status == 401
        })
    }

    /// Returns true if the same call may succeed later. For an idempotent request, the client has
    /// then already used its retries.
    pub fn retryable(&self) -> bool {
        match self.kind.as_ref() {
            ErrorKind::Transport { .. } | ErrorKind::Timeout(_) => true,
            ErrorKind::Api(api_failure) => api_failure.retryable(),
            ErrorKind::Config(_)
            | ErrorKind::Internal(_)
            | ErrorKind::Protocol { .. }
            | ErrorKind::Pagination(_)
            | ErrorKind::OAuth { .. }
            | ErrorKind::GrantRejected { .. }
            | ErrorKind::LoginRequired { .. }
            | ErrorKind::Store(_) => false,
        }
    }

    /// Returns advice for the caller, in sentences; empty if there is none.
    pub fn hint(&self) -> String {
        let hint = self.own_hint(Login::to_string, Advice::to_string);
        hint.unwrap_or_else(|| self.class().hint().to_owned())
    }

    /// Returns advice that is more specific than that of the class, if there is any. `log_in` and
    /// `advise` put it in the words of a program.
    #[doc(hidden)]
    pub fn own_hint(
        &self,
        log_in: impl FnOnce(&Login) -> String,
        advise: impl FnOnce(&Advice) -> String,
    ) -> Option<String> {
        if let Some(resource) = self.resource {
            return Some(resource.hint().to_owned());
        }
        let login = self.login.as_deref().map(log_in);
        match (self.advice.as_deref().map(advise), login) {
            (Some(advice), Some(login)) => Some(format!("{advice} {login}")),
            (Some(advice), None) => Some(advice),
            (None, Some(login)) => Some(login),
            (None, None) => self.hint_of_kind(),
        }
    }

    fn hint_of_kind(&self) -> Option<String> {
        Some(match self.kind.as_ref() {
            ErrorKind::Api(ApiFailure {
                class: FailureClass::RateLimited,
                retry_after: Some(wait),
                ..
            }) => format!("Wait {} s, or set `rate_limit`.", wait.as_secs()),
            // RFC 9110 explains these statuses.
            ErrorKind::Api(ApiFailure {
                class: FailureClass::Other, http_status: 404 | 410, ..
            }) => "Check the base URL, the path and the ids in it: nothing was found there.".into(),
            ErrorKind::Api(ApiFailure {
                class: FailureClass::Other, http_status: 405, ..
            }) => "Check the HTTP method: the path does not allow it.".into(),
            ErrorKind::OAuth { error, .. } if error == "invalid_client" => {
                "Pass the client id and the client secret of the registration.".into()
            }
            ErrorKind::OAuth { error, .. } if error == "invalid_request" => {
                "Pass the full address that the browser was redirected to, or start the login again."
                    .into()
            }
            ErrorKind::OAuth { error, .. }
                if matches!(&**error, "invalid_client_metadata" | "invalid_redirect_uri") =>
            {
                "Register with other `redirect_uris`, or another `client_name` or `confidential`.".into()
            }
            ErrorKind::OAuth { error, .. } if is_temporary(error) => {
                "Call again later; the login is still stored.".into()
            }
            _ => return None,
        })
    }
}

/// Formats an error that is safe to show in a terminal, whatever text the service sent.
impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match (&self.endpoint, &self.key) {
            (Some(endpoint), Some(key)) => format!("{endpoint} of '{key}': {}", self.kind),
            (Some(endpoint), None) => format!("{endpoint}: {}", self.kind),
            (None, _) => self.kind.to_string(),
        };
        out.write_str(&printable(&text))
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error {
            kind: Box::new(kind),
            endpoint: None,
            key: None,
            checkpoint: None,
            advice: None,
            login: None,
            resource: None,
            is_redacted: false,
        }
    }
}

impl fmt::Display for ApiFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = if self.message.is_empty() { "no message" } else { &self.message };
        write!(out, "{message} (")?;
        if let Some(code) = self.code {
            write!(out, "code {code}, ")?;
        }
        if let Some(error_code) = &self.error_code {
            write!(out, "{error_code}, ")?;
        }
        write!(out, "HTTP {})", self.http_status)
    }
}

/// Joins the code of an OAuth error with its description, unless the server sent none.
fn with_description(code: &str, description: &str) -> String {
    match description.trim() {
        "" => excerpt(code),
        text => format!("{}: {}", excerpt(code), excerpt(text)),
    }
}

/// Returns true if an OAuth error code means a temporary problem of the service.
pub fn is_temporary(error: &str) -> bool {
    matches!(
        error,
        "server_error"
            | "temporarily_unavailable"
            | "internal_error"
            | "slow_down"
            | "rate_limited"
    )
}

/// Returns the beginning of a body as text.
pub fn body_preview(body: &[u8]) -> String {
    let cut = body.get(..redact::HELD_BYTES).unwrap_or(body);
    String::from_utf8_lossy(cut).into_owned()
}

fn shown_body(body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let first: String = body.chars().take(200).collect();
    format!("; it begins with '{first}'")
}
