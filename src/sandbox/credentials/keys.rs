//! Uploaded public keys, whose algorithm is read from the key. Signatures are verified with
//! different implementations from those that the client signs with.

use pkcs8::{Document, ObjectIdentifier, spki::SubjectPublicKeyInfoRef};

use super::rsa::RsaPublicKey;
use crate::error::{Error, Result};

const ED25519_OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const RSA_OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

#[derive(Debug)]
pub enum UploadedKey {
    Ed25519(ed25519_dalek::VerifyingKey),
    RsaSha256(RsaPublicKey),
}

impl UploadedKey {
    /// Reads a SubjectPublicKeyInfo in PEM.
    pub fn read(pem: &str) -> Result<Self> {
        let (label, document) =
            Document::from_pem(pem.trim()).map_err(|error| unreadable(&error))?;
        if label != "PUBLIC KEY" {
            return Err(unreadable(&format!("PEM label '{label}'; expected 'PUBLIC KEY'")));
        }
        let info = SubjectPublicKeyInfoRef::try_from(document.as_bytes())
            .map_err(|error| unreadable(&error))?;
        let bits = info.subject_public_key.raw_bytes();
        match info.algorithm.oid {
            ED25519_OID => {
                let bytes = <[u8; 32]>::try_from(bits).map_err(|error| unreadable(&error))?;
                let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes);
                key.map(UploadedKey::Ed25519).map_err(|error| unreadable(&error))
            }
            RSA_OID => RsaPublicKey::from_pkcs1(bits)
                .map(UploadedKey::RsaSha256)
                .map_err(|why| unreadable(&why)),
            other => Err(unreadable(&format!("algorithm {other}; expected Ed25519 or RSA"))),
        }
    }

    pub fn verifies(&self, payload: &[u8], signature: &[u8]) -> bool {
        match self {
            UploadedKey::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(payload, &signature).is_ok()),
            UploadedKey::RsaSha256(key) => key.verifies(payload, signature),
        }
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> Error {
    Error::config(format!("the public key cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;
    use crate::{
        auth::{Algorithm, generate, payload},
        sandbox::testing::vectors,
    };

    #[test]
    fn signatures_made_elsewhere_are_verified() {
        let vectors = vectors();
        for (name, member) in [("ed25519", "ed25519"), ("rsa2048_pkcs8", "rsa2048")] {
            let pem = vectors["keys"][name]["public_pem"].as_str().expect("a key");
            let key = UploadedKey::read(pem).expect("read");
            for case in vectors["cases"].as_array().expect("cases") {
                let text = |member: &str| case[member].as_str().expect("text");
                let payload = payload(
                    case["timestamp_ms"].as_i64().expect("a time"),
                    text("method"),
                    text("path"),
                    text("query"),
                    &STANDARD.decode(text("body_base64")).expect("a body"),
                );
                let mut signature = STANDARD.decode(text(member)).expect("a signature");
                assert!(key.verifies(&payload, &signature), "{name}");
                signature[5] ^= 1;
                assert!(!key.verifies(&payload, &signature), "{name}");
                assert!(!key.verifies(&payload, b""), "{name}");
            }
        }
    }

    const RSA_1024: &str = "-----BEGIN PUBLIC KEY-----\n\
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDL959fINjDwXtXDRLaCHBJAoLC\n\
        SzRSIew17A8GgfqA+dNy0TToNKNML/I9PUIkQoMwv9Fn9zEazty1jqISlQ2M7pNd\n\
        Tgk1U+e+94TSXQVC4sfLLRgHl2FrASI/A+MjXKdRkCsfIm+rBESUDnjKYd1K13EA\n\
        hGqUQtCcvHNUqc2yxQIDAQAB\n\
        -----END PUBLIC KEY-----";

    #[test]
    fn only_public_keys_of_the_two_algorithms_are_taken() {
        let (private, _) = generate(Algorithm::Ed25519, 0).expect("made");
        assert!(UploadedKey::read(&private).is_err());
        let error = UploadedKey::read(RSA_1024).expect_err("too small").to_string();
        assert!(error.contains("2048"), "{error}");
        for pem in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert!(UploadedKey::read(pem).is_err(), "{pem}");
        }
    }
}
