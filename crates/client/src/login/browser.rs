//! Opens the user's browser without a shell.
//!
//! Other users of the machine see the arguments of every program. With the state and the challenge
//! of a login they could complete it by a grant of their own. The browser is therefore opened with
//! a private file that redirects it to the page.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use url::Url;

use crate::{
    http::is_loopback,
    os::{atomic_file::options, entropy},
};

/// Opens a URL in the user's browser. `None` if no graphical browser was found, or if there is no
/// folder for a private file.
pub fn open_browser(url: &Url) -> Option<RedirectFile> {
    let openers = openers();
    if !is_safe(url) || openers.is_empty() {
        return None;
    }
    let file = folders().into_iter().find_map(|folder| RedirectFile::create(&folder, url).ok())?;
    openers.into_iter().any(|opener| start(opener, &file.0)).then_some(file)
}

/// A private page that redirects the browser. It is removed when this is dropped.
#[derive(Debug)]
pub struct RedirectFile(PathBuf);

impl RedirectFile {
    fn create(folder: &Path, url: &Url) -> io::Result<Self> {
        let mut random = [0; 16];
        entropy::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("boardlot-login-{}.html", URL_SAFE_NO_PAD.encode(random));
        let path = std::path::absolute(folder.join(name))?;
        let mut file = options(0o600).write(true).create_new(true).open(&path)?;
        // From here on, the file is removed even if it cannot be written.
        let created = RedirectFile(path);
        file.write_all(page(url).as_bytes())?;
        file.sync_all()?;
        Ok(created)
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a browser that has it open is not waited for"
        )]
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the folders that the file may be in. A browser that is installed as a snap reads neither
/// the folder for temporary files nor hidden ones, only files in the home folder.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::home_dir().into_iter().collect();
    folders.push(std::env::temp_dir());
    folders
}

/// Makes a page that needs no script.
fn page(url: &Url) -> String {
    // A URL has neither quotes nor angle brackets.
    let url = url.as_str().replace('&', "&amp;");
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\">\
         <title>Log in</title></head>\
         <body><h1>Log in</h1><p><a href=\"{url}\">Go to the login page</a></p></body></html>\n"
    )
}

/// Returns true if the URL is https, or http to a loopback address.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
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
    // Without a display, these programs would start a text browser in the terminal of the running
    // program.
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

fn start((program, arguments): Opener, file: &Path) -> bool {
    let started = Command::new(program)
        .args(arguments)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return false };
    // A thread of its own waits for the browser to end, so that the login does not.
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

    #[test]
    fn the_page_is_private_holds_the_whole_url_and_goes_with_its_owner() {
        let url = "https://api.example.com/confirm?state=s&x=%22%3E'\"<>&client_id=a b";
        let url = Url::parse(url).expect("a URL");
        let file = RedirectFile::create(&std::env::temp_dir(), &url).expect("created");
        let path = file.0.clone();
        let text = fs::read_to_string(&path).expect("a page");
        let shown = url.as_str().replace('&', "&amp;");
        assert!(!shown.contains(['"', '<', '>']), "{shown}");
        assert!(text.contains(&format!("content=\"0;url={shown}\"")), "{text}");
        assert!(!text.contains("<script"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(file);
        assert!(!path.exists());
    }
}
