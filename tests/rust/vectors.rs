//! Every case of `tests/vectors/signing.json`, which was made with another implementation.

use base64::{Engine, engine::general_purpose::STANDARD};
use boardlot::{
    api::ENDPOINTS,
    auth::{KeyPair, payload},
};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/signing.json")).expect("JSON")
}

fn key(vectors: &Value, name: &str) -> KeyPair {
    let key = &vectors["keys"][name];
    let pem = key["private_pem"].as_str().expect("a PEM");
    KeyPair::read(pem.as_bytes(), key["password"].as_str().map(str::as_bytes)).expect(name)
}

#[test]
fn every_case_has_the_payload_and_the_signatures_of_the_vectors() {
    let vectors = vectors();
    let (ed25519, rsa) = (key(&vectors, "ed25519"), key(&vectors, "rsa2048_pkcs8"));
    let cases = vectors["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 12);
    for case in cases {
        let text = |name: &str| case[name].as_str().expect(name);
        let body = STANDARD.decode(text("body_base64")).expect("Base64");
        let timestamp = case["timestamp_ms"].as_i64().expect("a timestamp");
        let made = payload(timestamp, text("method"), text("path"), text("query"), &body);
        assert_eq!(String::from_utf8_lossy(&made), text("payload"), "{}", text("name"));
        assert_eq!(ed25519.sign(&made).expect("signed"), text("ed25519"), "{}", text("name"));
        assert_eq!(rsa.sign(&made).expect("signed"), text("rsa2048"), "{}", text("name"));
    }
}

#[test]
fn every_key_is_read_whatever_its_form() {
    let vectors = vectors();
    for (name, entry) in vectors["keys"].as_object().expect("keys") {
        let key = key(&vectors, name);
        assert_eq!(key.algorithm().as_str(), entry["algorithm"], "{name}");
        assert_eq!(key.public_key_pem().expect("a PEM"), entry["public_pem"], "{name}");
    }
}

#[test]
fn every_endpoint_has_vectors_written_by_hand() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/endpoints");
    for endpoint in ENDPOINTS {
        let path = format!("{folder}/{}.json", endpoint.name);
        let text = std::fs::read_to_string(&path).expect(&path);
        let file: Value = serde_json::from_str(&text).expect("JSON");
        assert!(!file["cases"].as_array().expect("cases").is_empty(), "{}", endpoint.name);
    }
}
