//! Registration and tokens: the required parameters, the response, the access that a token gives,
//! and its lifetime.

use std::{sync::Barrier, time::Duration};

use boardlot_service::api::{ACCESS_TOKEN, CLIENT_RECORD};
use serde_json::{Value, json};

use super::flow::{
    FORM, TOKEN, altered, ask_token, assert_refused, client, code, exchange, form, get, header,
    metadata, refreshing, register, text,
};
use crate::{
    Faults, Options,
    testing::{Rig, read, write},
};

const QUOTE: &str = "/api/v1.0/quote/trading-days?market=HK&start=2026-01-01&end=2026-01-05";
const FILLS: &str = "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag=";
const SIM: &str = "/api/v1.0/sim-trade/5001/orders";
const CRYPTO: &str = "/api/v1/crypto/accounts/1001001/orders";
const ALL: &[&str] = &["quote:read", "quote:write", "trade:read", "trade:write", "accid:*"];

fn rig() -> Rig {
    Rig::new(Options { fills: 100, token_lifetime: 7_200.9, ..Options::default() })
}

fn confidential() -> Value {
    let mut metadata = metadata();
    metadata["token_endpoint_auth_method"] = "client_secret_post".into();
    metadata
}

#[test]
fn a_registration_returns_the_whole_record() {
    let rig = rig();
    let zero = json!(0);
    for (metadata, besides) in [(metadata(), 0), (confidential(), 2)] {
        let got = register(&rig, &metadata);
        assert_eq!((got.status, header(&got, "cache-control")), (201, "no-store".to_owned()));
        let response = got.json();
        for field in CLIENT_RECORD.fields() {
            assert!(!response[field.name.as_ref()].is_null(), "{}", field.name);
        }
        let members = response.as_object().expect("an object").len();
        assert_eq!(members, CLIENT_RECORD.fields().count() + besides);
        for (name, value) in metadata.as_object().expect("an object") {
            assert_eq!(response[name], *value, "{name}");
        }
        let id = text(&response["client_id"]);
        let uri = format!("{}/oauth2/register/{id}", rig.sandbox.base_url());
        assert_eq!(response["registration_client_uri"], uri);
        assert_eq!(response["scope"], "quote:read quote:write trade:read trade:write accid:*");
        assert_eq!(response["pkce_required"], true);
        let age = jiff::Timestamp::now().as_second()
            - response["client_id_issued_at"].as_i64().expect("seconds");
        assert!((0..60).contains(&age));
        assert_eq!(response.get("client_secret").is_some(), besides == 2);
        // RFC 7591, section 3.2.1.
        assert_eq!(response.get("client_secret_expires_at"), (besides == 2).then_some(&zero));
    }
    assert_ne!(client(&rig), client(&rig));
}

#[test]
fn faulty_registrations_are_refused() {
    let rig = rig();
    let field = |name: &str, value: Value| {
        let mut metadata = metadata();
        metadata[name] = value;
        metadata
    };
    assert_refused(&register(&rig, &json!({})), 400, "invalid_client_metadata");
    for name in metadata().as_object().expect("an object").keys() {
        for wrong in [Value::Null, json!(7), json!([]), json!([7]), json!({"a": 1})] {
            let got = register(&rig, &field(name, wrong.clone()));
            assert_refused(&got, 400, "invalid_client_metadata");
        }
    }
    for (name, wrong) in [
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("grant_types", json!(["authorization_code", "implicit"])),
        ("grant_types", json!(["refresh_token"])),
        ("response_types", json!(["code", "token"])),
        ("token_endpoint_auth_method", json!("")),
    ] {
        assert_refused(&register(&rig, &field(name, wrong)), 400, "invalid_client_metadata");
    }
    for uri in ["http://app.example/cb", "http://localhost:1/cb", "x:y"] {
        let got = register(&rig, &field("redirect_uris", json!([uri])));
        assert_eq!((got.status, got.json()["redirect_uris"].clone()), (201, json!([uri])));
    }
    for uri in ["http://127.0.0.1:1/cb#f", "//127.0.0.1/cb", "cb", "http://127.0.0.1/a b"] {
        let uris = json!(["https://app.example/cb", uri]);
        let got = register(&rig, &field("redirect_uris", uris));
        assert_refused(&got, 400, "invalid_redirect_uri");
    }
    for body in ["", "{", "[]", "null", "\"x\""] {
        let got = rig.send("POST", "/oauth2/register", "", body.as_bytes()).expect("a response");
        assert_refused(&got, 400, "invalid_client_metadata");
    }
}

