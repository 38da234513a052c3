//! The loopback listener: accepts small GET requests. No client can keep it busy.

use std::{collections::VecDeque, io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};
use zeroize::Zeroizing;

use super::{
    callback::{CALLBACK_PATH, Callback},
    offer::{Answer, Offer, Offers},
    page::Page,
};

const MAX_CONNECTIONS: usize = 8;
const MAX_REQUEST_BYTES: usize = 8 * 1024;
/// Maximum number of headers. Browsers send about 20.
const MAX_HEADERS: usize = 100;
const READ_DEADLINE: Duration = Duration::from_secs(5);
/// Time limit for a page to reach the browser.
const RESPONSE_DEADLINE: Duration = Duration::from_secs(2);

pub struct Listener {
    socket: TcpListener,
    host: String,
    callbacks: (Offers, mpsc::Receiver<Offer>),
    /// One task for each connection; it closes the connection before it ends.
    connections: JoinSet<()>,
    /// The open connections, oldest first, without the ones that were told to end.
    open: VecDeque<AbortHandle>,
}

impl Listener {
    pub fn new(socket: TcpListener, port: u16) -> Self {
        let callbacks = Offers::channel(MAX_CONNECTIONS);
        let (connections, open) = (JoinSet::new(), VecDeque::new());
        Listener { socket, host: format!("127.0.0.1:{port}"), callbacks, connections, open }
    }

    /// Returns the channel for callbacks, both from requests and pasted.
    pub fn offers(&self) -> Offers {
        self.callbacks.0.clone()
    }

