//! Opens the user's browser without a shell.

use std::process::{Command, Stdio};

use url::{Host, Url};

/// Opens a URL in the user's browser; false if no graphical browser was found.
pub fn open_browser(url: &Url) -> bool {
    is_safe(url) && openers().into_iter().any(|opener| start(opener, url.as_str()))
}

/// Whether it is https, or http to a loopback address.
fn is_safe(url: &Url) -> bool {
    let loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}

/// A program, and its arguments before the URL.
type Opener = (String, &'static [&'static str]);

#[cfg(target_os = "macos")]
fn openers() -> Vec<Opener> {
    vec![("/usr/bin/open".to_owned(), &[])]
}

#[cfg(windows)]
fn openers() -> Vec<Opener> {
    // `start` would need cmd, which interprets & in the URL.
    vec![("rundll32.exe".to_owned(), &["url.dll,FileProtocolHandler"])]
}

#[cfg(all(unix, not(target_os = "macos")))]
fn openers() -> Vec<Opener> {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let mut openers: Vec<Opener> = Vec::new();
    // A list of programs; entries with %s or options are left to xdg-open, which supports them.
    if let Some(list) = set("BROWSER") {
        let plain = |name: &&str| !name.is_empty() && !name.contains(['%', ' ']);
        openers.extend(list.split(':').filter(plain).map(|name| (name.to_owned(), &[] as _)));
    }
    // Without a display these would start a text browser in the terminal of the running program.
    if set("DISPLAY")
        .or_else(|| set("WAYLAND_DISPLAY"))
        .or_else(|| set("WSL_DISTRO_NAME"))
        .is_some()
    {
        openers.push(("xdg-open".to_owned(), &[]));
        openers.push(("gio".to_owned(), &["open"]));
        openers.push(("wslview".to_owned(), &[]));
    }
    openers
}

fn start((program, arguments): Opener, url: &str) -> bool {
    let started = Command::new(program)
        .args(arguments)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return false };
    // Reaped on a thread of its own: the login does not wait for the browser.
    let _ = std::thread::Builder::new().name("boardlot-browser".into()).spawn(move || child.wait());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_loopback_are_opened() {
        let safe = |text: &str| is_safe(&Url::parse(text).expect("a URL"));
        assert!(safe("https://api.example.com/x") && safe("http://127.0.0.1:1/"));
        for text in ["http://api.example.com/", "file:///etc/passwd", "javascript:alert(1)"] {
            assert!(!safe(text), "{text}");
        }
    }
}
