//! TLS 1.2 or newer, and the certificates that are trusted.

use std::sync::Arc;

use rustls::{
    ClientConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
    version::{TLS12, TLS13},
};
use rustls_platform_verifier::Verifier;

use crate::error::{Error, Result};

/// The TLS configuration of HTTP clients that share their connections: read once for all of them,
/// since Linux has a file for each authority, which takes milliseconds. Clones share the sessions
/// to resume.
///
/// Trusts the system's authorities, and those in a PEM bundle.
pub fn tls_config(ca_bundle: Option<&[u8]>) -> Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = match ca_bundle {
        // Without extra ones, Windows checks with its own engine alone.
        None => Verifier::new(provider.clone()),
        Some(pem) => Verifier::new_with_extra_roots(own_authorities(pem)?, provider.clone()),
    };
    let verifier = verifier.map_err(unusable)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(unusable)?
        // rustls calls every verifier so that is not built in: this one is the system's.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn own_authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    match CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>() {
        Ok(own) if own.is_empty() => {
            Err(Error::config("ca_file has no certificate; expected a PEM bundle"))
        }
        Ok(own) => Ok(own),
        Err(error) => {
            Err(Error::config(format!("ca_file is not a PEM bundle of certificates: {error}")))
        }
    }
}

fn unusable(error: rustls::Error) -> Error {
    Error::config(format!("TLS cannot be used: {error}"))
}
