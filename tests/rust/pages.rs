//! Paging over real HTTP: every record once and in order, whatever the pages look like.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, atomic::AtomicU64},
    thread,
};

use boardlot::{
    api::{Argument, endpoint},
    auth::Credentials,
    client::Client,
    decode::{PageSlice, Value},
    http::{BaseUrl, TransportOptions},
};
use proptest::prelude::*;
use zeroize::Zeroizing;

use crate::reading;

/// A service whose pages hold these numbers of orders; the cursor is the number of the page.
fn serve(sizes: Vec<usize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let sizes = Arc::new(sizes);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sizes = sizes.clone();
            thread::spawn(move || serve_connection(stream, &sizes));
        }
    });
    address
}

fn serve_connection(stream: TcpStream, sizes: &[usize]) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut request = String::new();
        while !request.ends_with("\r\n\r\n") {
            if reader.read_line(&mut request).ok()? == 0 {
                return None;
            }
        }
        let flag =
            request.split("page_flag=").nth(1).and_then(|rest| rest.split([' ', '&']).next());
        let page: usize = flag.map_or(0, |flag| flag.parse().expect("a page"));
        let first: usize = sizes[..page].iter().sum();
        let orders: Vec<String> =
            (first..first + sizes[page]).map(|id| format!("{{\"order_id\":\"{id}\"}}")).collect();
        let body = format!(
            "{{\"code\":0,\"msg\":\"success\",\"data\":{{\"orders\":[{}],\"page_flag\":\"{}\",\
             \"completed\":{}}}}}",
            orders.join(","),
            page + 1,
            page + 1 == sizes.len()
        );
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).ok()?;
    }
}

fn client(address: &str) -> Client {
    let token = Credentials::bearer(Zeroizing::new("token".to_owned())).expect("a token");
    let base = BaseUrl::parse(address).expect("a base");
    Client::new(base, Some(token), TransportOptions::default()).expect("a client")
}

fn ids(slices: &[PageSlice]) -> Vec<usize> {
    let mut ids = Vec::new();
    for slice in slices {
        for index in slice.range.clone() {
            let members = slice.page.row(index).expect("a row");
            let value = Value::parse(members[0].1.get()).expect("JSON");
            ids.push(value.as_text().expect("text").parse().expect("a number"));
        }
    }
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_pages_and_any_breaks_give_every_record_once(
        sizes in proptest::collection::vec(0_usize..7, 1..9),
        steps in proptest::collection::vec(1_usize..9, 0..12),
    ) {
        let total: usize = sizes.iter().sum();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let client = client(&serve(sizes));
        let orders = endpoint("crypto_orders").expect("an endpoint");
        let account = [("acc_id", Argument::Integer(1))];
        let seen = runtime.block_on(async {
            let mut seen = Vec::new();
            let mut checkpoint: Option<String> = None;
            // Each step reads some records and stops; the next resumes from its checkpoint.
            for step in steps {
                let pages =
                    client.pages(orders, &account, None, checkpoint.as_deref()).expect("pages");
                let count = AtomicU64::new(0);
                let gathered = reading::gather(&pages, Some(step), None, &count).await;
                let (mut gathering, rows) = gathered.expect("rows");
                seen.extend(ids(&rows));
                assert!(gathering.receive(false));
                checkpoint = Some(pages.checkpoint().expect("a checkpoint"));
            }
            let pages =
                client.pages(orders, &account, None, checkpoint.as_deref()).expect("pages");
            while let Some(row) = pages.next_row().await.expect("a page") {
                seen.extend(ids(&[row]));
            }
            seen
        });
        prop_assert_eq!(seen, (0..total).collect::<Vec<_>>());
    }
}

#[test]
fn a_checkpoint_is_of_one_service() {
    let pages = |base: &str, resume: Option<&str>| {
        client(base).pages::<&str, ()>(
            endpoint("crypto_orders").expect("a row"),
            &[("acc_id", Argument::Integer(1))],
            None,
            resume,
        )
    };
    let checkpoint =
        pages("https://one.example.com", None).expect("pages").checkpoint().expect("a checkpoint");
    assert!(checkpoint.contains("\"service\":\"https://one.example.com\""), "{checkpoint}");
    pages("https://one.example.com", Some(&checkpoint)).expect("its own");
    let error = pages("https://two.example.com", Some(&checkpoint)).expect_err("another");
    assert!(error.to_string().contains("this client's is https://two.example.com"), "{error}");
}