    /// Returns the next callback that is offered. All other requests get their response here.
    pub async fn next(&mut self) -> Offer {
        loop {
            // A connection counts as open until its ended task is joined here. There are therefore
            // never more connections than this, whichever thread runs the tasks.
            let has_room = self.connections.len() < MAX_CONNECTIONS;
            tokio::select! {
                Some(request) = self.callbacks.1.recv() => return request,
                Some(_) = self.connections.join_next() => {}
                accepted = self.socket.accept(), if has_room => match accepted {
                    Ok((stream, _)) => self.admit(stream),
                    // The process is out of file descriptors or memory, which is temporary.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
            }
        }
    }

    /// Returns a callback that was offered and waits to be received.
    pub fn queued(&mut self) -> Option<Offer> {
        self.callbacks.1.try_recv().ok()
    }

    /// Serves a connection. If it fills the last slot, the oldest connection is told to end, so
    /// that there is room for the next one: idle connections cannot keep out the browser, which
    /// sends its request at once.
    fn admit(&mut self, stream: TcpStream) {
        let work = serve(stream, self.host.clone(), self.callbacks.0.clone());
        self.open.push_back(self.connections.spawn(work));
        self.open.retain(|one| !one.is_finished());
        if self.open.len() >= MAX_CONNECTIONS
            && let Some(oldest) = self.open.pop_front()
        {
            oldest.abort();
        }
    }

    /// Closes the socket and the channel, and waits until the last page is sent.
    pub async fn drain(mut self) {
        let all = async { while self.connections.join_next().await.is_some() {} };
        drop((self.socket, self.callbacks));
        let _ = timeout(RESPONSE_DEADLINE, all).await;
    }
}

async fn serve(mut stream: TcpStream, host: String, callbacks: Offers) {
    let Ok(Ok(request)) = timeout(READ_DEADLINE, read(&mut stream, &host)).await else { return };
    let page = match request {
        Err(page) => page,
        Ok(callback) => match callbacks.offer(callback).await {
            Answer::Done => Page::Done,
            Answer::Failed => Page::Failed,
            Answer::Unrelated(_) | Answer::Ended => Page::Refused,
        },
    };
    let respond = async {
        stream.write_all(page.response().as_bytes()).await?;
        stream.shutdown().await?;
        // Unread bytes would make the system reset the connection and discard the response.
        let mut unread = [0; 1024];
        let mut left = MAX_REQUEST_BYTES;
        while left > 0 {
            match stream.read(&mut unread).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        io::Result::Ok(())
    };
    let _ = timeout(RESPONSE_DEADLINE, respond).await;
}

/// Reads the callback that a connection requests, or the page that refuses the request.
async fn read(stream: &mut TcpStream, host: &str) -> io::Result<Result<Callback, Page>> {
    let mut head = Zeroizing::new(Vec::with_capacity(MAX_REQUEST_BYTES + 1));
    loop {
        let room = (MAX_REQUEST_BYTES + 1).saturating_sub(head.len()) as u64;
        if stream.take(room).read_buf(&mut *head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match parse(&head, host) {
            Ok(Some(callback)) => return Ok(Ok(callback)),
            Ok(None) if head.len() <= MAX_REQUEST_BYTES => {}
            Ok(None) => return Ok(Err(Page::TooLarge)),
            Err(page) => return Ok(Err(page)),
        }
    }
}

/// Parses the callback in the head of a request; `None` while the head is incomplete.
fn parse(head: &[u8], host: &str) -> Result<Option<Callback>, Page> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Page::TooLarge),
        Err(_) => return Err(Page::Malformed),
    }
    let mut hosts =
        request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    // A request that uses another name for this address comes from a site that pretends to be this
    // listener.
    if hosts.next().map(|header| header.value) != Some(host.as_bytes()) || hosts.next().is_some() {
        return Err(Page::Malformed);
    }
    let target = request.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != CALLBACK_PATH {
        return Err(Page::NotFound);
    }
    if request.method != Some("GET") {
        return Err(Page::WrongMethod);
    }
    Ok(Some(Callback::from_query(query)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:4000";

    #[tokio::test]
    async fn at_no_instant_are_more_connections_open_than_there_may_be() {
        let socket = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let mut listener = Listener::new(socket, address.port());
        // All of these connections wait to be accepted; the last one is the browser's.
        let connect = |_| std::net::TcpStream::connect(address).expect("a connection");
        let mut clients: Vec<_> = (0..3 * MAX_CONNECTIONS).map(connect).collect();
        let head = format!("GET /callback?code=a HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let browser = clients.last_mut().expect("the last one");
        std::io::Write::write_all(browser, head.as_bytes()).expect("sent");
        loop {
            // On this runtime no task ends while the listener is polled.
            let polled = timeout(Duration::ZERO, listener.next()).await;
            assert!(listener.connections.len() <= MAX_CONNECTIONS);
            if polled.is_ok() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    fn refused(head: &str) -> Option<Page> {
        parse(head.as_bytes(), HOST).err()
    }

    #[test]
    fn only_a_get_of_the_callback_with_the_listeners_host_is_accepted() {
        let request = |line: &str, headers: &str| format!("{line}\r\n{headers}\r\n");
        let host = "Host: 127.0.0.1:4000\r\n";
        assert_eq!(refused(&request("GET /callback?code=a HTTP/1.1", host)), None);
        for (line, headers, page) in [
            ("POST /callback HTTP/1.1", host, Page::WrongMethod),
            ("HEAD /callback HTTP/1.1", host, Page::WrongMethod),
            ("GET /callbackx HTTP/1.1", host, Page::NotFound),
            ("GET //callback HTTP/1.1", host, Page::NotFound),
            ("GET /favicon.ico HTTP/1.1", host, Page::NotFound),
            ("GET /callback HTTP/9.9", host, Page::Malformed),
            ("GET /callback", host, Page::Malformed),
            ("GET  /callback HTTP/1.1", host, Page::Malformed),
            ("GET /call back HTTP/1.1", host, Page::Malformed),
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
            assert_eq!(refused(&request(line, headers)), Some(page), "{line} {headers}");
        }
        for headers in ["no colon\r\n", "Host : 127.0.0.1:4000\r\n", " folded\r\n", "X: \0\r\n"] {
            let head = request("GET /callback HTTP/1.1", &format!("{host}{headers}"));
            assert_eq!(refused(&head), Some(Page::Malformed), "{headers}");
        }
        let many = format!("{host}{}", "X: y\r\n".repeat(MAX_HEADERS));
        assert_eq!(refused(&request("GET /callback HTTP/1.1", &many)), Some(Page::TooLarge));
    }

    #[test]
    fn an_incomplete_head_is_neither_accepted_nor_rejected() {
        let head = format!("GET /callback?code=a HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
        for length in 0..head.len() {
            let parsed = parse(head.get(..length).expect("a part").as_bytes(), HOST);
            assert!(matches!(parsed, Ok(None)), "{length}");
        }
        assert!(matches!(parse(head.as_bytes(), HOST), Ok(Some(_))));
    }
}
