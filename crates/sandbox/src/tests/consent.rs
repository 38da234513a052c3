//! The page: who gets one, what it holds, what its form does.

use super::flow::{
    CHALLENGE, FORM, PAGE, REDIRECT, STATE, Shown, altered, ask_token, client, code, exchange,
    form, header, metadata, open, parameter, parameters, register, text,
};
use crate::{
    error::ErrorKind,
    sandbox::{
        Options,
        testing::{Got, Rig},
    },
};

const ALLOW: &[(&str, &str)] =
    &[("user", "demo"), ("password", "demo"), ("scope", "quote:read"), ("decision", "allow")];

fn rig() -> Rig {
    Rig::new(Options { fills: 100, ..Options::default() })
}

fn html(got: &Got) -> String {
    assert!(header(got, "content-type").starts_with("text/html"));
    String::from_utf8(got.body.clone()).expect("text")
}

fn assert_guarded(got: &Got, form_action: &str) {
    let policy = header(got, "content-security-policy");
    for part in ["default-src 'none';", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(policy.contains(&format!("form-action {form_action};")), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("script"), "{policy}");
    for (name, value) in [
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(header(got, name), value, "{name}");
    }
}

#[test]
fn security_35_the_page_cannot_be_framed_and_runs_nothing() {
    let rig = rig();
    let got = open(&rig, &parameters(&client(&rig)));
    assert_eq!(got.status, 200);
    assert_guarded(&got, "'self' http://127.0.0.1:8765");
    let page = html(&got);
    assert!(!page.contains("<script") && !page.contains("onclick") && !page.contains("style="));
    // The style is the one that the policy allows.
    let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
    let hash = crate::credentials::hashed_store::hash(style.expect("a style"));
    let hash = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, hash);
    assert!(header(&got, "content-security-policy").contains(&format!("'sha256-{hash}'")));
    let cookie = header(&got, "set-cookie");
    assert!(cookie.ends_with("; Path=/oauth2/authorize/confirm; HttpOnly; SameSite=Strict"));
}

#[test]
fn the_page_shows_client_scopes_accounts_and_how_to_sign_in() {
    let rig = rig();
    let page = html(&open(&rig, &parameters(&client(&rig))));
    for part in [
        "Kestrel Notes",
        "http://127.0.0.1:8765",
        "<kbd>demo</kbd>",
        "Read orders, positions and fills",
        "value=\"accid:*\" checked",
        "<label for=\"user\">",
        "<label for=\"password\">",
        "<legend>",
        "lang=\"en\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for scope in ["quote:read", "quote:write", "trade:read", "trade:write", "accid:*"] {
        assert!(page.contains(&format!("value=\"{scope}\" checked")), "{scope}");
    }
    for account in rig.sandbox.accounts().values().flatten() {
        assert!(page.contains(&format!("value=\"accid:{account}\">")), "{account}");
    }
}

