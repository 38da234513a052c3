//! The names that the crate promises, and what their `{:?}` shows.

use boardlot_client::{
    Allowance, ApiFailure, Argument, BaseUrl, Body, Client, ClientIdentity, ClientOptions,
    ClientRate, ColumnOptions, Credentials, EncryptedFileStore, Error, ErrorKind, FailureClass,
    KeyPair, LoginFlow, LoginOptions, MemoryStore, RequestPlan, Secret, SharedLimit, SharedStore,
    TokenStore, Windows,
    endpoints::{DIVIDENDS, ENDPOINTS, PLATE_STOCKS},
    generate_key,
};
use boardlot_sandbox::{Options, Sandbox};
use futures_util::TryStreamExt;
use std::{
    fmt::{self, Debug},
    sync::Arc,
};

/// The public names of the crate but for those of `endpoints`, in their order.
const NAMES: &[&str] = &[
    "Algorithm",
    "Allowance",
    "ApiFailure",
    "Argument",
    "BaseUrl",
    "Body",
    "Client",
    "ClientIdentity",
    "ClientOptions",
    "ClientRate",
    "ColumnOptions",
    "ConnectOptions",
    "Credentials",
    "Decimals",
    "Delivery",
    "EncryptedFileStore",
    "Endpoint",
    "Error",
    "ErrorClass",
    "ErrorKind",
    "Explanation",
    "FailureClass",
    "HttpResponse",
    "InvalidValues",
    "KeyPair",
    "KeychainStore",
    "ListedPage",
    "LoginFlow",
    "LoginOptions",
    "MemoryStore",
    "OAuth",
    "OwnedRecord",
    "Pages",
    "RecordRef",
    "RecordStream",
    "RequestPlan",
    "Result",
    "Rows",
    "Secret",
    "SharedLimit",
    "SharedStore",
    "Strings",
    "TokenSet",
    "TokenStore",
    "TransportOptions",
    "Windows",
    "endpoints",
    "generate_key",
];

/// Those whose values are shown by no `{:?}` of this crate, or have nothing that a caller, a service or a file has
/// said.
const WITHOUT_TEXTS: &[&str] = &[
    "Algorithm",
    "Decimals",
    "Delivery",
    "Endpoint",
    "ErrorClass",
    "FailureClass",
    "HttpResponse",
    "InvalidValues",
    "KeychainStore",
    "Result",
    "Strings",
    "TokenStore",
    "endpoints",
    "generate_key",
];

/// The names in the `pub use` and `pub mod` of a file, up to the hidden module.
fn public_names(file: &str) -> Vec<&str> {
    let code = file.split("#[doc(hidden)]\npub mod extension").next().expect("a beginning");
    let mut names = Vec::new();
    for item in code.split("\npub ").skip(1) {
        let (item, _) = item.split_once(';').expect("an end");
        let item = item.strip_prefix("use ").or(item.strip_prefix("mod ")).expect("use or mod");
        for part in item.split(['{', '}', ',']).map(str::trim) {
            let (path, name) = part.split_once(" as ").unwrap_or((part, part));
            let name = if path == name { path.rsplit("::").next().expect("a name") } else { name };
            names.extend(Some(name).filter(|name| !name.is_empty()));
        }
    }
    names.retain(|name| *name != "fuzzing");
    names.sort_unstable();
    names
}

#[test]
fn these_names_are_public_and_no_others() {
    assert_eq!(public_names(include_str!("../../src/lib.rs")), NAMES);
    let endpoints = include_str!("../../src/endpoints.rs");
    let statics =
        endpoints.split("\npub static ").skip(1).filter_map(|item| item.split(':').next());
    let declared = ENDPOINTS.iter().map(|endpoint| endpoint.name.to_uppercase());
    assert_eq!(statics.collect::<Vec<_>>(), declared.collect::<Vec<_>>());
}

/// Secrets that are in no other text.
const PROXY_PASSWORD: &str = "proxy-password-3f1";
const HEADER: &str = "header-value-8c2";
const TOKEN: &str = "bearer-token-5d7";
const STORED: &str = "stored-value-b90";
const QUERY: &str = "query-value-e44";
const BODY: &str = "body-value-a61";
const PASSPHRASE: &str = "passphrase-c58";
const COOKIE: &str = "cookie-value-d13";

