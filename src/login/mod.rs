//! Logging in: register, send the user to the consent page, take the callback, exchange the code.
//!
//! A login is one task. It owns the listening socket, so that whatever ends the task closes it, and
//! it is the only place where the code is exchanged, whether the callback came from the browser or
//! was pasted.

mod browser;
mod callback;
mod listener;
mod page;

use std::{sync::Arc, time::Duration};

use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
    time::{Instant, timeout_at},
};
use url::Url;
use zeroize::Zeroizing;

pub use browser::open_browser;
pub use callback::{Callback, Verdict};

use self::{listener::CallbackRequest, page::Page};
use crate::{
    api::{AUTHORIZE, Argument, Endpoint, REGISTER, TOKEN},
    auth::{
        Attempt, CHALLENGE_METHOD, OAuth, Registration, TokenSet, blocking, now_ms,
        store::{TokenStore, registration_key},
    },
    decode::{client_registered, token_answer},
    error::{Error, ErrorKind, Redactor, Result},
    http::{BaseUrl, RequestPlan, Sender, SenderOptions},
    process::runtime,
};

/// A person watches the page meanwhile: shorter than a call's.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
const CALLBACK_PATH: &str = "/callback";

/// How to log in.
pub struct Options {
    pub store: Arc<dyn TokenStore>,
    /// A client that was registered elsewhere, with `redirect_port`.
    pub client_id: Option<String>,
    pub client_name: String,
    /// 0: the port of the last time, or any that is free.
    pub redirect_port: u16,
    /// Whether to register a client that has a secret.
    pub confidential: bool,
    pub deadline: Duration,
    pub sender: SenderOptions,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Options({}, port {})", self.client_name, self.redirect_port)
    }
}

/// A login that was begun: its URL waits for the user, its listener for the callback.
#[derive(Debug)]
pub struct Flow {
    url: Url,
    port: u16,
    pasted: mpsc::Sender<Pasted>,
    outcome: watch::Receiver<Option<Outcome>>,
    task: AbortHandle,
}

type Outcome = Result<Arc<OAuth>>;
/// A pasted callback, and where to say that it is none of ours.
type Pasted = (Callback, oneshot::Sender<Error>);

impl Flow {
    /// Binds the port, registers a client where none is stored for that port, and listens.
    pub async fn begin(base: BaseUrl, options: Options) -> Result<Flow> {
        let until = Instant::now() + options.deadline;
        let sender_options = SenderOptions {
            timeout: options.sender.timeout.min(ATTEMPT_TIMEOUT),
            ..options.sender.clone()
        };
        let sender = Sender::new(base, None, sender_options)?;
        let (socket, client) = client(&sender, &options).await?;
        let attempt = Attempt::new()?;
        let redirect_uri = redirect_uri(client.redirect_port);
        let url = authorization_url(&sender, &client, &attempt, &redirect_uri)?;
        let (port, store) = (client.redirect_port, options.store);
        let login = Login { sender, client, attempt, redirect_uri, store };
        let (pasted, inbox) = mpsc::channel(1);
        let (told, outcome) = watch::channel(None);
        let task = runtime()?.spawn(async move {
            let ended = match timeout_at(until, login.run(socket, inbox)).await {
                Ok(ended) => ended,
                Err(_) => Err(ErrorKind::Timeout(format!(
                    "nobody logged in within {} s",
                    options.deadline.as_secs_f64()
                ))
                .into()),
            };
            // The socket is closed by now.
            told.send_replace(Some(ended));
        });
        Ok(Flow { url, port, pasted, outcome, task: task.abort_handle() })
    }