#[test]
fn security_35_an_unknown_client_or_redirect_uri_gets_a_page_never_a_redirect() {
    let rig = rig();
    let client_id = client(&rig);
    let other = text(
        &register(&rig, &{
            let mut other = metadata();
            other["redirect_uris"] = serde_json::json!(["https://other.example/cb"]);
            other
        })
        .json()["client_id"],
    );
    let good = parameters(&client_id);
    let long = "c".repeat(5_000);
    let mut cases: Vec<Vec<(&str, &str)>> = Vec::new();
    for wrong in
        [None, Some(""), Some("client-unknown"), Some("<script>"), Some(&long), Some(&other)]
    {
        cases.push(altered(&good, "client_id", wrong));
    }
    for wrong in [
        None,
        Some(""),
        Some("http://127.0.0.1:8765/callback/"),
        Some("http://127.0.0.1:8765/callback?x=1"),
        Some("http://127.0.0.1:8765/Callback"),
        Some("http://127.0.0.1:8765/%63allback"),
        Some("http://127.0.0.1:8766/callback"),
        Some("http://127.0.0.1:8765/call"),
        Some("https://127.0.0.1:8765/callback"),
        Some("http://localhost:8765/callback"),
        Some("https://evil.example/"),
        Some("javascript:alert(1)"),
    ] {
        cases.push(altered(&good, "redirect_uri", wrong));
    }
    cases.push([good.clone(), vec![("client_id", &client_id)]].concat());
    cases.push([good.clone(), vec![("redirect_uri", REDIRECT)]].concat());
    cases.push([good.clone(), vec![("redirect_uri", "https://evil.example/")]].concat());
    for case in cases {
        let got = open(&rig, &case);
        assert_eq!((got.status, header(&got, "location")), (400, String::new()), "{case:?}");
        assert_guarded(&got, "'none'");
        let page = html(&got);
        assert!(!page.contains("<form") && !page.contains("evil") && !page.contains("<script"));
        assert_eq!(header(&got, "set-cookie"), "");
    }
}