#[test]
fn a_code_yields_tokens_and_a_refresh_token_access_tokens() {
    let rig = rig();
    let client_id = client(&rig);
    let code = code(&rig, &client_id, ALL);
    let got = ask_token(&rig, &exchange(&client_id, &code));
    let response = got.json();
    assert_eq!((got.status, header(&got, "cache-control")), (200, "no-store".to_owned()));
    let names: Vec<&str> = ACCESS_TOKEN.fields().map(|field| field.name.as_ref()).collect();
    assert!(names.iter().all(|name| !response[*name].is_null()), "{response}");
    assert_eq!(response.as_object().expect("an object").len(), names.len());
    assert_eq!(
        (&response["token_type"], &response["expires_in"]),
        (&"Bearer".into(), &7_200.into())
    );
    assert_eq!(response["scope"], ALL.join(" "));
    let first = text(&response["access_token"]);
    assert_eq!(get(&rig, &first, QUOTE).status, 200);

    let refresh_token = text(&response["refresh_token"]);
    let mut tokens = vec![first];
    for _ in 0..3 {
        let got = ask_token(&rig, &refreshing(&client_id, &refresh_token));
        let response = got.json();
        assert_eq!((got.status, response.as_object().expect("one").len()), (200, 4), "{response}");
        assert_eq!(
            (&response["token_type"], &response["scope"]),
            (&"Bearer".into(), &ALL.join(" ").into())
        );
        assert!(response["expires_in"].is_u64());
        tokens.push(text(&response["access_token"]));
    }
    for token in &tokens {
        assert_eq!(get(&rig, token, FILLS).status, 200);
    }
    let count = tokens.len();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), count);
    let asked = rig.sandbox.requests().into_iter().filter(|request| request.path == TOKEN).count();
    assert_eq!(asked, 4);
}

