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

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#f6f7f9;--card:#fff;--ink:#1a2230;--soft:#5b6676;\
--line:#e1e5eb;--good:#0f7b4f;--bad:#b3261e}\
@media(prefers-color-scheme:dark){:root{--paper:#10141b;--card:#191f29;--ink:#e8ecf2;\
--soft:#9aa6b6;--line:#2a3240;--good:#4cc38a;--bad:#ff8a80}}\
*{box-sizing:border-box}\
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;\
background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}\
main{max-width:26rem;width:100%;padding:2.25rem 2rem;background:var(--card);\
border:1px solid var(--line);border-radius:14px;text-align:center}\
svg{width:3rem;height:3rem;fill:none;stroke:currentColor;stroke-width:2.25;\
stroke-linecap:round;stroke-linejoin:round}\
.good{color:var(--good)}.bad{color:var(--bad)}\
h1{margin:.9rem 0 .4rem;font-size:1.35rem;line-height:1.25;letter-spacing:-.01em}\
p{margin:0;color:var(--soft)}\
small{display:block;margin-top:1.75rem;color:var(--soft);letter-spacing:.02em}";

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

    /// The whole response, head and body.
    pub fn response(self) -> String {
        let body = self.body();
        let style = STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "HTTP/1.1 {}\r\n\
             Content-Type: text/html; charset=utf-8\r\n\
             Content-Length: {}\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'sha256-{style}'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
             X-Frame-Options: DENY\r\n\
             X-Content-Type-Options: nosniff\r\n\
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
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{title}</title><style>{STYLE}</style></head><body><main>\
             <svg class=\"{class}\" viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
             <circle cx=\"12\" cy=\"12\" r=\"10\"/>{mark}</svg>\
             <h1>{title}</h1><p>{text}</p><small>boardlot</small></main></body></html>"
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
            // The policy allows this style and no attribute.
            assert!(!body.contains("style="));
        }
    }
}
