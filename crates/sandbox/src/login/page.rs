//! The pages in the browser: no script, all input escaped, the style allowed by its hash, and a form
//! that can be submitted only here and redirect only to the client.

use std::fmt;

use axum::http::{
    HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use url::{Host, Url};

use super::authorization::AuthorizationRequest;
use crate::{
    api::{AUTHORIZE, SCOPES},
    sandbox::{
        credentials::{
            hashed_store::hash,
            scopes::{account_scopes, is_account},
        },
        wire::http_response::HttpResponse,
    },
};

/// The only account, which the page shows to everyone.
pub const DEMO_USER: &str = "demo";
pub const DEMO_PASSWORD: &str = "demo";
const STYLE: &str = include_str!("page.css");
// Names of the form's fields and of its decisions.
pub const FORM: &str = "form";
pub const TOKEN: &str = "token";
pub const USER: &str = "user";
pub const PASSWORD: &str = "password";
pub const SCOPE: &str = "scope";
pub const DECISION: &str = "decision";
pub const ALLOW: &str = "allow";
pub const DENY: &str = "deny";

/// What the user has entered, for a page that is shown again.
#[derive(Debug, Default)]
pub struct Filled {
    pub user: String,
    /// `None` on the first page, which ticks all requested scopes.
    pub ticked: Option<Vec<String>>,
    pub problems: Vec<Problem>,
}

#[derive(Debug)]
pub struct Problem {
    pub place: Place,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    SignIn,
    Scopes,
}

/// The page on which the user signs in, chooses scopes and decides.
pub fn consent(
    status: StatusCode,
    request: &AuthorizationRequest,
    (form, token): (&str, &str),
    filled: &Filled,
) -> HttpResponse {
    let client = Escaped(&request.client_name);
    let target = Url::parse(&request.redirect_uri).ok();
    let origin = target.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let origin = Escaped(&origin);
    let action = &AUTHORIZE.path;
    let (demo_user, demo_password) = (DEMO_USER, DEMO_PASSWORD);
    let user = Escaped(&filled.user);
    let summary = summary(&filled.problems);
    let wrong_login = invalid(filled, Place::SignIn);
    let error = if filled.problems.is_empty() { "" } else { "Error: " };
    let ticked = |scope: &str| match &filled.ticked {
        Some(ticked) => ticked.iter().any(|known| known == scope),
        None => SCOPES.iter().any(|(offered, _)| *offered == scope),
    };
    let permissions: String = SCOPES
        .iter()
        .filter(|(scope, _)| !is_account(scope))
        .map(|(scope, meaning)| choice(scope, meaning, ticked(scope)))
        .collect();
    let accounts: String = SCOPES
        .iter()
        .filter(|(scope, _)| is_account(scope))
        .map(|(scope, meaning)| choice(scope, meaning, ticked(scope)))
        .chain(
            account_scopes()
                .map(|(kind, scope)| choice(&scope, account_meaning(kind), ticked(&scope))),
        )
        .collect();
    let body = format!(
        r#"<h1>Allow <bdi>{client}</bdi> to use your account?</h1>
<p>You then return to <strong class="origin">{origin}</strong>. Only allow it if you have just started this login yourself.</p>
{summary}<form method="post" action="{action}">
<input type="hidden" name="{FORM}" value="{form}">
<input type="hidden" name="{TOKEN}" value="{token}">
<fieldset>
<legend>Sign in</legend>
<p class="hint" id="hint">This is a sandbox. The user name is <kbd>{demo_user}</kbd>, the password <kbd>{demo_password}</kbd>.</p>
<div class="pair">
<p class="field"><label for="user">User name</label>
<input id="user" name="{USER}" value="{user}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="64" aria-describedby="hint"{wrong_login}></p>
<p class="field"><label for="password">Password</label>
<input id="password" name="{PASSWORD}" type="password" autocomplete="current-password" maxlength="64" aria-describedby="hint"{wrong_login}></p>
</div>
</fieldset>
<fieldset id="scopes" tabindex="-1">
<legend>What it may do</legend>
<ul>
{permissions}</ul>
</fieldset>
<fieldset>
<legend>With which accounts</legend>
<p class="hint">To allow only some, untick “All accounts” and tick those.</p>
<ul>
{accounts}</ul>
</fieldset>
<p class="actions"><button name="{DECISION}" value="{ALLOW}" class="allow">Allow</button>
<button name="{DECISION}" value="{DENY}">Deny</button></p>
</form>"#
    );
    let title = format!("{error}Allow {client}?");
    guarded(HttpResponse::html(status, document(&title, &body)), target.as_ref())
}

/// A page that says why the login ends here, without a link.
pub fn failure(status: StatusCode, why: &str) -> HttpResponse {
    let why = Escaped(why);
    let body = format!(
        r#"<h1>This login cannot continue</h1>
<p class="problem">{why}</p>
<p>Close this page, go back to the application and start the login again.</p>"#
    );
    guarded(HttpResponse::html(status, document("This login cannot continue", &body)), None)
}

/// The security headers; `target` is where its form may redirect.
pub fn guarded(outcome: HttpResponse, target: Option<&Url>) -> HttpResponse {
    let style = STANDARD.encode(hash(STYLE));
    // Browsers apply form-action to the redirect after the form as well.
    let form_action =
        target.map_or_else(|| "'none'".to_owned(), |url| format!("'self' {}", source(url)));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action {form_action}; \
         frame-ancestors 'none'; base-uri 'none'"
    );
    let policy = HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'; form-action 'none'"));
    let fixed: [(HeaderName, &'static str); 3] = [
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    fixed
        .into_iter()
        .fold(outcome.with(CONTENT_SECURITY_POLICY, policy), |outcome, (name, value)| {
            outcome.with(name, HeaderValue::from_static(value))
        })
}

/// The redirect URI's origin as a source of a policy, whose grammar has no IPv6 addresses.
fn source(url: &Url) -> String {
    match url.host() {
        Some(Host::Ipv6(_)) => format!("{}:", url.scheme()),
        _ => url.origin().ascii_serialization(),
    }
}

fn document(title: &str, body: &str) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} – boardlot sandbox</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<p class="brand">boardlot <span>sandbox</span></p>
{body}
</main>
</body>
</html>
"#
    )
}