/// What `{:?}` shows of values of each name, with a secret wherever one can be.
struct Shown(Vec<(&'static str, String)>);

impl Shown {
    fn add(&mut self, name: &'static str, value: &dyn Debug) {
        self.0.push((name, format!("{value:?} {value:#?}")));
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, text)| writeln!(out, "{name}: {text}"))
    }
}

fn options() -> ClientOptions {
    let mut options = ClientOptions::of(Credentials::bearer(TOKEN.to_owned()).expect("a token"));
    let connect = &mut options.transport.connect;
    connect.proxy = Some(format!("http://name:{PROXY_PASSWORD}@10.0.0.1:8080"));
    options.transport.headers.insert("x-secret", HEADER.parse().expect("a header"));
    options
}

fn plan() -> RequestPlan {
    let query = vec![("q".to_owned(), QUERY.to_owned())];
    let body = Body::Bytes(BODY.into(), None);
    let headers =
        http::HeaderMap::from_iter([(http::header::COOKIE, HEADER.parse().expect("a header"))]);
    RequestPlan::custom(http::Method::POST, "/any", query, body, headers)
}

/// A certificate and its key, made by OpenSSL for this test alone.
const CERTIFICATE: &str = include_str!("certificate.pem");

#[tokio::test]
async fn no_debug_shows_a_secret() {
    let mut shown = Shown(Vec::new());
    let options = options();
    shown.add("ClientOptions", &options);
    shown.add("TransportOptions", &options.transport);
    shown.add("ConnectOptions", &options.transport.connect);
    shown.add("Credentials", &options.credentials);
    let client = Client::new("https://api.example.com", options).expect("a client");
    shown.add("Client", &client);
    shown.add("BaseUrl", &BaseUrl::parse("https://api.example.com/prefix"));
    shown.add("BaseUrl", &BaseUrl::parse(&format!("https://name:{PASSPHRASE}@example.com")));
    shown.add("RequestPlan", &plan());
    shown.add("Body", &Body::Bytes(BODY.into(), None));
    shown.add("Explanation", &client.explain(&plan()));
    shown.add("Argument", &Argument::secret(TOKEN));

    let (private, public) = generate_key(boardlot_client::Algorithm::Ed25519, 0).expect("a key");
    let key = KeyPair::read(private.as_bytes(), None).expect("a key");
    shown.add("KeyPair", &key);
    shown.add("Credentials", &Credentials::api_key("id", key));
    shown.add(
        "ClientIdentity",
        &ClientIdentity::from_pem(CERTIFICATE.as_bytes(), None).expect("both"),
    );

    let limit = SharedLimit::in_process(Allowance { rate: 1.0, burst: 1 });
    shown.add("Allowance", &limit.allowance);
    shown.add("SharedLimit", &limit);
    shown.add("ClientRate", &ClientRate::Shared(Arc::new(limit)));
    shown.add("Windows", &Windows::Auto);

    let memory = Arc::new(MemoryStore::default());
    memory.save("key", STORED.as_bytes()).expect("saves");
    shown.add("Secret", &memory.load("key").expect("loads").expect("there"));
    shown.add("Secret", &Secret::new(STORED.into()));
    shown.add("MemoryStore", &memory);
    shown.add("SharedStore", &SharedStore::from(memory.clone()));
    let passphrase = || Ok(zeroize::Zeroizing::new(PASSPHRASE.to_owned()));
    shown.add("EncryptedFileStore", &EncryptedFileStore::under("/tmp/tokens", passphrase));

    let mut failure = ApiFailure::new(FailureClass::Other, 500);
    failure.headers = vec![("set-cookie".to_owned(), COOKIE.to_owned())];
    failure.body = BODY.to_owned();
    shown.add("ApiFailure", &failure);
    shown.add("ErrorKind", &ErrorKind::Api(failure.clone()));
    shown.add("Error", &Error::from(ErrorKind::Api(failure)));

    let sandbox = Sandbox::start(Options::default(), &tokio::runtime::Handle::current());
    let sandbox = sandbox.expect("a sandbox");
    of_responses(&mut shown, &sandbox).await;
    let login = of_login(&mut shown, &sandbox, memory).await;

    let texts = shown.to_string();
    let private: Vec<&str> =
        private.lines().chain(CERTIFICATE.lines()).filter(|line| line.len() > 40).collect();
    let own = [PROXY_PASSWORD, HEADER, TOKEN, STORED, QUERY, BODY, PASSPHRASE, COOKIE];
    let held = private.into_iter().chain(own).chain(login.iter().map(String::as_str));
    for secret in held {
        let bytes = format!("{:?}", secret.as_bytes());
        for form in [secret, bytes.trim_matches(['[', ']'])] {
            let found = shown.0.iter().find(|(_, text)| text.contains(form));
            assert!(found.is_none(), "{form} is shown by {found:?}");
        }
    }
    assert!(!texts.contains(&public), "keys are not shown at all");
    for name in NAMES {
        let is_shown = shown.0.iter().any(|(known, _)| known == name);
        assert!(is_shown != WITHOUT_TEXTS.contains(name), "a value of {name} has to be shown here");
    }
}

