//! Private keys: read from PEM or DER, PKCS#8 (also encrypted) or PKCS#1; generated; used for
//! signing.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::pkcs8::KeypairBytes;
use pkcs8::{
    Document, EncodePrivateKey, EncryptedPrivateKeyInfoRef, LineEnding, ObjectIdentifier,
    PrivateKeyInfoRef, SecretDocument,
    der::{Decode, Header, SliceReader, Tag},
    pkcs5::{self, pbes2::Kdf},
    spki::AlgorithmIdentifierRef,
};
use zeroize::Zeroizing;

use super::{Unreadable, pem};
use crate::{
    error::{Advice, Error, Result, did_you_mean},
    os::{entropy, fork_gate},
};

/// The argument that has a key.
const ARGUMENT: &str = "private_key";
/// Maximum size of a file or text with a key: an RSA key of 16,384 bits has 13 KB.
const MAX_BYTES: usize = 1 << 16;
/// RSA keys with fewer bits are refused.
pub const RSA_MIN_BITS: usize = 2048;

const ED25519_OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const RSA_OID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// A private key that signs requests. Its memory is wiped when it is dropped.
///
/// ```
/// use boardlot_client::{Algorithm, KeyPair, Result, generate_key};
///
/// # fn main() -> Result<()> {
/// // A key that you have: `KeyPair::read(&std::fs::read("key.pem").expect("a key file"), None)`.
/// let (private_pem, public_pem) = generate_key(Algorithm::Ed25519, 0)?;
/// let key = KeyPair::read(private_pem.as_bytes(), None)?;
/// assert_eq!(key.public_key_pem()?, public_pem);
/// # Ok(())
/// # }
/// ```
pub struct KeyPair(Private);

/// Both kinds sign with aws-lc-rs, in constant time. An Ed25519 signature takes 10 µs, and 17 µs
/// with ed25519-dalek.
enum Private {
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// The signing algorithms of the service: section 5.2 of its documentation. The algorithm of a
/// [`KeyPair`] is the one of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// Ed25519 (RFC 8032).
    Ed25519,
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017).
    RsaSha256,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 2] = [Algorithm::Ed25519, Algorithm::RsaSha256];

    /// Returns the service's own name for the algorithm.
    pub const fn as_str(self) -> &'static str {
        match self {
            Algorithm::Ed25519 => "Ed25519",
            Algorithm::RsaSha256 => "RSA-SHA256",
        }
    }

    /// Parses the name of an algorithm.
    pub fn parse(name: &str) -> Result<Self> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.as_str() == name).ok_or_else(|| {
            let nearest = did_you_mean(name, Algorithm::ALL.map(Algorithm::as_str));
            Error::argument(
                "algorithm",
                &format!("'{}'", name.escape_debug()),
                &format!("'Ed25519' or 'RSA-SHA256'{nearest}"),
            )
        })
    }
}

impl KeyPair {
    /// Reads a key from the contents of a file, PEM or DER: Ed25519 in PKCS#8, RSA in PKCS#8 or
    /// PKCS#1. `password` decrypts an encrypted PKCS#8 key.
    pub fn read(bytes: &[u8], password: Option<&[u8]>) -> Result<Self> {
        Self::read_from(None, bytes, password)
    }

    /// Reads a key that was in a file, which errors name as `file` does.
    pub fn read_from(file: Option<&str>, bytes: &[u8], password: Option<&[u8]>) -> Result<Self> {
        let key = Self::from_bytes(bytes, password);
        key.map_err(|problem| problem.or_advice(Advice::AnotherKey).of(ARGUMENT, file))
    }

    fn from_bytes(bytes: &[u8], password: Option<&[u8]>) -> Result<Self, Unreadable> {
        if bytes.len() > MAX_BYTES {
            let length = bytes.len();
            return Err(format!("is {length} bytes long; expected at most 65,536 bytes").into());
        }
        let (label, document) = read_document(bytes)?;
        match label.as_str() {
            "PRIVATE KEY" => Self::from_pkcs8(&document),
            "RSA PRIVATE KEY" => Self::from_rsa(RsaKeyPair::from_der(document.as_bytes())),
            "ENCRYPTED PRIVATE KEY" => Self::from_encrypted(&document, password),
            "PUBLIC KEY" | "RSA PUBLIC KEY" => {
                Err(Unreadable::from("is a public key; expected its private key"))
            }
            "PKCS#12" => Err(Unreadable::from(
                "is a PKCS#12 file; convert its key with `openssl pkcs12 -in FILE -nocerts \
                 -out NEW`",
            )),
            other => Err(Unreadable::from(format!(
                "is a '{other}'; expected an Ed25519 or RSA key in PKCS#8 or PKCS#1 \
                 (convert with `openssl pkcs8 -topk8 -nocrypt`)"
            ))),
        }
    }

