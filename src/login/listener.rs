//! The loopback listener: a reader of small GET requests that nobody can keep busy.

use std::{collections::VecDeque, io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
    time::timeout,
};
use zeroize::Zeroizing;

use super::{CALLBACK_PATH, callback::Callback, page::Page};

const MAX_CONNECTIONS: usize = 8;
const MAX_REQUEST_BYTES: usize = 8 * 1024;
const READ_PATIENCE: Duration = Duration::from_secs(5);
/// How long the last page may take to reach the browser.
const FAREWELL: Duration = Duration::from_secs(2);

/// A callback that came in, and where its page goes.
pub struct CallbackRequest {
    pub callback: Callback,
    pub reply: oneshot::Sender<Page>,
}

pub struct Listener {
    socket: TcpListener,
    host: String,
    visits: (mpsc::Sender<CallbackRequest>, mpsc::Receiver<CallbackRequest>),
    connections: JoinSet<()>,
    /// Oldest first.
    open: VecDeque<AbortHandle>,
}

impl Listener {
    pub fn new(socket: TcpListener, port: u16) -> Self {
        let visits = mpsc::channel(MAX_CONNECTIONS);
        let (connections, open) = (JoinSet::new(), VecDeque::new());
        Listener { socket, host: format!("127.0.0.1:{port}"), visits, connections, open }
    }

    /// The next callback; everything else is answered here.
    pub async fn next(&mut self) -> CallbackRequest {
        loop {
            tokio::select! {
                Some(request) = self.visits.1.recv() => return request,
                Some(_) = self.connections.join_next() => self.open.retain(|one| !one.is_finished()),
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, _)) => self.admit(stream),
                    // Out of files or memory: that passes.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
            }
        }
    }

    /// Takes a connection on; where there are too many, the oldest goes. So idle ones cannot keep
    /// the browser out, which sends its request at once.
    fn admit(&mut self, stream: TcpStream) {
        while self.open.len() >= MAX_CONNECTIONS
            && let Some(oldest) = self.open.pop_front()
        {
            oldest.abort();
        }
        let work = serve(stream, self.host.clone(), self.visits.0.clone());
        self.open.push_back(self.connections.spawn(work));
    }

    /// Lets the last page out.
    pub async fn drain(mut self) {
        let all = async { while self.connections.join_next().await.is_some() {} };
        drop(self.socket);
        let _ = timeout(FAREWELL, all).await;
    }
}

async fn serve(mut stream: TcpStream, host: String, visits: mpsc::Sender<CallbackRequest>) {
    let Ok(Ok(request)) = timeout(READ_PATIENCE, read(&mut stream)).await else { return };
    let page = match request {
        None => Page::TooLarge,
        Some(head) => match judge(&head, &host) {
            Err(page) => page,
            Ok(callback) => {
                let (reply, page) = oneshot::channel();
                let request = CallbackRequest { callback, reply };
                match visits.send(request).await {
                    Ok(()) => page.await.unwrap_or(Page::Refused),
                    Err(_) => Page::Refused,
                }
            }
        },
    };
    let answer = async {
        stream.write_all(page.answer().as_bytes()).await?;
        stream.shutdown().await?;
        // What is left unread would make the system throw the answer away.
        let mut rest = [0; 1024];
        let mut left = MAX_REQUEST_BYTES;
        while left > 0 {
            match stream.read(&mut rest).await? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        io::Result::Ok(())
    };
    let _ = timeout(FAREWELL, answer).await;
}

/// The head of a request; `None` where it is too large.
async fn read(stream: &mut TcpStream) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut head = Zeroizing::new(Vec::with_capacity(MAX_REQUEST_BYTES + 1));
    loop {
        let seen = head.len().saturating_sub(3);
        let room = (MAX_REQUEST_BYTES + 1).saturating_sub(head.len()) as u64;
        if stream.take(room).read_buf(&mut *head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let new = head.get(seen..).unwrap_or_default();
        if new.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            return Ok(Some(head));
        }
        if head.len() > MAX_REQUEST_BYTES {
            return Ok(None);
        }
    }
}

/// The callback that a request is, or what to answer to it.
pub(super) fn judge(head: &[u8], host: &str) -> Result<Callback, Page> {
    let head = std::str::from_utf8(head).map_err(|_| Page::Malformed)?;
    let (head, _) = head.split_once("\r\n\r\n").ok_or(Page::Malformed)?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Page::Malformed);
    };
    let mut hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    // Another name for this address would be a site that pretends to be us.
    if hosts.next() != Some(host) || hosts.next().is_some() {
        return Err(Page::Malformed);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != CALLBACK_PATH {
        return Err(Page::NotFound);
    }
    if method != "GET" {
        return Err(Page::WrongMethod);
    }
    Ok(Callback::of_query(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:4000";

    fn judged(head: &str) -> Option<Page> {
        judge(head.as_bytes(), HOST).err()
    }

    #[test]
    fn only_a_get_of_the_callback_with_our_host_comes_through() {
        let request = |line: &str, headers: &str| format!("{line}\r\n{headers}\r\n");
        let host = "Host: 127.0.0.1:4000\r\n";
        assert_eq!(judged(&request("GET /callback?code=a HTTP/1.1", host)), None);
        for (line, headers, page) in [
            ("POST /callback HTTP/1.1", host, Page::WrongMethod),
            ("HEAD /callback HTTP/1.1", host, Page::WrongMethod),
            ("GET /callbackx HTTP/1.1", host, Page::NotFound),
            ("GET //callback HTTP/1.1", host, Page::NotFound),
            ("GET /favicon.ico HTTP/1.1", host, Page::NotFound),
            ("GET /callback HTTP/9.9", host, Page::Malformed),
            ("GET /callback", host, Page::Malformed),
            ("", host, Page::Malformed),
            ("GET /callback HTTP/1.1", "", Page::Malformed),
            ("GET /callback HTTP/1.1", "Host: localhost:4000\r\n", Page::Malformed),
            ("GET /callback HTTP/1.1", "Host: 127.0.0.1\r\n", Page::Malformed),
            (
                "GET /callback HTTP/1.1",
                "Host: 127.0.0.1:4000\r\nhost: evil.example\r\n",
                Page::Malformed,
            ),
        ] {
            assert_eq!(judged(&request(line, headers)), Some(page), "{line} {headers}");
        }
    }
}