    /// Where the user logs in and consents.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The port that the callback comes to.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn open_browser(&self) -> bool {
        browser::open_browser(&self.url)
    }

    /// The callback as the user copied it from the browser's address bar.
    pub async fn finish(&self, callback_url: &str) -> Outcome {
        let callback = Callback::of_url(callback_url, self.port)?;
        let (refuse, refused) = oneshot::channel();
        let over = "this login is over; begin another";
        if self.pasted.send((callback, refuse)).await.is_err() {
            return Err(callback::invalid(over));
        }
        if let Ok(error) = refused.await {
            return Err(error);
        }
        self.wait().await
    }

    /// Waits for the callback from the browser.
    pub async fn wait(&self) -> Outcome {
        let mut outcome = self.outcome.clone();
        let ended = outcome.wait_for(Option::is_some).await.ok();
        ended
            .and_then(|ended| ended.clone())
            .unwrap_or_else(|| Err(callback::invalid("this login was cancelled; begin another")))
    }

    /// Gives the login up and closes its socket.
    pub fn cancel(&self) {
        self.task.abort();
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The task's own: all it needs to turn a callback into stored tokens.
struct Login {
    sender: Sender,
    client: Registration,
    attempt: Attempt,
    redirect_uri: String,
    store: Arc<dyn TokenStore>,
}

impl Login {
    async fn run(self, socket: TcpListener, mut inbox: mpsc::Receiver<Pasted>) -> Outcome {
        let mut listener = listener::Listener::new(socket, self.client.redirect_port);
        loop {
            tokio::select! {
                CallbackRequest { callback, reply } = listener.next() => {
                    match callback.judge(&self.attempt) {
                        Verdict::Unrelated(_) => { let _ = reply.send(Page::Refused); }
                        verdict => {
                            let ended = self.end(verdict).await;
                            let page = if ended.is_ok() { Page::Done } else { Page::Failed };
                            let _ = reply.send(page);
                            listener.drain().await;
                            return ended;
                        }
                    }
                }
                Some((callback, refuse)) = inbox.recv() => match callback.judge(&self.attempt) {
                    Verdict::Unrelated(why) => { let _ = refuse.send(callback::invalid(why)); }
                    verdict => {
                        // Nothing to refuse: whoever pasted it waits for the outcome.
                        drop(refuse);
                        return self.end(verdict).await;
                    }
                }
            }
        }
    }

    async fn end(&self, verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Code(code) => self.exchange(&code).await,
            Verdict::Error { error, description } => {
                Err(ErrorKind::OAuth { error, description }.into())
            }
            Verdict::Unrelated(why) => Err(callback::invalid(why)),
        }
    }

    /// Exchanges the code, once: the row of the token endpoint is not repeatable.
    async fn exchange(&self, code: &str) -> Outcome {
        let secret = self.client.client_secret.as_ref();
        let mut arguments = vec![
            ("grant_type", text("authorization_code")),
            ("code", text(code)),
            ("client_id", text(&self.client.client_id)),
            ("redirect_uri", text(&self.redirect_uri)),
            ("code_verifier", text(&self.attempt.verifier)),
        ];
        if let Some(secret) = secret {
            arguments.push(("client_secret", text(secret)));
        }
        let asked_at_ms = now_ms();
        let answer =
            send(&self.sender, &TOKEN, &arguments, token_answer).await.map_err(|error| {
                let own = [code, self.attempt.verifier.as_str()].into_iter();
                let redactor = Redactor::new(own.chain(secret.map(|secret| secret.as_str())));
                self.log_in_again(error.redacted(&redactor))
            })?;
        let set = TokenSet::new(&self.client, answer, asked_at_ms);
        let client_id = self.client.client_id.clone();
        let oauth = Arc::new(OAuth::new(client_id, None, self.store.clone()));
        oauth.bind(self.sender.base().as_str())?;
        oauth.save_login(set, self.client.clone()).await?;
        Ok(oauth)
    }

    /// A code works once, so whatever went wrong, only a new login helps.
    fn log_in_again(&self, error: Error) -> Error {
        match error.kind.as_ref() {
            ErrorKind::OAuth { .. } | ErrorKind::Config(_) => error,
            _ => ErrorKind::LoginRequired {
                error: "login_required".to_owned(),
                message: format!(
                    "the code was sent and its answer may be lost, and a code works once: log in \
                     again ({error})"
                ),
                origin: Some(self.sender.base().as_str().to_owned()),
            }
            .into(),
        }
    }
}

