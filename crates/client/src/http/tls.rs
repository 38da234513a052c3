//! TLS 1.2 or newer, and the trusted certificates.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::CertificateDer,
    version::{TLS12, TLS13},
};
use rustls_platform_verifier::Verifier;

use super::client_identity::ClientIdentity;
use crate::{
    auth::{Unreadable, pem},
    error::{Advice, Error, Result},
};

/// The argument that has authorities.
const CA_FILE: &str = "ca_file";

/// Returns the TLS configuration of HTTP clients that share their connections. It is read once for
/// all of them, because Linux has a file for each authority, which takes milliseconds. Clones share
/// the sessions to resume.
///
/// Trusts the system's authorities, and those in a PEM bundle. A server that asks for a certificate
/// gets that of `identity`.
pub fn tls_config(
    ca_bundle: Option<&[u8]>,
    identity: Option<&ClientIdentity>,
) -> Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = match ca_bundle {
        // Without additional authorities, Windows checks with its own engine alone.
        None => Verifier::new(provider.clone()),
        Some(pem) => Verifier::new_with_extra_roots(
            authorities(pem).map_err(|problem| problem.of(CA_FILE, None))?,
            provider.clone(),
        ),
    };
    let verifier = verifier.map_err(unusable)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(unusable)?
        // rustls calls every verifier dangerous that is not built in. This one is the system's.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(own) => {
            builder.with_client_auth_cert(own.chain.clone(), own.key()).map_err(unusable)?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Fails if a PEM bundle cannot be trusted as it is. The error names its file as `file` does.
pub fn check_authorities(file: &str, ca_bundle: &[u8]) -> Result<()> {
    authorities(ca_bundle).map(drop).map_err(|problem| problem.of(CA_FILE, Some(file)))
}

/// Reads all certificates of a PEM bundle. A certificate that cannot be trusted as it is would
/// otherwise be missing silently.
fn authorities(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, Unreadable> {
    let refuse = |what: String| Err(what.into());
    let mut own = Vec::new();
    for pem::Block { label, content } in pem::blocks(text)? {
        let number = own.len() + 1;
        match (label.as_str(), content) {
            ("CERTIFICATE" | "X509 CERTIFICATE", Some(content)) => {
                let certificate = CertificateDer::from(content.to_vec());
                if let Err(error) = RootCertStore::empty().add(certificate.clone()) {
                    return refuse(format!("has an invalid certificate, number {number}: {error}"));
                }
                own.push(certificate);
            }
            ("CERTIFICATE" | "X509 CERTIFICATE", None) => {
                return refuse(format!("has certificate {number}, which is not Base64"));
            }
            ("TRUSTED CERTIFICATE", _) => {
                return refuse(
                    "has a TRUSTED CERTIFICATE, in OpenSSL's own format; convert it with `openssl x509 \
                     -in FILE -out NEW`"
                        .to_owned(),
                );
            }
            ("PKCS7" | "CMS", _) => {
                return refuse(
                    "has PKCS#7; convert it with `openssl pkcs7 -print_certs -in FILE -out NEW`"
                        .to_owned(),
                );
            }
            // Keys, parameters and revocation lists that are stored with certificates.
            _ => {}
        }
    }
    if own.is_empty() {
        let what = "has no certificate; expected a PEM bundle (convert DER with `openssl x509 -inform \
                    DER -in FILE -out NEW`)";
        return refuse(what.to_owned());
    }
    Ok(own)
}

fn unusable(error: rustls::Error) -> Error {
    let text = error.to_string();
    let unusable = Error::config(format!("TLS cannot be used: {text}"));
    match text.contains("No CA certificates") {
        true => unusable.with_advice(Advice::NoAuthorities),
        false => unusable,
    }
}