#[test]
fn security_35_a_code_is_bound_and_a_wrong_use_is_an_invalid_grant() {
    let rig = rig();
    let (client_id, other) = (client(&rig), client(&rig));
    let code = code(&rig, &client_id, ALL);
    let good = exchange(&client_id, &code);
    for (name, wrong) in [
        ("code", "unknown"),
        ("client_id", &other),
        ("redirect_uri", "https://app.example/cb?tenant=7"),
        ("redirect_uri", "http://127.0.0.1:8765/callback/"),
        ("code_verifier", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
        ("code_verifier", "short"),
    ] {
        let got = ask_token(&rig, &altered(&good, name, Some(wrong)));
        assert_refused(&got, 400, "invalid_grant");
    }
    assert_eq!(ask_token(&rig, &good).status, 200);
}

#[test]
fn security_35_a_code_works_once_of_64_racers() {
    let rig = rig();
    let client_id = client(&rig);
    for _ in 0..4 {
        let code = code(&rig, &client_id, ALL);
        let body = form(&exchange(&client_id, &code));
        let start = Barrier::new(64);
        let responses: Vec<Value> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..64)
                .map(|_| {
                    scope.spawn(|| {
                        let mut stream = rig.connect();
                        start.wait();
                        write(&mut stream, "POST", TOKEN, FORM, body.as_bytes());
                        read(&mut stream).expect("a response").json()
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().expect("no panic")).collect()
        });
        let (won, lost): (Vec<&Value>, Vec<&Value>) =
            responses.iter().partition(|response| response["access_token"].is_string());
        assert_eq!((won.len(), lost.len()), (1, 63));
        assert!(lost.iter().all(|response| response["error"] == "invalid_grant"));
        // The other exchanges were second uses, which revoke the tokens of the first.
        assert_eq!(get(&rig, &text(&won[0]["access_token"]), QUOTE).status, 401);
        let got = ask_token(&rig, &refreshing(&client_id, &text(&won[0]["refresh_token"])));
        assert_refused(&got, 400, "invalid_grant");
    }
}

#[test]
fn what_is_missing_doubled_or_malformed_is_an_invalid_request() {
    let rig = rig();
    let client_id = client(&rig);
    let code = code(&rig, &client_id, ALL);
    let code_grant = exchange(&client_id, &code);
    let refresh_grant = refreshing(&client_id, "r");
    for pairs in [&code_grant, &refresh_grant] {
        for (name, value) in pairs.iter() {
            for missing in [None, Some("")] {
                let got = ask_token(&rig, &altered(pairs, name, missing));
                assert_refused(&got, 400, "invalid_request");
            }
            let doubled = [pairs.as_slice(), &[(*name, *value)]].concat();
            assert_refused(&ask_token(&rig, &doubled), 400, "invalid_request");
        }
    }
    let grant = |name: &'static str| altered(&code_grant, "grant_type", Some(name));
    assert_refused(&ask_token(&rig, &grant("password")), 400, "unsupported_grant_type");
    assert_refused(&ask_token(&rig, &grant("client_credentials")), 400, "unsupported_grant_type");
    let nobody = altered(&code_grant, "client_id", Some("client-nobody"));
    assert_refused(&ask_token(&rig, &nobody), 401, "invalid_client");
    let body = form(&code_grant);
    for kind in ["", "Content-Type: application/json\r\n", "Content-Type: text/plain\r\n"] {
        let got = rig.send("POST", TOKEN, kind, body.as_bytes()).expect("a response");
        assert_refused(&got, 400, "invalid_request");
    }
    let kind = "Content-Type: Application/X-WWW-Form-Urlencoded; charset=UTF-8\r\n";
    assert_eq!(rig.send("POST", TOKEN, kind, body.as_bytes()).expect("a response").status, 200);
}

#[test]
fn a_confidential_client_refreshes_with_its_secret_only() {
    let rig = rig();
    let registered = register(&rig, &confidential()).json();
    let (client_id, secret) = (text(&registered["client_id"]), text(&registered["client_secret"]));
    let code_ = code(&rig, &client_id, ALL);
    let wrong = [exchange(&client_id, &code_), vec![("client_secret", "wrong")]].concat();
    assert_refused(&ask_token(&rig, &wrong), 401, "invalid_client");
    // The document does not name the secret for this grant.
    let response = ask_token(&rig, &exchange(&client_id, &code_)).json();
    let refresh_token = text(&response["refresh_token"]);
    let plain = refreshing(&client_id, &refresh_token);
    assert_refused(&ask_token(&rig, &plain), 401, "invalid_client");
    for wrong in ["", "wrong", secret.get(1..).expect("text"), &format!("{secret}A")] {
        let pairs = [plain.as_slice(), &[("client_secret", wrong)]].concat();
        assert_refused(&ask_token(&rig, &pairs), 401, "invalid_client");
    }
    let pairs = [plain.as_slice(), &[("client_secret", secret.as_str())]].concat();
    assert_eq!(ask_token(&rig, &pairs).status, 200);
    let public = client(&rig);
    let stolen = refreshing(&public, &refresh_token);
    assert_refused(&ask_token(&rig, &stolen), 400, "invalid_grant");
    let with_secret = [stolen, vec![("client_secret", secret.as_str())]].concat();
    assert_refused(&ask_token(&rig, &with_secret), 401, "invalid_client");
}

#[test]
fn a_client_that_did_not_register_for_refreshing_gets_no_refresh_token() {
    let rig = rig();
    let mut metadata = metadata();
    metadata["grant_types"] = json!(["authorization_code"]);
    let client_id = text(&register(&rig, &metadata).json()["client_id"]);
    let code = code(&rig, &client_id, ALL);
    let response = ask_token(&rig, &exchange(&client_id, &code)).json();
    assert!(response["access_token"].is_string() && response.get("refresh_token").is_none());
    let got = ask_token(&rig, &refreshing(&client_id, "x"));
    assert_refused(&got, 400, "unauthorized_client");
}

#[test]
fn scopes_open_their_endpoints_and_no_other() {
    let rig = rig();
    let client_id = client(&rig);
    for (scopes, open) in [
        (&["quote:read"][..], &[QUOTE][..]),
        (&["quote:read", "accid:*"], &[QUOTE]),
        (&["quote:write", "trade:write", "accid:*"], &[]),
        (&["trade:read"], &[]),
        (&["trade:read", "accid:*"], &[FILLS, SIM, CRYPTO]),
        (&["trade:read", "accid:281756"], &[FILLS]),
        (&["quote:read", "trade:read", "accid:1001001", "accid:5001"], &[QUOTE, SIM, CRYPTO]),
    ] {
        let code = code(&rig, &client_id, scopes);
        let response = ask_token(&rig, &exchange(&client_id, &code)).json();
        assert_eq!(response["scope"], scopes.join(" "));
        let token = text(&response["access_token"]);
        for target in [QUOTE, FILLS, SIM, CRYPTO] {
            let got = get(&rig, &token, target);
            let expected = if open.contains(&target) { 200 } else { 403 };
            assert_eq!(got.status, expected, "{scopes:?} {target}");
            if expected == 403 {
                let response = got.json();
                let member = match target {
                    FILLS => "errcode",
                    CRYPTO => "code",
                    _ => "ret_code",
                };
                assert_eq!(response[member], -10, "{response}");
            }
        }
        assert_eq!(get(&rig, &token, "/api/v1.0/server-time").status, 200);
    }
    for target in [QUOTE, FILLS, SIM, CRYPTO] {
        assert_eq!(rig.get(target).status, 200);
        assert_eq!(rig.signed("GET", target, b"", 0).status, 200);
    }
}

#[test]
fn tokens_end_by_time_by_revocation_and_by_reset() {
    let rig = Rig::new(Options { fills: 100, token_lifetime: 0.4, ..Options::default() });
    let client_id = client(&rig);
    let code_ = code(&rig, &client_id, ALL);
    let response = ask_token(&rig, &exchange(&client_id, &code_)).json();
    assert_eq!(response["expires_in"], 0);
    // time: the life of a token, of 0.4 seconds, ends
    std::thread::sleep(Duration::from_millis(500));
    let got = get(&rig, &text(&response["access_token"]), FILLS);
    assert_eq!((got.status, &got.json()["errcode"]), (401, &(-1).into()));
    let got = ask_token(&rig, &refreshing(&client_id, &text(&response["refresh_token"])));
    assert_eq!(got.status, 200);

    let rig = self::rig();
    let client_id = client(&rig);
    let granted = || {
        let code = code(&rig, &client_id, ALL);
        ask_token(&rig, &exchange(&client_id, &code)).json()
    };
    let open = |token: &Value| get(&rig, &text(token), QUOTE).status;
    let refresh = |token: &Value| ask_token(&rig, &refreshing(&client_id, &text(token)));
    let response = granted();
    assert_eq!(open(&response["access_token"]), 200);
    rig.sandbox.revoke_tokens();
    assert_eq!(open(&response["access_token"]), 401);
    let renewed = refresh(&response["refresh_token"]).json();
    assert_eq!(open(&renewed["access_token"]), 200);
    let code_ = code(&rig, &client_id, ALL);
    rig.sandbox.revoke_grants();
    assert_eq!(open(&renewed["access_token"]), 401);
    assert_refused(&refresh(&response["refresh_token"]), 400, "invalid_grant");
    assert_refused(&ask_token(&rig, &exchange(&client_id, &code_)), 400, "invalid_grant");
    // The client is still registered.
    let response = granted();
    assert_eq!(open(&response["access_token"]), 200);
    let kept = rig.sandbox.add_bearer_token();
    rig.sandbox.reset();
    assert_eq!(open(&response["access_token"]), 401);
    assert_refused(&refresh(&response["refresh_token"]), 401, "invalid_client");
    assert_eq!(get(&rig, &kept, QUOTE).status, 200);
}

#[test]
fn the_clock_of_the_sandbox_is_the_one_that_counts() {
    let rig = Rig::new(Options { fills: 100, clock_offset: 86_400.0, ..Options::default() });
    let response = register(&rig, &metadata()).json();
    let ahead = response["client_id_issued_at"].as_i64().expect("seconds")
        - jiff::Timestamp::now().as_second();
    assert!((86_300..=86_400).contains(&ahead), "{ahead}");
    let client_id = text(&response["client_id"]);
    let code = code(&rig, &client_id, ALL);
    assert_eq!(ask_token(&rig, &exchange(&client_id, &code)).status, 200);
}

#[test]
fn faults_reach_registration_and_tokens_but_not_the_page() {
    let rig = rig();
    let client_id = client(&rig);
    let first = code(&rig, &client_id, ALL);
    let set = |faults: Faults| rig.sandbox.set_faults(faults).expect("set");
    set(Faults { error_rate: 1.0, ..Faults::default() });
    assert_refused(&register(&rig, &metadata()), 503, "temporarily_unavailable");
    let asked = exchange(&client_id, &first);
    assert_refused(&ask_token(&rig, &asked), 503, "temporarily_unavailable");
    set(Faults { throttle_rate: 1.0, ..Faults::default() });
    let got = ask_token(&rig, &asked);
    assert_refused(&got, 429, "temporarily_unavailable");
    assert_eq!(header(&got, "retry-after"), "1");
    set(Faults { html_rate: 1.0, ..Faults::default() });
    assert!(ask_token(&rig, &asked).body.starts_with(b"<!DOCTYPE html>"));
    set(Faults { drop_rate: 1.0, ..Faults::default() });
    assert!(rig.send("POST", TOKEN, FORM, form(&asked).as_bytes()).is_none());
    // The page works throughout, and none of these requests has used up the code.
    let second = code(&rig, &client_id, ALL);
    set(Faults::default());
    assert_eq!(ask_token(&rig, &asked).status, 200);
    // If the response is lost in transit, the code is used up.
    set(Faults { truncate_rate: 1.0, ..Faults::default() });
    ask_token(&rig, &exchange(&client_id, &second));
    set(Faults::default());
    let got = ask_token(&rig, &exchange(&client_id, &second));
    assert_refused(&got, 400, "invalid_grant");
}