    fn from_encrypted(
        document: &SecretDocument,
        password: Option<&[u8]>,
    ) -> Result<Self, Unreadable> {
        let password = password.ok_or_else(|| {
            Unreadable::from("is encrypted; pass its password").or_advice(Advice::KeyPassword)
        })?;
        let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
            .map_err(|_| unknown_encryption(document))?;
        if let Some(scheme) = info.encryption_algorithm.pbes2() {
            check_cost(&scheme.kdf)?;
        }
        let opened = info.decrypt(password).map_err(|error| match error {
            pkcs8::Error::EncryptedPrivateKey(
                pkcs5::Error::NoPbes1CryptSupport | pkcs5::Error::UnsupportedAlgorithm { .. },
            ) => unknown_encryption(document),
            _ => {
                let what = "cannot be decrypted: the password is wrong";
                Unreadable::from(what).or_advice(Advice::KeyPassword)
            }
        })?;
        Self::from_pkcs8(&opened)
    }

    fn from_pkcs8(document: &SecretDocument) -> Result<Self, Unreadable> {
        let info = PrivateKeyInfoRef::try_from(document.as_bytes())
            .map_err(|error| Unreadable::from(format!("cannot be read: {error}")))?;
        match info.algorithm.oid {
            ED25519_OID => Ed25519KeyPair::from_pkcs8(document.as_bytes())
                .map(|key| KeyPair(Private::Ed25519(key)))
                .map_err(|error| Unreadable::from(format!("is not a valid Ed25519 key: {error}"))),
            RSA_OID => Self::from_rsa(RsaKeyPair::from_pkcs8(document.as_bytes())),
            other => Err(Unreadable::from(format!(
                "is of algorithm {}; expected Ed25519 or RSA",
                name(&other)
            ))),
        }
    }

    fn from_rsa(
        read: Result<RsaKeyPair, aws_lc_rs::error::KeyRejected>,
    ) -> Result<Self, Unreadable> {
        match read {
            Ok(key) if key.public_modulus_len() * 8 >= RSA_MIN_BITS => {
                Ok(KeyPair(Private::Rsa(key)))
            }
            Ok(_) => Err(too_small()),
            Err(error) if error.to_string() == "TooSmall" => Err(too_small()),
            Err(error) => Err(Unreadable::from(format!("is not a valid RSA key: {error}"))),
        }
    }

    /// Returns the signing algorithm of the key.
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            Private::Ed25519(_) => Algorithm::Ed25519,
            Private::Rsa(_) => Algorithm::RsaSha256,
        }
    }

    /// Signs the payload and returns the signature in Base64: the value of the Authorization
    /// header.
    pub fn sign(&self, payload: &[u8]) -> Result<String> {
        match &self.0 {
            Private::Ed25519(key) => key
                .try_sign(payload)
                .map(|signature| STANDARD.encode(signature))
                .map_err(|_| Error::config("the Ed25519 key failed to sign")),
            Private::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                // PKCS#1 v1.5 uses no randomness; the argument is there for PSS.
                let random = SystemRandom::new();
                fork_gate::pass(|| key.sign(&RSA_PKCS1_SHA256, &random, payload, &mut signature))
                    .map_err(|_| Error::config("the RSA key failed to sign"))?;
                Ok(STANDARD.encode(signature))
            }
        }
    }

    /// Returns the public key as PEM (SubjectPublicKeyInfo), as it is uploaded to the dashboard.
    pub fn public_key_pem(&self) -> Result<String> {
        let der: PublicKeyX509Der = match &self.0 {
            Private::Ed25519(key) => key.public_key().as_der(),
            Private::Rsa(key) => key.public_key().as_der(),
        }
        .map_err(|error| unwritable(&error))?;
        let document = Document::try_from(der.as_ref()).map_err(|error| unwritable(&error))?;
        document.to_pem("PUBLIC KEY", LineEnding::LF).map_err(|error| unwritable(&error))
    }
}

boardlot_service::shown_as!(KeyPair, |this| "KeyPair({})", this.algorithm().as_str());