#[test]
fn other_faults_go_back_to_the_client_with_its_state() {
    let rig = rig();
    let client_id = client(&rig);
    let good = parameters(&client_id);
    let cut = CHALLENGE.get(1..).expect("text");
    let longer = format!("{CHALLENGE}A");
    let cases = [
        altered(&good, "response_type", None),
        altered(&good, "response_type", Some("token")),
        altered(&good, "code_challenge_method", None),
        altered(&good, "code_challenge_method", Some("plain")),
        altered(&good, "code_challenge", None),
        altered(&good, "code_challenge", Some("")),
        altered(&good, "code_challenge", Some(cut)),
        altered(&good, "code_challenge", Some(&longer)),
        altered(&good, "code_challenge", Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM")),
        [good.clone(), vec![("code_challenge", CHALLENGE)]].concat(),
    ];
    for case in cases {
        let got = open(&rig, &case);
        let location = header(&got, "location");
        assert_eq!(got.status, 303, "{case:?}");
        assert!(location.starts_with(&format!("{REDIRECT}?error=invalid_request&")), "{location}");
        assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
        assert_eq!(parameter(&location, "code"), None);
        assert_eq!(header(&got, "referrer-policy"), "no-referrer");
    }
    for state in [None, Some(""), Some("line\nfeed")] {
        let got = open(&rig, &altered(&good, "state", state));
        let location = header(&got, "location");
        assert!(location.starts_with(&format!("{REDIRECT}?error=invalid_request&")), "{location}");
        assert_eq!(parameter(&location, "state"), None);
    }
    let doubled = [good, vec![("state", "second")]].concat();
    let location = header(&open(&rig, &doubled), "location");
    assert!(location.contains("error=invalid_request") && !location.contains("second"));
}

#[test]
fn allowing_leads_back_with_code_and_state_and_denying_without() {
    let rig = rig();
    let client_id = client(&rig);
    let with_query =
        altered(&parameters(&client_id), "redirect_uri", Some("https://app.example/cb?tenant=7"));
    let got = open(&rig, &with_query);
    assert_guarded(&got, "'self' https://app.example");
    let got = Shown::of(&got).send(&rig, ALLOW);
    assert_eq!(got.status, 303);
    assert!(header(&got, "set-cookie").contains("Max-Age=0"));
    let location = header(&got, "location");
    assert!(location.starts_with("https://app.example/cb?tenant=7&code="), "{location}");
    assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
    // Denying needs no name.
    let got = Shown::of(&open(&rig, &parameters(&client_id))).send(&rig, &[("decision", "deny")]);
    let location = header(&got, "location");
    assert!(location.starts_with(&format!("{REDIRECT}?error=access_denied&")), "{location}");
    assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
    assert_eq!(parameter(&location, "code"), None);
}

#[test]
fn security_35_the_form_has_a_token_against_forgery_that_works_once() {
    let rig = rig();
    let client_id = client(&rig);
    let shown = || Shown::of(&open(&rig, &parameters(&client_id)));
    let refused = |shown: &Shown, what: &str| {
        let got = shown.send(&rig, ALLOW);
        assert_eq!((got.status, header(&got, "location")), (403, String::new()), "{what}");
        assert_guarded(&got, "'none'");
    };
    let (first, second) = (shown(), shown());
    let cookie = |cookie: &str| Shown { hidden: first.hidden.clone(), cookie: cookie.to_owned() };
    refused(&cookie("none=1"), "no cookie");
    refused(&cookie(&second.cookie), "another page's cookie");
    let cut = first.cookie.get(..first.cookie.len() - 1).expect("text");
    refused(&cookie(cut), "a cut cookie");
    let name = first.cookie.split('=').next().expect("a name");
    let value = second.cookie.split('=').nth(1).expect("a value");
    refused(&cookie(&format!("{name}={value}")), "another page's value");
    let hidden = |hidden: &[(String, String)]| Shown {
        hidden: hidden.to_vec(),
        cookie: first.cookie.clone(),
    };
    refused(&hidden(&[]), "no fields");
    refused(&hidden(&first.hidden[..1]), "no token");
    refused(&hidden(&first.hidden[1..]), "no id");
    refused(&hidden(&second.hidden), "another page's fields");
    // None of these has used the page up; sending it in does.
    assert_eq!(first.send(&rig, ALLOW).status, 303);
    refused(&first, "a second time");
    // What the form was made for is bound to it: no field changes the client or the way back.
    let fields = [ALLOW, &[("redirect_uri", "https://evil.example/"), ("state", "x")]].concat();
    let location = header(&second.send(&rig, &fields), "location");
    assert!(location.starts_with(REDIRECT), "{location}");
    assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
    let third = shown();
    rig.sandbox.reset();
    refused(&third, "after a reset");
}

#[test]
fn a_wrong_login_and_no_scope_bring_the_page_back_with_what_was_filled_in() {
    let rig = rig();
    let client_id = client(&rig);
    let mut shown = Shown::of(&open(&rig, &parameters(&client_id)));
    for (fields, links) in [
        (&[("user", "de\"mo<"), ("password", "x"), ("scope", "trade:read")][..], &["#user"][..]),
        (&[("user", "demo"), ("password", "demo")], &["#scopes"]),
        (&[("user", ""), ("password", "")], &["#user", "#scopes"]),
        (&[("user", "demo"), ("password", "demo"), ("scope", "accid:1")], &["#scopes"]),
        (&[("user", "demo"), ("password", "demo"), ("scope", "<b>")], &["#scopes"]),
    ] {
        let got = shown.send(&rig, &[fields, &[("decision", "allow")]].concat());
        assert_eq!(got.status, 400);
        let page = html(&got);
        assert_guarded(&got, "'self' http://127.0.0.1:8765");
        assert!(page.contains("role=\"alert\"") && page.contains("<title>Error: "));
        for link in ["#user", "#scopes"] {
            assert_eq!(page.contains(&format!("href=\"{link}\"")), links.contains(&link), "{link}");
        }
        assert!(!page.contains("<b>") && !page.contains("value=\"quote:read\" checked"));
        assert!(!page.contains("value=\"x\"") && !page.contains("de\"mo<"));
        let ticked = fields.contains(&("scope", "trade:read"));
        assert_eq!(page.contains("value=\"trade:read\" checked"), ticked);
        shown = Shown::of(&got);
    }
    assert_eq!(shown.send(&rig, &[("decision", "perhaps")]).status, 400);
    // A wrong login is no code: the one after it, on the same page, is.
    let shown = Shown::of(&open(&rig, &parameters(&client_id)));
    let again = Shown::of(&shown.send(&rig, &[("decision", "allow")]));
    assert_eq!(again.send(&rig, ALLOW).status, 303);
}

#[test]
fn hostile_names_are_shown_as_text() {
    let rig = rig();
    for name in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</title></style><h1>",
        "a & b ' \u{202e} <!--",
    ] {
        let mut metadata = metadata();
        metadata["client_name"] = name.into();
        let client_id = text(&register(&rig, &metadata).json()["client_id"]);
        let page = html(&open(&rig, &parameters(&client_id)));
        assert!(!page.contains(name), "{name}");
        assert_eq!(page.matches("<h1>").count(), 1);
        assert_eq!(page.matches("</title>").count(), 1);
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<!--"));
    }
}