/// What is made of responses: nothing of them is shown, since custom endpoints may return secrets.
async fn of_responses(shown: &mut Shown, sandbox: &Sandbox) {
    let token = sandbox.add_bearer_token();
    let options = ClientOptions::of(Credentials::bearer(token).expect("a token"));
    let client = Client::new(sandbox.base_url(), options).expect("a client");
    let rows = client.call(DIVIDENDS, &[("symbol", "HK.00700".into())]).await.expect("dividends");
    shown.add("Rows", &rows);
    shown.add("RecordRef", &rows.get(0).expect("a record"));
    let columns = ColumnOptions::default();
    shown.add("ColumnOptions", &columns);
    let (_, batches) = rows.record_batches(columns).expect("columns");
    assert_eq!(batches[0].num_rows(), rows.len());
    let arguments = [("plate_code", "HK.BK1001".into())];
    let pages = client.pages(PLATE_STOCKS, &arguments, None, None).expect("pages");
    let first = pages.after(None).await.expect("a page").expect("a page");
    shown.add("ListedPage", &first);
    shown.add("Pages", &pages);
    let mut records = pages.into_records();
    shown.add("OwnedRecord", &records.try_next().await.expect("a record").expect("a record"));
    shown.add("RecordStream", &records);
    for text in
        rows.iter().map(|record| record.text()).chain(first.iter().map(|record| record.text()))
    {
        let found = shown.0.iter().find(|(_, shown)| shown.contains(text));
        assert!(found.is_none(), "a record is shown by {found:?}");
    }
}

/// A login. Returns its secrets.
async fn of_login(shown: &mut Shown, sandbox: &Sandbox, store: Arc<MemoryStore>) -> Vec<String> {
    let mut options = LoginOptions::new(store);
    options.transport.headers.insert("x-secret", HEADER.parse().expect("a header"));
    shown.add("LoginOptions", &options);
    let base = BaseUrl::parse(sandbox.base_url()).expect("a URL");
    let flow = LoginFlow::begin(base, options).await.expect("a login");
    shown.add("LoginFlow", &flow);
    let callback = sandbox.authorize_demo_user(flow.url(), None).expect("a callback");
    let login = flow.finish(&callback).await.expect("tokens");
    shown.add("OAuth", &login);
    shown.add("LoginFlow", &flow);
    shown.add("Credentials", &Credentials::OAuth(login.clone()));
    let parts = callback.split(['?', '&', '=']).filter(|part| part.len() > 15);
    let mut secrets: Vec<String> = parts.skip(1).map(str::to_owned).collect();
    assert_eq!(secrets.len(), 2, "the code and the state of {callback}");
    let tokens = login.stored_token().await.expect("tokens");
    shown.add("TokenSet", &tokens);
    secrets.push(tokens.access_token.to_string());
    secrets.extend(tokens.refresh_token.iter().map(|token| token.to_string()));
    secrets
}
