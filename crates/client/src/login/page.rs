//! The pages that end a login in the browser: static, the same for all users.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// The response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Done,
    Failed,
    /// A callback that is not for this login.
    Refused,
    Malformed,
    NotFound,
    WrongMethod,
    TooLarge,
}

const STYLE: &str = include_str!("page.css");

const TICK: &str = "<path d=\"M7.5 12.5l3 3 6-6.5\"/>";
const CROSS: &str = "<path d=\"M9 9l6 6M15 9l-6 6\"/>";

impl Page {
    const fn status(self) -> &'static str {
        match self {
            // The request itself was valid; the program reports how the login ended.
            Page::Done | Page::Failed => "200 OK",
            Page::Refused | Page::Malformed => "400 Bad Request",
            Page::NotFound => "404 Not Found",
            Page::WrongMethod => "405 Method Not Allowed\r\nAllow: GET",
            Page::TooLarge => "431 Request Header Fields Too Large",
        }
    }

    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Page::Done => (
                "You are logged in",
                "Your program has what it needs. You can close this window now.",
            ),
            Page::Failed => (
                "The login failed",
                "Your program shows the reason. You can close this window and log in again from there.",
            ),
            Page::Refused => (
                "This login is not in progress",
                "Nothing was changed. You can close this window and open the address that your \
                 program shows.",
            ),
            Page::Malformed | Page::NotFound | Page::WrongMethod | Page::TooLarge => (
                "Page not found",
                "A program on this computer is waiting for a login. You can close this window.",
            ),
        }
    }

    /// Returns the whole response, head and body.
    pub fn response(self) -> String {
        let body = self.body();
        let style = STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "HTTP/1.1 {}\r\n\
             Content-Type: text/html; charset=utf-8\r\n\
             Content-Length: {}\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'sha256-{style}'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
             X-Frame-LoginOptions: DENY\r\n\
             X-Content-Type-LoginOptions: nosniff\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cache-Control: no-store\r\n\
             Connection: close\r\n\r\n{body}",
            self.status(),
            body.len(),
        )
    }

    fn body(self) -> String {
        let (title, text) = self.text();
        let (class, mark) = if self == Page::Done { ("good", TICK) } else { ("bad", CROSS) };
        format!(
            include_str!("page.html"),
            title = title,
            style = STYLE,
            class = class,
            mark = mark,
            text = text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_isolated_from_other_sites_and_says_what_to_do() {
        for page in [
            Page::Done,
            Page::Failed,
            Page::Refused,
            Page::Malformed,
            Page::NotFound,
            Page::WrongMethod,
            Page::TooLarge,
        ] {
            let response = page.response();
            let (head, body) = response.split_once("\r\n\r\n").expect("a body");
            assert!(head.contains("default-src 'none'") && head.contains("frame-ancestors 'none'"));
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
            assert!(body.contains("close this window") && !body.contains("<script"));
            // The policy allows this style, but no style attribute.
            assert!(!body.contains("style="));
        }
    }
}
