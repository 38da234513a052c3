//! One error type: what happened, where, and what to do about it.

mod class;
mod escapes;
mod exception;
mod redact;
mod rejection;

use std::{fmt, time::Duration};

pub use class::{CLOCK_OFFSET_CODE, Evidence, FailureClass, THROTTLED_CODE};
pub use escapes::{excerpt, printable};
pub use exception::ExceptionClass;
pub use redact::Redactor;
pub use rejection::says_token_rejected;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, with the endpoint and the place in the iteration where it did.
#[derive(Debug, Clone)]
pub struct Error {
    pub kind: Box<ErrorKind>,
    /// The endpoint's name, or `METHOD /path` for a request of the caller's own.
    pub endpoint: Option<String>,
    /// The key of many for which it happened.
    pub key: Option<String>,
    /// Where a broken iteration can go on.
    pub checkpoint: Option<String>,
}

/// What became of a request that got no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It did not leave.
    NotSent,
    /// The service said that it did not process it.
    Unprocessed,
    Unknown,
}

/// The kinds of error: one exception each in Python, by one exhaustive conversion.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ErrorKind {
    /// Refused before anything was sent.
    #[error("{0}")]
    Config(String),
    /// No answer. `sent` tells whether the service may have acted on the request.
    #[error("{message}")]
    Transport { message: String, sent: Delivery },
    #[error("{0}")]
    Timeout(String),
    /// An answer of no documented form.
    #[error("{message}{}", shown_body(body))]
    Protocol { message: String, body: String },
    #[error("{0}")]
    Pagination(String),
    #[error("{0}")]
    Api(ApiFailure),
    /// Of the authorization server, or of the user on its page; the words are the service's own.
    #[error("{}: {}", excerpt(error), excerpt(description))]
    OAuth { error: String, description: String },
    #[error("{message}")]
    LoginRequired { error: String, message: String, origin: Option<String> },
    #[error("{0}")]
    Store(String),
}

impl ErrorKind {
    /// What it is, without a word of what the service said: for logs.
    pub fn summary(&self) -> String {
        let what = match self {
            ErrorKind::Api(ApiFailure { code: Some(code), http_status, .. }) => {
                return format!("refused by the service (code {code}, HTTP {http_status})");
            }
            ErrorKind::Api(ApiFailure { http_status, .. }) => {
                return format!("refused by the service (HTTP {http_status})");
            }
            ErrorKind::Config(_) => "refused before it was sent",
            ErrorKind::Transport { .. } => "no answer",
            ErrorKind::Timeout(_) => "no answer in time",
            ErrorKind::Protocol { .. } => "an answer of no documented form",
            ErrorKind::Pagination(_) => "a cursor that comes again",
            ErrorKind::OAuth { .. } => "refused by the authorization server",
            ErrorKind::LoginRequired { .. } => "a new login is needed",
            ErrorKind::Store(_) => "the token store",
        };
        what.to_owned()
    }
}

/// The service said no.
#[derive(Debug, Clone)]
pub struct ApiFailure {
    pub class: FailureClass,
    pub http_status: u16,
    pub code: Option<i64>,
    pub error_code: Option<String>,
    pub message: String,
    pub headers: Vec<(String, String)>,
    /// The first 2 KiB of the answer.
    pub body: String,
    pub retry_after: Option<Duration>,
}

/// How much of an answer an error shows.
pub const BODY_SHOWN_BYTES: usize = 2048;
/// How much it keeps until secrets are struck out: one that a cut went through would stay.
const BODY_KEPT_BYTES: usize = 4 * BODY_SHOWN_BYTES;
/// What a limit in bytes may take off a text to leave its last character whole.
const UTF8_LONGEST: usize = 4;

impl Error {
    pub fn config(message: impl Into<String>) -> Self {
        ErrorKind::Config(message.into()).into()
    }

    /// An invalid argument: its name, its value, and what was expected of it.
    pub fn argument(name: &str, value: &str, expected: &str) -> Self {
        Self::config(format!("{name} is {value}; expected {expected}"))
    }

    /// An answer that has no documented form, with the first of its body.
    pub fn protocol(message: impl Into<String>, body: &[u8]) -> Self {
        ErrorKind::Protocol { message: message.into(), body: body_preview(body) }.into()
    }

    /// A task that ended without an outcome: the runtime is going away.
    pub fn aborted(error: &dyn fmt::Display) -> Self {
        let message = format!("the request was given up: {error}");
        ErrorKind::Transport { message, sent: Delivery::Unknown }.into()
    }

    pub fn pagination(message: impl Into<String>) -> Self {
        ErrorKind::Pagination(message.into()).into()
    }

