//! The example call of every row, against the sandbox.

use boardlot::{
    api::{Argument, ENDPOINTS, Endpoint, ExampleArgument, ResponseShape},
    auth::Credentials,
    client::Client,
    decode::PageSlice,
    http::{BaseUrl, TransportOptions},
    pages::Pages,
    sandbox::{Options, Sandbox},
};
use tokio::runtime::{Handle, Runtime};
use zeroize::Zeroizing;

/// The required arguments of the example, by name.
fn arguments<'e>(endpoint: &'e Endpoint, sandbox: &Sandbox) -> Vec<(&'e str, Argument)> {
    let example = endpoint.example.expect("an example");
    let required = endpoint.arguments().filter(|parameter| parameter.required);
    required
        .zip(example.arguments)
        .map(|(parameter, argument)| {
            let text = match argument {
                ExampleArgument::Text(text) => (*text).to_owned(),
                ExampleArgument::Account(kind) => sandbox.accounts()[kind][0].clone(),
            };
            (parameter.name.as_ref(), Argument::Text(text))
        })
        .collect()
}

/// The records that the example call returns.
async fn records(
    client: &Client,
    endpoint: &Endpoint,
    arguments: &[(&str, Argument)],
) -> Vec<PageSlice> {
    if endpoint.paging.is_none() {
        let rows = client.call(endpoint, arguments).await.expect(&endpoint.name);
        return rows.slices().to_vec();
    }
    let pages: Pages = client.pages(endpoint, arguments, None, None).expect(&endpoint.name);
    vec![pages.next_page().await.expect(&endpoint.name).expect("a page")]
}

#[test]
fn the_sandbox_returns_the_record_of_every_row_for_its_example() {
    Runtime::new().expect("a runtime").block_on(async {
        let options = Options { seed: 7, ..Options::default() };
        let sandbox = Sandbox::start(options, &Handle::current()).expect("a sandbox");
        let token = Zeroizing::new(sandbox.add_bearer_token());
        let credentials = Credentials::bearer(token).expect("a token");
        let base = BaseUrl::parse(sandbox.base_url()).expect("a base");
        let client =
            Client::new(base, Some(credentials), TransportOptions::default()).expect("a client");
        for endpoint in ENDPOINTS {
            let ResponseShape::Rows(_, schema) = &endpoint.response else { continue };
            let arguments = arguments(endpoint, &sandbox);
            let slices = records(&client, endpoint, &arguments).await;
            let text = |name: &str| {
                let argument = arguments.iter().find(|(known, _)| *known == name);
                argument.and_then(|(_, argument)| match argument {
                    Argument::Text(text) => Some(text.as_str()),
                    _ => None,
                })
            };
            let fields = schema.choose(text);
            let mut rows = 0;
            for slice in &slices {
                for index in slice.range.clone() {
                    let row = slice.page.row(index).expect(&endpoint.name);
                    rows += 1;
                    // An undocumented record declares no fields.
                    let declared = |name: &str| {
                        fields.is_empty() || fields.iter().any(|field| field.name == name)
                    };
                    for (name, _) in &row {
                        assert!(declared(name), "{}: {name} is not declared", endpoint.name);
                    }
                }
            }
            assert!(rows > 0, "{} has no rows", endpoint.name);
        }
    });
}
