//! The consent page: who gets it, its content, and the effect of its form.

use boardlot_service::error::ErrorKind;

use super::flow::{
    CHALLENGE, FORM, PAGE, REDIRECT, STATE, altered, ask_token, client, code, decide, exchange,
    form, header, metadata, open, parameter, parameters, register, text,
};
use crate::{
    Options,
    testing::{Got, Rig},
};

const ALLOW: &[(&str, &str)] = &[("scope", "quote:read"), ("decision", "allow")];

fn rig() -> Rig {
    Rig::new(Options { fills: 100, ..Options::default() })
}

fn html(got: &Got) -> String {
    assert!(header(got, "content-type").starts_with("text/html"));
    String::from_utf8(got.body.clone()).expect("text")
}

#[test]
fn the_page_shows_that_it_is_a_sandbox_and_what_is_asked_for() {
    let rig = rig();
    let got = open(&rig, &parameters(&client(&rig)));
    assert_eq!((got.status, header(&got, "cache-control")), (200, "no-store".to_owned()));
    let page = html(&got);
    for part in [
        "This is a sandbox",
        "Kestrel Notes",
        REDIRECT,
        "<legend>",
        "lang=\"en\"",
        "value=\"allow\"",
        "value=\"deny\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for scope in ["quote:read", "quote:write", "trade:read", "trade:write", "accid:*"] {
        assert!(page.contains(&format!("value=\"{scope}\" checked")), "{scope}");
    }
    for account in crate::ACCOUNTS.into_iter().flat_map(|(_, ids)| ids) {
        assert!(page.contains(&format!("value=\"accid:{account}\">")), "{account}");
    }
}

#[test]
fn security_35_an_unknown_client_or_redirect_uri_gets_a_page_never_a_redirect() {
    let rig = rig();
    let client_id = client(&rig);
    let mut other = metadata();
    other["redirect_uris"] = serde_json::json!(["https://other.example/cb"]);
    let other = text(&register(&rig, &other).json()["client_id"]);
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
        for got in [open(&rig, &case), decide(&rig, &case, ALLOW)] {
            assert_eq!((got.status, header(&got, "location")), (400, String::new()), "{case:?}");
            let page = html(&got);
            assert!(!page.contains("<form") && !page.contains("<a") && !page.contains("<script"));
        }
    }
}

#[test]
fn other_faults_go_back_to_the_client_with_its_state() {
    let rig = rig();
    let client_id = client(&rig);
    let good = parameters(&client_id);
    let cut = CHALLENGE.get(1..).expect("text");
    let longer = format!("{CHALLENGE}A");
    let with = |name, value| (altered(&good, name, value), "invalid_request");
    let cases = [
        with("response_type", None),
        with("code_challenge_method", None),
        with("code_challenge_method", Some("plain")),
        with("code_challenge", None),
        with("code_challenge", Some("")),
        with("code_challenge", Some(cut)),
        with("code_challenge", Some(&longer)),
        with("code_challenge", Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM")),
        ([good.clone(), vec![("code_challenge", CHALLENGE)]].concat(), "invalid_request"),
        (altered(&good, "response_type", Some("token")), "unsupported_response_type"),
        ([good.clone(), vec![("scope", "quote:everything")]].concat(), "invalid_scope"),
        (altered(&good, "response_type", Some("code token")), "unsupported_response_type"),
    ];
    for (case, error) in cases {
        let got = open(&rig, &case);
        let location = header(&got, "location");
        assert_eq!(got.status, 303, "{case:?}");
        assert!(location.starts_with(&format!("{REDIRECT}?error={error}&")), "{location}");
        assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
        assert_eq!(parameter(&location, "code"), None);
    }
    for state in [None, Some("")] {
        let got = open(&rig, &altered(&good, "state", state));
        let location = header(&got, "location");
        assert!(location.starts_with(&format!("{REDIRECT}?error=invalid_request&")), "{location}");
        assert_eq!(parameter(&location, "state"), None);
    }
}

#[test]
fn texts_that_only_their_author_reads_may_be_long() {
    let rig = rig();
    let uri = format!("https://app.example/{}", "c".repeat(1_000));
    let mut metadata = metadata();
    metadata["redirect_uris"] = serde_json::json!([uri]);
    let client_id = text(&register(&rig, &metadata).json()["client_id"]);
    let state = "s".repeat(2_000);
    let asked = altered(&parameters(&client_id), "state", Some(&state));
    let asked = altered(&asked, "redirect_uri", Some(&uri));
    let location = header(&decide(&rig, &asked, ALLOW), "location");
    assert!(location.starts_with(&uri), "{location}");
    assert_eq!(parameter(&location, "state"), Some(state));
    let code = parameter(&location, "code").expect("a code");
    let asked = exchange(&client_id, &code);
    assert_eq!(ask_token(&rig, &altered(&asked, "redirect_uri", Some(&uri))).status, 200);
}

#[test]
fn allowing_leads_back_with_code_and_state_and_denying_without() {
    let rig = rig();
    let client_id = client(&rig);
    let with_query =
        altered(&parameters(&client_id), "redirect_uri", Some("https://app.example/cb?tenant=7"));
    let got = decide(&rig, &with_query, ALLOW);
    assert_eq!(got.status, 303);
    let location = header(&got, "location");
    assert!(location.starts_with("https://app.example/cb?tenant=7&code="), "{location}");
    assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
    let got = decide(&rig, &parameters(&client_id), &[("decision", "deny")]);
    let location = header(&got, "location");
    assert!(location.starts_with(&format!("{REDIRECT}?error=access_denied&")), "{location}");
    assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
    assert_eq!(parameter(&location, "code"), None);
}

#[test]
fn a_form_without_a_decision_or_a_scope_that_is_offered_leads_nowhere() {
    let rig = rig();
    let client_id = client(&rig);
    for fields in [
        &[][..],
        &[("decision", "perhaps"), ("scope", "quote:read")],
        &[("decision", "allow")],
        &[("decision", "allow"), ("scope", "accid:1")],
        &[("decision", "allow"), ("scope", "quote:read"), ("scope", "<b>")],
    ] {
        let got = decide(&rig, &parameters(&client_id), fields);
        assert_eq!((got.status, header(&got, "location")), (400, String::new()), "{fields:?}");
        assert!(!html(&got).contains("<b>"));
    }
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
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<!--"));
    }
}

#[test]
fn other_methods_of_the_page_are_rejected() {
    let rig = rig();
    let got = rig.send("PUT", PAGE, "", b"").expect("a response");
    assert_eq!(got.status, 404);
    assert_eq!(rig.send("POST", PAGE, FORM, b"").expect("a response").status, 400);
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
    let some = ["quote:read".to_owned(), "accid:281756".to_owned()];
    let callback = rig.sandbox.authorize_demo_user(&url(&good), Some(&some)).expect("allowed");
    assert_eq!(scope_of(&callback), "quote:read accid:281756");
    assert!(rig.sandbox.authorize_demo_user(&url(&good), Some(&[])).is_err());
    assert!(rig.sandbox.authorize_demo_user(&url(&good), Some(&["x".to_owned()])).is_err());

    let narrow = [good.as_slice(), &[("scope", "trade:read accid:*")]].concat();
    let callback = rig.sandbox.authorize_demo_user(&url(&narrow), None).expect("allowed");
    assert_eq!(scope_of(&callback), "trade:read accid:*");

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
