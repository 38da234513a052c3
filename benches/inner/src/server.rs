//! A server on a thread of its own, whose instructions are not those of the client's thread.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use crate::{fills_page, orders_page};

/// The pages of each list of fills.
pub const PAGES: usize = 20;

/// Serves one connection: a page of orders, or the next page of fills. Returns the base URL.
pub fn start() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || listener.accept().and_then(|(stream, _)| serve(stream)));
    Ok(format!("http://{address}"))
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let orders = orders_page();
    let (mut request, mut length, mut page) = ([0; 4_096], 0, 0);
    loop {
        length += match stream.read(&mut request[length..])? {
            0 => return Ok(()),
            more => more,
        };
        if !request[..length].ends_with(b"\r\n\r\n") {
            continue;
        }
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        length = 0;
        if line.windows(7).any(|part| part == b"/orders") {
            respond(&mut stream, &orders)?;
        } else {
            page = page % PAGES + 1;
            let cursor = if page == PAGES { String::new() } else { format!("{page:02}") };
            respond(&mut stream, &fills_page(&cursor))?;
        }
    }
}

fn respond(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
    stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes())
}
