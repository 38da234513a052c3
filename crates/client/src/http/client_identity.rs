//! The certificate by which a client identifies itself to a server (TLS client authentication).

use std::hash::{Hash, Hasher};

use rustls::{
    crypto::aws_lc_rs,
    pki_types::{
        CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
    },
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};

use crate::{
    auth::{Unreadable, pem},
    error::Result,
};

/// A certificate with the chain to its authority, and its private key.
///
/// ```no_run
/// use boardlot_client::{ClientIdentity, ClientOptions};
/// use std::{error::Error, fs, sync::Arc};
///
/// # fn main() -> Result<(), Box<dyn Error>> {
/// let (certificate, key) = (fs::read("client.pem")?, fs::read("client-key.pem")?);
/// let mut options = ClientOptions::default();
/// options.transport.connect.client_cert =
///     Some(Arc::new(ClientIdentity::from_pem(&certificate, Some(&key))?));
/// # Ok(())
/// # }
/// ```
pub struct ClientIdentity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Digest of the files: clients with the same files share their connections.
    digest: [u8; 32],
}

boardlot_service::shown_as!(ClientIdentity, |_this| "ClientIdentity(...)");

impl PartialEq for ClientIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for ClientIdentity {}

impl Hash for ClientIdentity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl ClientIdentity {
    /// Reads PEM files: the certificate and its chain from the first one, the key from the one that
    /// has a key. Without a `key_file`, the first one has both.
    pub fn from_pem(certificate_file: &[u8], key_file: Option<&[u8]>) -> Result<Self> {
        Self::read_from(None, certificate_file, key_file)
    }

    /// The same for files that errors name as `file` does.
    pub fn read_from(
        file: Option<&str>,
        certificate_file: &[u8],
        key_file: Option<&[u8]>,
    ) -> Result<Self> {
        let identity = Self::from_files(certificate_file, key_file);
        identity.map_err(|problem| problem.of("client_cert", file))
    }

    fn from_files(certificate_file: &[u8], key_file: Option<&[u8]>) -> Result<Self, Unreadable> {
        let mut chain = Vec::new();
        let mut keys = Vec::new();
        let mut digest = Sha256::new();
        for text in std::iter::once(certificate_file).chain(key_file) {
            for pem::Block { label, content } in pem::blocks(text)? {
                let label = label.as_str();
                if label == "CERTIFICATE" {
                    let content = content
                        .ok_or_else(|| Unreadable::from("has a certificate that is not Base64"))?;
                    digest.update(&*content);
                    chain.push(CertificateDer::from(content.to_vec()));
                } else if label.ends_with("PRIVATE KEY") {
                    let encrypted = "has an encrypted key; decrypt it into a file that only you can read: \
                                     `openssl pkey -in FILE -out NEW`";
                    // A key encrypted in a traditional format describes its encryption in headers,
                    // which are not Base64.
                    let content = content.filter(|_| label != "ENCRYPTED PRIVATE KEY");
                    let content = content.ok_or_else(|| Unreadable::from(encrypted))?;
                    digest.update(&*content);
                    keys.push(match label {
                        "PRIVATE KEY" => PrivatePkcs8KeyDer::from(content.to_vec()).into(),
                        "RSA PRIVATE KEY" => PrivatePkcs1KeyDer::from(content.to_vec()).into(),
                        "EC PRIVATE KEY" => PrivateSec1KeyDer::from(content.to_vec()).into(),
                        _ => {
                            return Err(Unreadable::from(
                                "has a key in a format that TLS cannot use; convert it \
                                                 with `openssl pkey -in FILE -out NEW`",
                            ));
                        }
                    });
                }
            }
        }
        if chain.is_empty() {
            return Err(Unreadable::from(
                "has no certificate; expected PEM, with a CERTIFICATE block",
            ));
        }
        let key: PrivateKeyDer<'static> = match (keys.pop(), keys.is_empty()) {
            (Some(key), true) => key,
            (None, _) => {
                return Err(Unreadable::from(
                    "has no private key; add it to the file, or pass the file that has it as well",
                ));
            }
            (Some(_), false) => return Err(Unreadable::from("has more than one private key")),
        };
        let provider = aws_lc_rs::default_provider();
        CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider)
            .map_err(|error| format!("cannot be used: {error}"))?;
        Ok(ClientIdentity { chain, key, digest: digest.finalize().into() })
    }

    /// Returns a copy of the key for the signer.
    pub(super) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}
