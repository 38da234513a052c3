//! A login from its URL to the stored tokens.

use std::{
    process,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, timeout_at},
};
use url::Url;

use super::{
    browser::{self, RedirectFile},
    callback::{self, Callback, Verdict, redirect_uri},
    code_grant::{CodeGrant, complete},
    listener::Listener,
    offer::{Answer, Offer, Offers},
    options::LoginOptions,
    registration,
};
use crate::{
    auth::{Attempt, OAuth, Registration, SharedStore, TokenSet},
    error::{ErrorKind, Login as LoginOf, Result},
    http::{BaseUrl, Transport, TransportOptions},
    os::runtime::runtime,
};

/// Time limit of an attempt: shorter than for other requests, because a person is waiting.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);

/// A login in progress: it waits for the user to open its URL, and for the callback. The callback
/// arrives at a port of this machine. If the browser is on another machine, the user copies the
/// address that the browser could not open, for [`finish`](LoginFlow::finish).
///
/// Dropping it cancels the login.
///
/// ```no_run
/// use boardlot_client::{
///     BaseUrl, Client, ClientOptions, Credentials, KeychainStore, LoginFlow, LoginOptions, Result,
/// };
/// use std::sync::Arc;
///
/// # async fn log_in() -> Result<Client> {
/// let base_url = "https://api.example.com";
/// let options = LoginOptions::new(Arc::new(KeychainStore));
/// let flow = LoginFlow::begin(BaseUrl::parse(base_url)?, options).await?;
/// flow.open_browser();
/// let login = flow.wait().await?;
/// Client::new(base_url, ClientOptions::of(Credentials::OAuth(login)))
/// # }
/// ```
pub struct LoginFlow {
    url: Url,
    /// The port that listens for the callback.
    pub port: u16,
    offers: Offers,
    outcome: watch::Receiver<Option<LoginResult>>,
    task: AbortHandle,
    /// The file with which the browser was opened; removed when this is dropped.
    opened: OnceLock<RedirectFile>,
    /// The process that owns the login's task. A forked child has no part in the login.
    process: u32,
}

// The URL has the state of the login.
boardlot_service::shown_as!(LoginFlow, |this| "LoginFlow(port {})", this.port);

type LoginResult = Result<Arc<OAuth>>;

impl LoginFlow {
    /// Binds the port, registers a client if none is stored for that port, and listens.
    pub async fn begin(base: BaseUrl, options: LoginOptions) -> Result<LoginFlow> {
        let deadline = Instant::now() + options.deadline;
        let transport_options = TransportOptions {
            timeout: options.transport.timeout.min(ATTEMPT_TIMEOUT),
            ..options.transport.clone()
        };
        let transport = Transport::new(base, transport_options)?;
        let (socket, client) = registration::client(&transport, &options).await?;
        let attempt = Attempt::new()?;
        let service = transport.base.as_str().to_owned();
        let grant = CodeGrant {
            transport,
            client_id: client.client_id.clone(),
            client_secret: client.client_secret.clone(),
            redirect_uri: redirect_uri(client.redirect_port),
            login: LoginOf::Service(service),
        };
        let url = grant.url(&attempt)?;
        let (port, store) = (client.redirect_port, options.store);
        let login = Arc::new(Login { grant, client, attempt, store });
        let listener = Listener::new(socket, port);
        let offers = listener.offers();
        let (ended, outcome) = watch::channel(None);
        let task = runtime()?.spawn(async move {
            let outcome = match timeout_at(deadline, login.run(listener)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(ErrorKind::Timeout(format!(
                    "the user did not log in within {} s",
                    options.deadline.as_secs_f64()
                ))
                .into()),
            };
            // The socket is closed at this point.
            ended.send_replace(Some(outcome));
        });
        let (task, opened, process) = (task.abort_handle(), OnceLock::new(), process::id());
        Ok(LoginFlow { url, port, offers, outcome, task, opened, process })
    }

    /// Returns the page on which the user logs in and consents.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Opens the page in the user's browser. Returns false if none was found.
    pub fn open_browser(&self) -> bool {
        let opened = browser::open_browser(&self.url);
        opened.is_some_and(|file| self.opened.set(file).is_ok())
    }