    /// The same error, telling where it happened.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: &str) -> Self {
        self.endpoint.get_or_insert_with(|| endpoint.to_owned());
        self
    }

    /// The same error, telling for which of many keys it happened.
    #[must_use]
    pub fn for_key(mut self, key: &str) -> Self {
        self.key = Some(key.chars().take(64).collect());
        self
    }

    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: String) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// The same error without secrets, should the service have repeated them.
    #[must_use]
    pub fn redacted(mut self, redactor: &Redactor) -> Self {
        let redact = |text: &mut String| redactor.redact(text);
        // A body is kept up to a limit, and a secret that the limit cuts is one still.
        let redact_kept = |text: &mut String| {
            if text.len() + UTF8_LONGEST > BODY_KEPT_BYTES {
                redactor.redact_cut(text);
            } else {
                redactor.redact(text);
            }
        };
        match self.kind.as_mut() {
            ErrorKind::Api(api_failure) => {
                redact(&mut api_failure.message);
                redact_kept(&mut api_failure.body);
                api_failure.error_code.iter_mut().for_each(redact);
                api_failure.headers.iter_mut().for_each(|(_, value)| redact(value));
            }
            ErrorKind::Protocol { message, body } => {
                redact(message);
                redact_kept(body);
            }
            ErrorKind::OAuth { error, description } => {
                redact(error);
                redact(description);
            }
            ErrorKind::Transport { message, .. }
            | ErrorKind::Config(message)
            | ErrorKind::Timeout(message)
            | ErrorKind::Pagination(message)
            | ErrorKind::LoginRequired { message, .. }
            | ErrorKind::Store(message) => redact(message),
        }
        self
    }

    pub fn api_failure(&self) -> Option<&ApiFailure> {
        match self.kind.as_ref() {
            ErrorKind::Api(api_failure) => Some(api_failure),
            _ => None,
        }
    }

    /// Whether the credentials, or the clock they were signed by, were rejected.
    pub fn rejects_credentials(&self) -> bool {
        self.rejects_token()
            || self
                .api_failure()
                .is_some_and(|api_failure| api_failure.class == FailureClass::ClockSkew)
    }

    /// Whether a token was rejected: by HTTP 401, or by what the response says.
    pub fn rejects_token(&self) -> bool {
        self.api_failure().is_some_and(|api_failure| {
            api_failure.class == FailureClass::Authentication || api_failure.http_status == 401
        })
    }

    /// Whether the same call may well succeed later.
    pub fn retryable(&self) -> bool {
        match self.kind.as_ref() {
            ErrorKind::Transport { .. } | ErrorKind::Timeout(_) => true,
            ErrorKind::Api(api_failure) => api_failure.class.retryable(),
            ErrorKind::Config(_)
            | ErrorKind::Protocol { .. }
            | ErrorKind::Pagination(_)
            | ErrorKind::OAuth { .. }
            | ErrorKind::LoginRequired { .. }
            | ErrorKind::Store(_) => false,
        }
    }

    /// What to do about it, in a sentence.
    pub fn hint(&self) -> String {
        match self.kind.as_ref() {
            ErrorKind::Config(_) => "Correct the argument; nothing was sent.".into(),
            ErrorKind::Transport { .. } => {
                "Check the base URL, the network and the proxy, then call again.".into()
            }
            ErrorKind::Timeout(_) => "Call again, or give the client a larger `timeout`.".into(),
            ErrorKind::Protocol { .. } => {
                "Check that the base URL is the API's own and that no proxy or login page answers \
                 in its place."
                    .into()
            }
            ErrorKind::Pagination(_) => {
                "Resume from `.checkpoint` later; report the error if it repeats.".into()
            }
            ErrorKind::Api(api_failure) => api_failure.hint(),
            ErrorKind::OAuth { error, .. } if error == "invalid_request" => {
                "Give the address that the browser was sent to, whole; or start the login again."
                    .into()
            }
            ErrorKind::OAuth { error, .. } if is_temporary(error) => {
                "Call again later; the login is still stored.".into()
            }
            ErrorKind::OAuth { .. } => "Start the login again.".into(),
            ErrorKind::LoginRequired { origin, .. } => {
                let url = origin.as_deref().unwrap_or("URL");
                format!(
                    "Log in again: run `boardlot login --base-url {url}`, or call \
                     `boardlot.login(base_url)`."
                )
            }
            ErrorKind::Store(_) => {
                "Check the passphrase, owner and permissions of the file, or that the keychain is \
                 unlocked; the store is unchanged."
                    .into()
            }
        }
    }
}

/// Its text is shown in terminals, whatever the service has put into it.
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
        Error { kind: Box::new(kind), endpoint: None, key: None, checkpoint: None }
    }
}

impl ApiFailure {
    fn hint(&self) -> String {
        match self.class {
            FailureClass::InvalidParameter => "Correct the argument that the message names.".into(),
            FailureClass::InvalidSymbol => {
                "Verify that the code exists and is written as {market}.{code}.".into()
            }
            FailureClass::Service => "Call again later; report the error if it persists.".into(),
            FailureClass::Authentication => {
                "Check the key id, that the public key was uploaded, or the token.".into()
            }
            FailureClass::ClockSkew => {
                "Check this machine's clock, that the uploaded key is the one that signs, and \
                 that you do not send too many requests."
                    .into()
            }
            FailureClass::PermissionDenied => {
                "Log in again with more scopes, or use another account or key.".into()
            }
            FailureClass::RateLimited => match self.retry_after {
                Some(wait) => format!("Wait {} s, or set `rate_limit`.", wait.as_secs()),
                None => "Send fewer requests: set `rate_limit`.".into(),
            },
            FailureClass::Other => "See the service's message.".into(),
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

/// Whether an OAuth error code is about trouble on the service's side, which may be over soon.
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

/// The first of a body as text that is safe to show.
pub fn body_preview(body: &[u8]) -> String {
    let cut = body.get(..BODY_KEPT_BYTES).unwrap_or(body);
    String::from_utf8_lossy(cut).into_owned()
}

fn shown_body(body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let first: String = body.chars().take(200).collect();
    format!("; it begins with '{first}'")
}