fn choice(scope: &str, meaning: &str, ticked: bool) -> String {
    let checked = if ticked { " checked" } else { "" };
    let (scope, meaning) = (Escaped(scope), Escaped(meaning));
    format!(
        r#"<li><label><input type="checkbox" name="{SCOPE}" value="{scope}"{checked}> <span>{meaning} <code>{scope}</code></span></label></li>
"#
    )
}

/// The problems, each linked to its field; it has the focus, so that screen readers announce it.
fn summary(problems: &[Problem]) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let list: String = problems
        .iter()
        .map(|problem| {
            let anchor = match problem.place {
                Place::SignIn => "user",
                Place::Scopes => "scopes",
            };
            let message = Escaped(&problem.message);
            format!("<li><a href=\"#{anchor}\">{message}</a></li>\n")
        })
        .collect();
    format!(
        r#"<div class="problem" role="alert" tabindex="-1" autofocus>
<h2>Please correct this</h2>
<ul>
{list}</ul>
</div>
"#
    )
}

fn invalid(filled: &Filled, place: Place) -> &'static str {
    let is_wrong = filled.problems.iter().any(|problem| problem.place == place);
    if is_wrong { " aria-invalid=\"true\"" } else { "" }
}

fn account_meaning(kind: &str) -> &str {
    match kind {
        "crypto" => "Crypto account",
        "sim" => "Simulated trading",
        "trade" => "Trading account",
        other => other,
    }
}

/// Text in HTML, between tags or in a quoted attribute.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => out.write_str("&amp;"),
            '<' => out.write_str("&lt;"),
            '>' => out.write_str("&gt;"),
            '"' => out.write_str("&quot;"),
            '\'' => out.write_str("&#39;"),
            other => fmt::Write::write_char(out, other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_from_outside_is_escaped() {
        let hostile = "</title><script>alert(1)</script>\" onload='x' &amp;";
        let shown = Escaped(hostile).to_string();
        assert!(!shown.contains(['<', '>', '"', '\'']));
        assert!(shown.contains("&amp;amp;"));
    }

    #[test]
    fn an_origin_becomes_a_source() {
        for (uri, expected) in [
            ("http://127.0.0.1:8765/cb?x=;y", "http://127.0.0.1:8765"),
            ("https://app.example/cb", "https://app.example"),
            ("http://[::1]:9/cb", "http:"),
        ] {
            assert_eq!(source(&Url::parse(uri).expect("parsed")), expected);
        }
    }
}