    /// Offers the callback URL, as the user copied it from the browser's address bar. Returns when
    /// the URL has ended the login, successfully or not. Fails if the URL is not for this login, or
    /// if the login had already ended.
    pub async fn offer(&self, callback_url: &str) -> Result<()> {
        self.check_process()?;
        let callback = Callback::from_url(callback_url, &redirect_uri(self.port))?;
        let answer = tokio::select! {
            biased;
            answer = self.offers.offer(callback) => answer,
            // A callback that is offered at the moment when the login ends gets no answer.
            _ = self.wait() => Answer::Ended,
        };
        match answer {
            Answer::Done | Answer::Failed => Ok(()),
            Answer::Unrelated(why) => Err(callback::invalid(why)),
            Answer::Ended => {
                self.wait().await?;
                Err(callback::invalid("this login has ended; begin another"))
            }
        }
    }

    /// Ends the login by the callback URL, as the user copied it from the browser's address bar, and
    /// returns the outcome.
    pub async fn finish(&self, callback_url: &str) -> LoginResult {
        self.offer(callback_url).await?;
        self.wait().await
    }

    /// Waits until the user has logged in. The tokens are then in the store.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OAuth`] if the user or the service refuses, and [`ErrorKind::Timeout`] after the
    /// deadline of the options.
    pub async fn wait(&self) -> LoginResult {
        self.check_process()?;
        let mut outcome = self.outcome.clone();
        let ended = outcome.wait_for(Option::is_some).await.ok();
        ended
            .and_then(|ended| ended.clone())
            .unwrap_or_else(|| Err(callback::invalid("this login was cancelled; begin another")))
    }

    fn check_process(&self) -> Result<()> {
        let other = "this login was begun in another process; begin another in this one";
        if self.process == process::id() { Ok(()) } else { Err(callback::invalid(other)) }
    }

    /// Cancels the login and closes its socket. If the code is already sent, its tokens are stored
    /// nevertheless.
    pub fn cancel(&self) {
        self.task.abort();
    }
}

impl Drop for LoginFlow {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// State that the task needs to turn a callback into stored tokens.
struct Login {
    grant: CodeGrant,
    client: Registration,
    attempt: Attempt,
    store: SharedStore,
}

impl Login {
    async fn run(self: Arc<Self>, mut listener: Listener) -> LoginResult {
        loop {
            let Offer { callback, answer } = listener.next().await;
            let ended = match self.check(&callback) {
                Verdict::Unrelated(why) => {
                    let _ = answer.send(Answer::Unrelated(why));
                    continue;
                }
                Verdict::Code(code) => {
                    let login = self.clone();
                    complete(async move { login.exchange(&code).await }).await
                }
                Verdict::Error { error, description } => {
                    let error = ErrorKind::OAuth { error, description }.into();
                    Err(self.grant.redacted(error, &self.attempt))
                }
            };
            let outcome = if ended.is_ok() { Answer::Done } else { Answer::Failed };
            let _ = answer.send(outcome);
            // Callbacks that were offered in the meantime, such as a pasted one.
            while let Some(Offer { callback, answer }) = listener.queued() {
                let _ = answer.send(match self.check(&callback) {
                    Verdict::Unrelated(why) => Answer::Unrelated(why),
                    Verdict::Code(_) | Verdict::Error { .. } => outcome,
                });
            }
            listener.drain().await;
            return ended;
        }
    }

    fn check(&self, callback: &Callback) -> Verdict {
        callback.check(&self.attempt, self.grant.transport.base.as_str())
    }

    async fn exchange(&self, code: &str) -> LoginResult {
        let (response, requested_at_ms) = self.grant.exchange(code, &self.attempt).await?;
        let set = TokenSet::new(&self.client, response, requested_at_ms);
        let oauth = Arc::new(OAuth::new(self.client.client_id.clone(), None, self.store.clone()));
        oauth.bind(self.grant.transport.base.as_str())?;
        oauth.save_login(set, self.client.clone()).await?;
        Ok(oauth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_callback_that_is_pasted_as_the_login_ends_does_not_wait_for_it_forever() {
        // The channel accepts the callback, but nobody reads it any more.
        let (offers, _inbox) = Offers::channel(1);
        let (_ended, outcome) = watch::channel(Some(Err(callback::invalid("declined"))));
        let task = tokio::spawn(async {}).abort_handle();
        let url = Url::parse("https://api.example.com/authorize").expect("a URL");
        let opened = OnceLock::new();
        let process = process::id();
        let flow = LoginFlow { url, port: 8765, offers, outcome, task, opened, process };
        let finished = flow.finish("http://127.0.0.1:8765/callback?code=a&state=b");
        let outcome = tokio::time::timeout(Duration::from_secs(60), finished).await;
        let error = outcome.expect("it ends").expect_err("declined");
        assert!(error.to_string().contains("declined"), "{error}");
    }
}
