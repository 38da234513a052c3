//! Helpers shared by the tests: keys, signed headers, a sandbox, and HTTP written by hand.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use boardlot_service::canonical_request::payload;
use ed25519_dalek::{Signer, pkcs8::DecodePrivateKey};
use http::{HeaderMap, HeaderName};
use rsa::{pkcs1v15, signature::SignatureEncoding};
use serde_json::Value;
use sha2::Sha256;

use super::{Options, Sandbox, seeded_rng::SeededRng};

/// A private key from the signing vectors.
pub enum KeyPair {
    Ed25519(ed25519_dalek::SigningKey),
    RsaSha256(pkcs1v15::SigningKey<Sha256>),
}

impl KeyPair {
    fn sign(&self, payload: &[u8]) -> Vec<u8> {
        match self {
            KeyPair::Ed25519(key) => key.sign(payload).to_bytes().to_vec(),
            KeyPair::RsaSha256(key) => key.sign(payload).to_vec(),
        }
    }
}

/// The signing vectors, made with OpenSSL.
pub fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/signing.json")).expect("JSON")
}

/// Returns a key pair from the vectors, and its public key.
pub fn key(name: &str) -> (KeyPair, String) {
    let vectors = vectors();
    let text = |member: &str| vectors["keys"][name][member].as_str().expect("a key").to_owned();
    let pem = text("private_pem");
    let pair = match ed25519_dalek::SigningKey::from_pkcs8_pem(&pem) {
        Ok(key) => KeyPair::Ed25519(key),
        Err(_) => {
            let key = rsa::PrivateKey::from_pkcs8_pem(&pem).expect("read");
            KeyPair::RsaSha256(pkcs1v15::SigningKey::new(key))
        }
    };
    (pair, text("public_pem"))
}

pub fn sign_headers(
    pair: &KeyPair,
    id: &str,
    timestamp_ms: i64,
    nonce: &str,
    (method, target, body): (&str, &str, &[u8]),
) -> HeaderMap {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let signature = pair.sign(&payload(timestamp_ms, method, path, query, body));
    [
        ("x-api-key", id),
        ("authorization", &STANDARD.encode(signature)),
        ("x-timestamp", &timestamp_ms.to_string()),
        ("x-nonce", nonce),
    ]
    .into_iter()
    .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a value")))
    .collect()
}

/// A sandbox with a runtime of its own and a key.
pub struct Rig {
    pub sandbox: Sandbox,
    pub pair: KeyPair,
    pub id: String,
    pub token: String,
    _runtime: tokio::runtime::Runtime,
}

/// A response, read to its end.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            unreachable!("{error}: {}", String::from_utf8_lossy(&self.body))
        })
    }
}

impl Rig {
    pub fn new(options: Options) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let sandbox = Sandbox::start(options, runtime.handle()).expect("started");
        let (pair, public) = key("ed25519");
        let id = sandbox.upload_key(&public).expect("uploaded");
        let token = sandbox.add_bearer_token();
        Rig { sandbox, pair, id, token, _runtime: runtime }
    }

    pub fn connect(&self) -> TcpStream {
        let address = self.sandbox.base_url().strip_prefix("http://").expect("an address");
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream
    }

    /// Sends a GET with a bearer token.
    pub fn get(&self, target: &str) -> Got {
        self.bearing("GET", target, b"")
    }

    pub fn post(&self, target: &str, body: &str) -> Got {
        self.bearing("POST", target, body.as_bytes())
    }

    fn bearing(&self, method: &str, target: &str, body: &[u8]) -> Got {
        let headers = format!("Authorization: Bearer {}\r\n", self.token);
        self.send(method, target, &headers, body).expect("a response")
    }

    /// Sends a request with the four headers, signed with an offset of the clock.
    pub fn signed(&self, method: &str, target: &str, body: &[u8], offset_ms: i64) -> Got {
        let nonce = SeededRng::unpredictable().expect("random").secret();
        let headers = self.signature(method, target, body, offset_ms, &nonce);
        self.send(method, target, &headers, body).expect("a response")
    }

    pub fn signature(
        &self,
        method: &str,
        target: &str,
        body: &[u8],
        offset_ms: i64,
        nonce: &str,
    ) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis() as i64;
        sign_headers(&self.pair, &self.id, now + offset_ms, nonce, (method, target, body))
            .iter()
            .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().expect("text")))
            .collect()
    }

    pub fn send(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> Option<Got> {
        let mut stream = self.connect();
        write(&mut stream, method, target, headers, body);
        read(&mut stream)
    }
}

pub fn write(stream: &mut TcpStream, method: &str, target: &str, headers: &str, body: &[u8]) {
    try_write(stream, method, target, headers, body).expect("written");
}

/// Writes a request. Fails if the connection is closed meanwhile.
pub fn try_write(
    stream: &mut TcpStream,
    method: &str,
    target: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())
}

/// Reads the next response of a connection; `None` if it was closed without one.
pub fn read(stream: &mut TcpStream) -> Option<Got> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ if head.is_empty() => return None,
            other => unreachable!("cut in the head: {other:?}"),
        }
    }
    let head = String::from_utf8(head).expect("text");
    let header = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let length: usize = header("content-length:").expect("a length").parse().expect("a number");
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body).ok();
    Some(Got { status, head, body })
}

/// Encodes a text as one value of a query.
pub fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