/// Generates a key pair as PEM: the private key (PKCS#8) and the public key. `bits` is
/// the size of an RSA key, at least 2048; an Ed25519 key has one size.
pub fn generate_key(algorithm: Algorithm, bits: usize) -> Result<(Zeroizing<String>, String)> {
    let private = match algorithm {
        Algorithm::Ed25519 => {
            let mut seed = Zeroizing::new([0u8; 32]);
            entropy::fill(seed.as_mut())?;
            // Version 1, without the public key: OpenSSL does not read version 2.
            KeypairBytes { secret_key: *seed, public_key: None }
                .to_pkcs8_der()
                .map_err(|error| unwritable(&error))?
        }
        Algorithm::RsaSha256 => {
            let size = match bits {
                2048 => KeySize::Rsa2048,
                3072 => KeySize::Rsa3072,
                4096 => KeySize::Rsa4096,
                8192 => KeySize::Rsa8192,
                other => {
                    return Err(Error::argument(
                        "bits",
                        &other.to_string(),
                        "2048, 3072, 4096 or 8192",
                    ));
                }
            };
            let key = RsaKeyPair::generate(size).map_err(|error| unwritable(&error))?;
            let der: Pkcs8V1Der = key.as_der().map_err(|error| unwritable(&error))?;
            SecretDocument::try_from(der.as_ref()).map_err(|error| unwritable(&error))?
        }
    };
    let public = KeyPair::from_pkcs8(&private).map_err(|problem| problem.of(ARGUMENT, None))?;
    let public = public.public_key_pem()?;
    let private =
        private.to_pem("PRIVATE KEY", LineEnding::LF).map_err(|error| unwritable(&error))?;
    Ok((private, public))
}

/// Encrypts a private key in PEM (PKCS#8) by AES-256, with a key derived by scrypt.
pub fn encrypted(private_pem: &str, password: &[u8]) -> Result<Zeroizing<String>> {
    let encrypt = || {
        let (_, document) = SecretDocument::from_pem(private_pem)?;
        let encrypted = PrivateKeyInfoRef::try_from(document.as_bytes())?.encrypt(password)?;
        Ok::<_, pkcs8::Error>(encrypted.to_pem("ENCRYPTED PRIVATE KEY", LineEnding::LF)?)
    };
    encrypt().map_err(|error| unwritable(&error))
}

/// Ten times the iterations that are recommended for PBKDF2 with SHA-256. The limit for scrypt is
/// four times the need of OpenSSL's largest example. A file must not be able to make its reader
/// take minutes or all memory.
const PBKDF2_ITERATIONS_MAX: u32 = 6_000_000;
const SCRYPT_BYTES_MAX: u128 = 256 << 20;

/// Refuses an encrypted key whose costs no user would choose.
fn check_cost(derivation: &Kdf) -> Result<(), Unreadable> {
    let refuse = |cost: String, max: &str| {
        Err(Unreadable::from(format!(
            "is encrypted with {cost}; expected at most {max}: encrypt it again with \
             `openssl pkcs8 -topk8 -iter 600000`"
        )))
    };
    match derivation {
        Kdf::Pbkdf2(params) if params.iteration_count > PBKDF2_ITERATIONS_MAX => refuse(
            format!("{} iterations of PBKDF2", params.iteration_count),
            &PBKDF2_ITERATIONS_MAX.to_string(),
        ),
        Kdf::Scrypt(params) => {
            let (n, r, p) = (params.cost_parameter, params.block_size, params.parallelization);
            let bytes = u128::from(n) * u128::from(r) * u128::from(p) * 128;
            match bytes {
                // The library panics at a cost of zero.
                1..=SCRYPT_BYTES_MAX if n > 1 && n.is_power_of_two() => Ok(()),
                _ => refuse(format!("scrypt of N={n}, r={r}, p={p}"), "N=131072, r=8, p=2"),
            }
        }
        _ => Ok(()),
    }
}

/// Returns the name of an algorithm that is not supported.
fn name(oid: &ObjectIdentifier) -> String {
    const NAMES: [(&str, &str); 7] = [
        ("1.2.840.10040.4.1", "DSA"),
        ("1.2.840.10045.2.1", "EC"),
        ("1.2.840.113549.1.1.10", "RSASSA-PSS"),
        ("1.3.101.110", "X25519"),
        ("1.3.101.113", "Ed448"),
        ("1.2.840.113549.1.5.13", "PBES2 with an unsupported cipher or hash function"),
        ("1.2.840.113549.1.12.1.3", "PBE-SHA1-3DES"),
    ];
    let oid = oid.to_string();
    NAMES.iter().find(|(known, _)| *known == oid).map_or(oid, |(_, name)| (*name).to_owned())
}

