//! Advice on errors in the words of Python and of the command line. The core knows neither.

use boardlot_client::extension::error::{Advice, Login};

/// The hint that says how to log in.
pub fn log_in(login: &Login) -> String {
    match login {
        Login::Profile(name) => format!("Log in again: run `boardlot --profile {name} login`."),
        Login::Service(url) => format!(
            "Log in again: run `boardlot login --base-url {url}`, or call \
             `boardlot.login(base_url)`."
        ),
        Login::OfUser => {
            "Start a new login: send the user to the URL of `authorization_url()`.".to_owned()
        }
    }
}

/// The hint for the core's advice.
pub fn advise(advice: &Advice) -> String {
    let text = match advice {
        Advice::Text(_) => return advice.to_string(),
        Advice::KeyPassword => {
            "The key itself is valid, so do not generate a new one: pass the password of the key as \
             `password=`, or set passphrase_file or passphrase_command in the profile."
        }
        Advice::AnotherKey => return format!("{advice} `boardlot keygen` makes a new pair."),
        Advice::LargerBody => {
            "Request smaller pages, or pass a larger `max_body_bytes=` to the client."
        }
        Advice::TrustAuthority => {
            "If the certificate belongs to your network's proxy or to your own server, trust its \
             authority: pass `ca_file=` (`--ca-file FILE`). Otherwise another server is responding in \
             the service's place."
        }
        Advice::CheckAuthority => {
            "The trusted authority's key did not sign the server's certificate: check that `ca_file=` \
             (`--ca-file FILE`) is the certificate of the authority that issued it. If it is, another \
             server is responding in the service's place."
        }
        Advice::NoAuthorities => {
            "This system has no list of trusted authorities: install its package `ca-certificates`, name a \
             PEM bundle by SSL_CERT_FILE, or pass `ca_file=` (`--ca-file FILE`)."
        }
        Advice::ProxyPassword => {
            "The proxy requires a user name and a password, or rejects those in its URL: pass \
             `proxy=\"http://NAME:PASSWORD@HOST:PORT\"`, with special characters percent-encoded, such as \
             %40 for @."
        }
        Advice::UnusedProxy(variable) => {
            return format!(
                "{variable} is set, but not used: if the service can only be reached through that \
                 proxy, pass `proxy=\"environment\"` (`--proxy environment`)."
            );
        }
        Advice::NotListening => return format!("{advice} `boardlot doctor` checks each stage."),
        Advice::LockedKeychain => {
            "Unlock it, or keep the tokens in an encrypted file: store=EncryptedFileStore(...) \
             (`--store FILE`)."
        }
        Advice::ClientClosed => {
            "Make calls before `close()`: within the client's `with` block, if it has one."
        }
        Advice::NoCredentials => {
            "The client has no credentials: pass auth=ApiKey(...), auth= with a login, or profile= to the \
             client."
        }
        Advice::SeveralKeys => "For several keys, call `fetch_many` with a list.",
        Advice::NoColumns => "Read the records as dicts.",
        Advice::NullInColumn => "Read the records as dicts, or as a frame with invalid='null'.",
        Advice::OneBatch => {
            "Leave the field out with select(), or call to_arrow(), which reads all pages before it chooses \
             the columns."
        }
        Advice::UndeclaredField => {
            "Correct the name, or pass undeclared=True for a field that the service sends and boardlot does \
             not declare."
        }
        Advice::OneCursor => "Read it by one cursor: windows=1.",
        Advice::MorePages { method, path, cursor, rows } => {
            let paging = match cursor {
                Some(name) => format!("\"{name}\""),
                None => "DateRange(\"end\", before=...)".to_owned(),
            };
            let rows = rows.as_deref().unwrap_or("...");
            return format!(
                "Read every page with `client.paginate(\"{method}\", \"{path}\", paging={paging}, \
                 rows=\"{rows}\")`, or declare the paging of the endpoint."
            );
        }
    };
    text.to_owned()
}