/// The client to log in with, and the socket on the port of its redirect URI: that of the last
/// time, or one that is registered now.
async fn client(sender: &Sender, options: &Options) -> Result<(TcpListener, Registration)> {
    let known = known_client(sender, options).await?;
    if let Some(known) = known
        && let Ok(socket) = bind(known.redirect_port).await
    {
        return Ok((socket, known));
    }
    let taken = |error: std::io::Error| {
        Error::config(format!(
            "redirect_port {} of 127.0.0.1 cannot be listened on: {error}; give another, or 0",
            options.redirect_port
        ))
    };
    if let Some(client_id) = &options.client_id {
        if options.redirect_port == 0 {
            return Err(Error::config(
                "client_id needs the redirect_port that it is registered with: the service matches \
                 http://127.0.0.1:PORT/callback exactly",
            ));
        }
        let socket = bind(options.redirect_port).await.map_err(taken)?;
        return Ok((socket, Registration::new(client_id.clone(), None, options.redirect_port)));
    }
    let socket = bind(options.redirect_port).await.map_err(taken)?;
    let port = socket.local_addr().map_err(taken)?.port();
    let registration = register(sender, options, port).await?;
    Ok((socket, registration))
}

async fn known_client(sender: &Sender, options: &Options) -> Result<Option<Registration>> {
    let (store, key) = (options.store.clone(), registration_key(sender.base().as_str()));
    let known = blocking(move || {
        let Some(bytes) = store.load(&key)? else { return Ok(None) };
        Registration::read(&bytes, &format!("the store's entry '{key}'")).map(Some)
    })
    .await?;
    Ok(known.filter(|known| {
        let port = options.redirect_port;
        options.client_id.as_ref().is_none_or(|wanted| *wanted == known.client_id)
            && (port == 0 || port == known.redirect_port)
            && (options.client_id.is_some() || options.confidential == known.is_confidential())
    }))
}

async fn register(sender: &Sender, options: &Options, port: u16) -> Result<Registration> {
    let method = if options.confidential { "client_secret_post" } else { "none" };
    let texts = |words: &[&str]| Argument::Texts(words.iter().map(|&w| w.to_owned()).collect());
    let arguments = [
        ("redirect_uris", texts(&[&redirect_uri(port)])),
        ("token_endpoint_auth_method", text(method)),
        ("grant_types", texts(&["authorization_code", "refresh_token"])),
        ("response_types", texts(&["code"])),
        ("client_name", text(&options.client_name)),
    ];
    let (client_id, secret) = send(sender, &REGISTER, &arguments, client_registered).await?;
    let registration = Registration::new(client_id, secret.filter(|_| options.confidential), port);
    Ok(if options.confidential { registration.confidential() } else { registration })
}

fn authorization_url(
    sender: &Sender,
    client: &Registration,
    attempt: &Attempt,
    redirect_uri: &str,
) -> Result<Url> {
    let arguments = [
        ("client_id", text(&client.client_id)),
        ("code_challenge", text(&attempt.challenge())),
        ("code_challenge_method", text(CHALLENGE_METHOD)),
        ("redirect_uri", text(redirect_uri)),
        ("response_type", text("code")),
        ("state", text(&attempt.state)),
    ];
    let plan = RequestPlan::new(&AUTHORIZE, &arguments)?;
    Ok(sender.request(&plan, None, None)?.url)
}

async fn send<T>(
    sender: &Sender,
    endpoint: &'static Endpoint,
    arguments: &[(&str, Argument)],
    read: fn(&crate::http::HttpResponse) -> Result<T>,
) -> Result<T> {
    let plan = RequestPlan::new(endpoint, arguments)?;
    sender.call(&sender.request(&plan, None, None)?, read).await
}

async fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).await
}

fn redirect_uri(port: u16) -> String {
    format!("http://127.0.0.1:{port}{CALLBACK_PATH}")
}

fn text(value: &str) -> Argument {
    Argument::Text(value.to_owned())
}

/// A code, wiped when it was used.
type Code = Zeroizing<String>;
