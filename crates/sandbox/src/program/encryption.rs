//! TLS with certificates and a key from files.

use std::{io, path::Path, sync::Arc};

use boardlot_sandbox::{Encryption, Stream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// Creates the server's side of TLS. The error names the file.
pub fn read(certificates: &Path, key: &Path) -> Result<Encryption, String> {
    let unusable = |file: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificates, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificates, &"has no certificate; expected PEM"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| unusable(key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Ok(Encryption(Arc::new(move |stream| {
        let acceptor = acceptor.clone();
        Box::pin(async move {
            let stream = acceptor.accept(stream).await?;
            io::Result::Ok(Box::new(stream) as Box<dyn Stream>)
        })
    })))
}