/// Returns the error for an unsupported encryption, which it names.
fn unknown_encryption(document: &SecretDocument) -> Unreadable {
    let scheme = SliceReader::new(document.as_bytes()).and_then(|mut reader| {
        Header::decode(&mut reader)?;
        AlgorithmIdentifierRef::decode(&mut reader)
    });
    let name = match scheme {
        Ok(scheme) => name(&scheme.oid),
        Err(error) => return Unreadable::from(format!("cannot be read: {error}")),
    };
    Unreadable::from(format!(
        "is encrypted with {name}; expected PBES2 with AES. Convert it with `openssl pkcs8 \
         -topk8 -in FILE -out NEW`, with OpenSSL 3 also `-provider legacy -provider default`"
    ))
}

/// Finds the PEM label for bare DER, by its first members.
fn der_label(bytes: &[u8]) -> Option<&'static str> {
    let mut reader = SliceReader::new(bytes).ok()?;
    Header::decode(&mut reader).ok()?;
    let version = match Tag::peek(&reader).ok()? {
        Tag::Integer => Some(u8::decode(&mut reader).ok()?),
        _ => AlgorithmIdentifierRef::decode(&mut reader).map(|_| None).ok()?,
    };
    match (version, Tag::peek(&reader).ok()?) {
        (Some(_), Tag::Integer) => Some("RSA PRIVATE KEY"),
        (Some(_), Tag::OctetString) => Some("EC PRIVATE KEY"),
        (Some(3), Tag::Sequence) => Some("PKCS#12"),
        (Some(_), Tag::Sequence) => Some("PRIVATE KEY"),
        (None, Tag::OctetString) => Some("ENCRYPTED PRIVATE KEY"),
        (None, Tag::BitString) => Some("PUBLIC KEY"),
        _ => None,
    }
}

const CERTIFICATE: &str = "is a certificate; expected its private key";

/// Returns true if this is the DER of a certificate: one sequence in another, whose first member is
/// the version, or the serial number of version 1 (RFC 5280, section 4.1).
fn is_certificate(bytes: &[u8]) -> bool {
    let parts = || {
        let mut reader = SliceReader::new(bytes).ok()?;
        Header::decode(&mut reader).ok()?;
        let inner = Header::decode(&mut reader).ok()?;
        let first = Tag::peek(&reader).ok()?;
        let is_version = first.number().value() == 0 && first.is_context_specific();
        Some(inner.tag() == Tag::Sequence && (is_version || first == Tag::Integer))
    };
    parts().unwrap_or(false)
}

/// Returns the PEM label and the DER content. A file may contain certificates besides its key.
fn read_document(bytes: &[u8]) -> Result<(String, SecretDocument), Unreadable> {
    let unreadable =
        || Unreadable::from("is not a key in PEM or DER; expected a path, PEM text or key bytes");
    let mut blocks = pem::blocks(bytes)?;
    if blocks.is_empty() {
        if is_certificate(bytes) {
            return Err(CERTIFICATE.into());
        }
        let label = der_label(bytes).ok_or_else(unreadable)?;
        let document = SecretDocument::try_from(bytes).map_err(|_| unreadable())?;
        return Ok((label.to_owned(), document));
    }
    let private = blocks.iter().position(|block| block.label.contains("PRIVATE KEY"));
    let pem::Block { label, content } = blocks.swap_remove(private.unwrap_or_default());
    let refuse = |what: &str| Err(what.into());
    match label.as_str() {
        "OPENSSH PRIVATE KEY" => {
            return refuse(
                "is an SSH key, which boardlot does not read: make a key for this service with `boardlot \
                 keygen FILE` and upload the public key that it prints",
            );
        }
        "CERTIFICATE" => return Err(CERTIFICATE.into()),
        _ => {}
    }
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    match content {
        Some(content) => SecretDocument::try_from(content.as_slice())
            .map(|document| (label, document))
            .map_err(|error| Unreadable::from(format!("is not valid PEM: {error}"))),
        None if has("Proc-Type:") => refuse(
            "is encrypted in the traditional OpenSSL format; convert it with `openssl pkcs8 -topk8 \
             -in FILE -out NEW`",
        ),
        None if has("\\n") => refuse(
            "has the two characters \\n instead of line breaks; replace them with line breaks",
        ),
        None => refuse("is not valid PEM: its content is not Base64"),
    }
}

fn too_small() -> Unreadable {
    Unreadable::from(format!(
        "is an RSA key under {RSA_MIN_BITS} bits; expected at least {RSA_MIN_BITS} bits"
    ))
}

fn unwritable(error: &dyn fmt::Display) -> Error {
    Error::config(format!("the key could not be generated: {error}"))
}