#[test]
fn secrets_of_the_query_are_not_recorded() {
    let rig = rig();
    let client_id = client(&rig);
    open(&rig, &parameters(&client_id));
    rig.send("GET", "/oauth2/token?code=secret&client_secret=secret", "", b"").expect("a response");
    let requests = rig.sandbox.requests();
    let [.., page, token] = requests.as_slice() else { unreachable!("{requests:?}") };
    assert_eq!((page.method.as_str(), page.path.as_str(), page.status), ("GET", PAGE, 200));
    assert!(page.query.ends_with("&response_type=code&state=***"), "{}", page.query);
    assert!(page.query.starts_with(&format!("client_id={client_id}&")));
    assert_eq!((token.query.as_str(), token.status), ("code=***&client_secret=***", 405));
}

#[test]
fn other_methods_of_the_page_are_rejected() {
    let rig = rig();
    let got = rig.send("PUT", PAGE, "", b"").expect("a response");
    assert_eq!((got.status, header(&got, "allow")), (405, "GET, POST".to_owned()));
    let got = rig.send("POST", PAGE, FORM, b"").expect("a response");
    assert_eq!(got.status, 403);
}

#[test]
fn the_demo_user_allows_without_a_browser_by_the_same_rules() {
    let rig = rig();
    let client_id = client(&rig);
    let url = |pairs: &[(&str, &str)]| format!("{}{PAGE}?{}", rig.sandbox.base_url(), form(pairs));
    let good = parameters(&client_id);
    let scope_of = |callback: &str| {
        assert_eq!(parameter(callback, "state").as_deref(), Some(STATE));
        let code = parameter(callback, "code").expect("a code");
        text(&ask_token(&rig, &exchange(&client_id, &code)).json()["scope"])
    };
    let callback = rig.sandbox.authorize_demo_user(&url(&good), None).expect("allowed");
    assert_eq!(scope_of(&callback), "quote:read quote:write trade:read trade:write accid:*");
    let some = ["accid:281756".to_owned(), "quote:read".to_owned()];
    let callback = rig.sandbox.authorize_demo_user(&url(&good), Some(&some)).expect("allowed");
    assert_eq!(scope_of(&callback), "quote:read accid:281756");
    assert!(rig.sandbox.authorize_demo_user(&url(&good), Some(&[])).is_err());
    assert!(rig.sandbox.authorize_demo_user(&url(&good), Some(&["x".to_owned()])).is_err());

    let faulty = url(&altered(&good, "code_challenge_method", Some("plain")));
    let callback = rig.sandbox.authorize_demo_user(&faulty, None).expect("a way back");
    assert_eq!(parameter(&callback, "error").as_deref(), Some("invalid_request"));
    let unknown = url(&altered(&good, "client_id", Some("x")));
    let error = rig.sandbox.authorize_demo_user(&unknown, None).expect_err("no way back");
    assert!(matches!(*error.kind, ErrorKind::OAuth { .. }));
    let elsewhere = url(&good).replace("http://", "https://");
    assert!(rig.sandbox.authorize_demo_user(&elsewhere, None).is_err());
    // As on the page itself.
    assert_eq!(code(&rig, &client_id, &["quote:read"]).len(), 43);
}
