//! Uploaded public keys, whose algorithm is read from the key. The implementations that verify
//! signatures differ from the ones with which the client signs.

use boardlot_service::error::{Error, Result};
use ed25519_dalek::{
    Verifier,
    pkcs8::{
        DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
        spki::der::pem::LineEnding,
    },
};
use rsa::{pkcs1v15, traits::PublicKeyParts};
use sha2::Sha256;

use crate::seeded_rng::SeededRng;

const RSA_MIN_BITS: u32 = 2_048;

/// A public key.
#[derive(Debug)]
pub enum UploadedKey {
    Ed25519(ed25519_dalek::VerifyingKey),
    RsaSha256(pkcs1v15::VerifyingKey<Sha256>),
}

impl UploadedKey {
    /// Reads a SubjectPublicKeyInfo in PEM.
    pub fn read(pem: &str) -> Result<Self> {
        let pem = pem.trim();
        if let Ok(key) = ed25519_dalek::VerifyingKey::from_public_key_pem(pem) {
            return Ok(UploadedKey::Ed25519(key));
        }
        let key = rsa::PublicKey::from_public_key_pem(pem).map_err(|error| {
            unusable(&format!("{error}; expected an Ed25519 or RSA public key in PEM"))
        })?;
        if key.n().bit_width_vartime() < RSA_MIN_BITS {
            return Err(unusable(&format!("an RSA key under {RSA_MIN_BITS} bits")));
        }
        Ok(UploadedKey::RsaSha256(pkcs1v15::VerifyingKey::new(key)))
    }

    pub fn verifies(&self, payload: &[u8], signature: &[u8]) -> bool {
        match self {
            UploadedKey::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(payload, &signature).is_ok()),
            UploadedKey::RsaSha256(key) => pkcs1v15::Signature::try_from(signature)
                .is_ok_and(|signature| key.verify(payload, &signature).is_ok()),
        }
    }
}

/// Algorithm of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// `Ed25519`
    Ed25519,
    /// `RSA-SHA256`, with 2048 bits.
    RsaSha256,
}

/// Generates a private key and its public key, in PEM.
pub fn generate(algorithm: KeyAlgorithm) -> Result<(String, String)> {
    let failed =
        |error: &dyn std::fmt::Display| Error::config(format!("no key can be made: {error}"));
    let mut rng = SeededRng::unpredictable()?;
    match algorithm {
        KeyAlgorithm::Ed25519 => {
            let key = ed25519_dalek::SigningKey::from_bytes(&rng.bytes());
            // Without the public key, which OpenSSL does not read in this structure.
            let pair = KeypairBytes { secret_key: key.to_bytes(), public_key: None };
            let private = pair.to_pkcs8_pem(LineEnding::LF).map_err(|error| failed(&error))?;
            let public = key.verifying_key().to_public_key_pem(LineEnding::LF);
            Ok((private.as_str().to_owned(), public.map_err(|error| failed(&error))?))
        }
        KeyAlgorithm::RsaSha256 => {
            let bits = RSA_MIN_BITS as usize;
            let key = rsa::PrivateKey::new(rng.source(), bits).map_err(|error| failed(&error))?;
            let private = key.to_pkcs8_pem(LineEnding::LF).map_err(|error| failed(&error))?;
            let public = key.to_public_key().to_public_key_pem(LineEnding::LF);
            Ok((private.as_str().to_owned(), public.map_err(|error| failed(&error))?))
        }
    }
}

fn unusable(why: &str) -> Error {
    Error::config(format!("the public key cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use boardlot_service::canonical_request::payload;

    use super::*;
    use crate::testing::vectors;

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
        let vectors = vectors();
        let private = vectors["keys"]["ed25519"]["private_pem"].as_str().expect("a key");
        assert!(UploadedKey::read(private).is_err());
        let error = UploadedKey::read(RSA_1024).expect_err("too small").to_string();
        assert!(error.contains("2048"), "{error}");
        for pem in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert!(UploadedKey::read(pem).is_err(), "{pem}");
        }
    }
}
