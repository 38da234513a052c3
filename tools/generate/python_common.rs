//! The methods of both clients that are not endpoints: `fetch_many`, `request`, `paginate`, ...

use boardlot_client::extension::api::{ENDPOINTS, Endpoint, ParameterKind, Record, ResponseShape};

use super::python_text::{CORE, Face, definition, doctest, head};

/// A method that is not an endpoint: the same in both classes but for `await`.
struct Common {
    name: &'static str,
    /// Its parameters after `self`.
    parameters: &'static [&'static str],
    returns: Returns,
    doc: &'static str,
    example: CommonExample,
    callee: Callee,
}

/// The function that a method calls, and the arguments.
#[derive(Clone, Copy)]
enum Callee {
    /// The core's method of the same name, with these arguments.
    Core(&'static str),
    /// The core's method of this name, which makes pages that keep the client alive.
    Pages(&'static str, &'static str),
    /// A function of the package, whose name ends with `_async` for an `AsyncClient`.
    Package(&'static str, &'static str),
}

/// The call, a Python expression in which `{}` stands for it, and what that evaluates to.
struct CommonExample(&'static str, &'static str, &'static str);

#[derive(Clone, Copy)]
enum Returns {
    /// Awaited in `AsyncClient`.
    Value(&'static str),
    /// The same object in both.
    Plain(&'static str),
    Pager(&'static str),
}

const COMMON: &[Common] = &[
    Common {
        name: "call",
        parameters: &["endpoint: Endpoint[arguments.Row]", "/", "**arguments: typing.Any"],
        returns: Returns::Value("Records[arguments.Row]"),
        doc: "All records of `endpoint`, an `Endpoint` that you declared.\n\n\
              The names in its path are required arguments. The others go into the query or, for POST,\n\
              into the JSON body, in the order given; those that are None are left out. An argument\n\
              with a declared kind is checked as those of the built-in methods are. An undeclared one\n\
              is a string, a number, a bool, a `date` (sent as `yyyy-MM-dd`) or, in a body, a dict or a\n\
              list. If the endpoint returns pages, all of them are fetched.\n\n\
              Raises `ConfigError` for an invalid argument, before anything is sent; see\n\
              `boardlot.errors` for the others.",
        example: CommonExample(
            "client.call(bl.Endpoint(\"orders\", \"GET\", \"/api/v1.0/sim-trade/5001/orders\"))",
            "{}[0][\"side\"] in list(bl.SimSide)",
            "True",
        ),
        callee: Callee::Core("endpoint, list(arguments.items())"),
    },
    Common {
        name: "pages",
        parameters: &[
            "endpoint: Endpoint[arguments.Row]",
            "/",
            "*",
            "resume: str | None = None",
            "**arguments: typing.Any",
        ],
        returns: Returns::Pager("arguments.Row"),
        doc: "A pager over the records of `endpoint`, an `Endpoint` that you declared with `paging`.\n\n\
              The arguments are those of `call`. The cursor is sent in the query of a GET, otherwise in\n\
              the body. With `paging=\"page_flag\"`, the first request carries an empty cursor only if\n\
              `page_flag=\"\"` is passed. `resume` is a `.checkpoint()` of the same call.\n\n\
              Raises `ConfigError` for an invalid argument, before anything is sent; see\n\
              `boardlot.errors` for the others.",
        example: CommonExample(
            "client.pages(bl.Endpoint(\"list\", \"GET\", \"/any/list\", paging=\"next_key\"))",
            "{}.requests",
            "0",
        ),
        callee: Callee::Pages("pages", "endpoint, list(arguments.items()), None, resume"),
    },
    Common {
        name: "fetch_many",
        parameters: &[
            "method: METHODS | Endpoint[typing.Any]",
            "keys: abc.Iterable[str | int]",
            "*",
            "concurrency: int = 8",
            "on_error: typing.Literal[\"raise\", \"collect\"] = \"raise\"",
            "windows: int | typing.Literal[\"auto\"] | None = None",
            "progress: bool = False",
            "**arguments: typing.Any",
        ],
        returns: Returns::Value("Records[typing.Any]"),
        doc: "One method for many keys, `concurrency` requests at a time.\n\n\
              `method` is the name of a method, such as `\"dividends\"`, or an `Endpoint`. `keys` are the\n\
              values of its only required argument; if it has several, pass the others by name, and\n\
              optional ones too: `trd_market=\"HK\", start=date(2026, 1, 1)`. Of a paged list, all pages are\n\
              read. Returns one `Records` in the order of the keys. Its first column is the key, named like\n\
              the argument; if a record has a field of that name, an underscore is appended to the field's\n\
              name. `windows` is that of the method; by default, the lists of few keys are read in windows.\n\
              With `on_error=\"collect\"`, `.errors` has each key that failed with its error; otherwise\n\
              the first failure is raised and the other requests are cancelled. `progress=True` shows a\n\
              progress bar if tqdm is installed.\n\n\
              Raises `ConfigError` for an invalid key or argument, before anything is sent.",
        example: CommonExample(
            "client.fetch_many(\"dividends\", [\"HK.00700\", \"US.AAPL\"])",
            "{}[0][\"symbol\"]",
            "'HK.00700'",
        ),
        callee: Callee::Core(
            "method, keys, concurrency, on_error, windows, progress, list(arguments.items())",
        ),
    },
    Common {
        name: "pages_many",
        parameters: &[
            "method: METHODS | Endpoint[typing.Any]",
            "keys: abc.Iterable[str | int]",
            "*",
            "concurrency: int = 8",
            "on_error: typing.Literal[\"raise\", \"collect\"] = \"raise\"",
            "windows: int | typing.Literal[\"auto\"] | None = None",
            "resume: str | None = None",
            "**arguments: typing.Any",
        ],
        returns: Returns::Pager("typing.Any"),
        doc: "A pager over the rows of one method for many keys, in the order of the keys.\n\n\
              For millions of rows: its frames are made of the pages without a dict, and an iteration has a\n\
              page of each of `concurrency` keys in memory, which are read side by side. With a number of\n\
              `windows`, the time range of each key is split into as many, of which `concurrency` are read\n\
              side by side.\n\n\
              `method` is the name of a method that returns pages, such as `\"fills_history\"`, or an\n\
              `Endpoint` with `paging`. `keys` are the values of its only required argument; pass the others\n\
              by name, and optional ones too. The first column is the key, as for `fetch_many`. There is one\n\
              checkpoint for all keys, `resume`, and one time range, which is fixed by the service's clock\n\
              before the first page if it is open. With `on_error=\"collect\"`, the rows of a key that fails\n\
              midway stay, `.errors` has the key with its error, and a resume tries it again from where it\n\
              failed; otherwise the first failure is raised.\n\n\
              Raises `ConfigError` for an invalid key or argument, before anything is sent, and for a `resume`\n\
              of other keys.",
        example: CommonExample(
            "client.pages_many(\"fills_history\", sandbox.accounts[\"trade\"], trd_market=\"HK\")",
            "next({})[\"acc_id\"] == sandbox.accounts[\"trade\"][0]",
            "True",
        ),
        callee: Callee::Pages(
            "pages_many",
            "method, keys, concurrency, on_error, windows, resume, list(arguments.items())",
        ),
    },
    Common {
        name: "ipo_calendar",
        parameters: &[
            "markets: abc.Iterable[MARKETS] = (\"hk\", \"us\", \"cn\", \"sg\", \"my\")",
            "*",
            "on_error: typing.Literal[\"raise\", \"collect\"] = \"raise\"",
        ],
        returns: Returns::Value("boardlot.calendar.IpoCalendar"),
        doc: "The subscribable and upcoming IPOs of several markets as one calendar.\n\n\
              One row for each event (such as opening, closing, ballot and listing) with its date,\n\
              currency and the columns that the markets share. `boardlot.calendar.IpoCalendar`\n\
              converts to frames and iCalendar text as well. Calls `ipo_list` once for each of `markets`.\n\
              With `on_error=\"collect\"`, `.errors` has the markets that failed.\n\n\
              Raises `ConfigError` for an unknown market, and the errors of `ipo_list`.",
        example: CommonExample("client.ipo_calendar([\"sg\"])", "{}[0][\"market\"]", "'sg'"),
        callee: Callee::Package("boardlot.calendar.ipo_calendar", "markets, on_error=on_error"),
    },
    Common {
        name: "request",
        parameters: &[
            "method: str",
            "path: str",
            "*",
            "query: arguments.Query | None = None",
            "body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None",
            "headers: dict[str, str] | None = None",
        ],
        returns: Returns::Value("Response"),
        doc: "Any request, authorized like the others; its envelope is not checked.\n\n\
              `method` is the HTTP method, and `path` begins with a slash. `query` is a dict or a list of\n\
              pairs, sent in its order. A `body` of a dict or list is sent as compact JSON, `bytes`\n\
              unchanged. `headers` are added to those of the client. The `Response` has `.status`,\n\
              `.headers`, `.content` (bytes) and `.json()`. Only a rejected token (HTTP 401,\n\
              or a response that says so), -12006 and redirects are handled or raised. GET, HEAD and OPTIONS\n\
              are retried if there was no response.\n\n\
              Raises `ConfigError` for an invalid argument, before anything is sent, and `TransportError`\n\
              if there is no response; see `boardlot.errors` for the others.",
        example: CommonExample(
            "client.request(\"GET\", \"/api/v1.0/server-time\")",
            "{}.status",
            "200",
        ),
        callee: Callee::Core("method, path, query, body, headers"),
    },
    Common {
        name: "paginate",
        parameters: &[
            "method: str",
            "path: str",
            "*",
            "paging: typing.Literal[\"next_key\", \"page_flag\"] | DateRange",
            "rows: str",
            "query: arguments.Query | None = None",
            "body: dict[str, typing.Any] | None = None",
            "resume: str | None = None",
        ],
        returns: Returns::Pager("dict[str, typing.Any]"),
        doc: "The pages of any list.\n\n\
              `method`, `path`, `query` and `body` are those of the first request, as for `request`.\n\
              `paging` is `\"next_key\"`, `\"page_flag\"`, or a `DateRange` for endpoints that page\n\
              backward by moving the end of a range of dates. `rows` is the dotted path of the list in the\n\
              response, such as `\"data.stock_list\"`. The cursor is sent in the query of a GET,\n\
              otherwise in the body. With `\"page_flag\"`, the first request carries an empty cursor only\n\
              if `query` or `body` has `\"page_flag\": \"\"`. `resume` is a pager's `.checkpoint()`.\n\n\
              Raises `ConfigError` for an invalid argument, before anything is sent; see\n\
              `boardlot.errors` for the others.",
        example: CommonExample(
            "client.paginate(\"GET\", \"/any/list\", paging=\"next_key\", rows=\"data.list\")",
            "{}.requests",
            "0",
        ),
        callee: Callee::Pages("paginate", "method, path, paging, rows, query, body, resume"),
    },
    Common {
        name: "explain",
        parameters: &[
            "method: str | Endpoint[typing.Any]",
            "path: str | None = None",
            "query: arguments.Query | None = None",
            "body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None",
            "**arguments: typing.Any",
        ],
        returns: Returns::Plain("Explanation"),
        doc: "A request as it would be sent now, with its signature, without sending it.\n\n\
              The `Explanation` has `.payload_lines` (the five lines of the canonical request),\n\
              `.payload`, `.body_hash`, `.headers` with the signature but no key, `.method` and\n\
              `.url`. `method`, `path`, `query` and `body` are those of `request`; instead of them, pass\n\
              an `Endpoint` and its arguments.\n\n\
              Raises `ConfigError` for an invalid argument.",
        example: CommonExample(
            "client.explain(\"GET\", \"/api/v1.0/server-time\")",
            "{}.payload_lines[1:]",
            "['GET', '/api/v1.0/server-time', '', '']",
        ),
        callee: Callee::Core("method, path, query, body, list(arguments.items())"),
    },
];

/// The methods of one class.
pub fn methods(face: Face) -> String {
    COMMON.iter().map(|common| method(face, common)).collect()
}

fn method(face: Face, common: &Common) -> String {
    let (is_async, returns) = match (common.returns, face) {
        (Returns::Value(kind), face) => (face == Face::Async, kind.to_owned()),
        (Returns::Plain(kind), _) => (false, kind.to_owned()),
        (Returns::Pager(row), face) => (false, format!("{}[{row}]", pager(face))),
    };
    let mut signature = vec!["self".to_owned()];
    let methods = batch_methods(matches!(common.returns, Returns::Pager(_)));
    signature.extend(
        common
            .parameters
            .iter()
            .map(|given| given.replace("METHODS", &methods).replace("MARKETS", &ipo_markets())),
    );
    let CommonExample(call, expression, result) = common.example;
    let call = if is_async { format!("(await {call})") } else { call.to_owned() };
    let expression = match (common.returns, face) {
        (Returns::Pager(_), Face::Async) => expression.replace("next({})", "(await anext({}))"),
        _ => expression.to_owned(),
    };
    let doc = format!("{}\n\n{}", common.doc, doctest(&call, &expression, result));
    let call = match (common.callee, face) {
        (Callee::Core(passed), _) => format!("self.{CORE}.{}({passed})", common.name),
        (Callee::Pages(name, passed), _) => format!("self.{CORE}.{name}(self, {passed})"),
        (Callee::Package(name, passed), Face::Sync) => format!("{name}(self, {passed})"),
        (Callee::Package(name, passed), Face::Async) => format!("{name}_async(self, {passed})"),
    };
    let call = match common.returns {
        Returns::Pager(_) => format!("{}({call})", pager(face)),
        Returns::Plain(_) => call,
        Returns::Value(_) => {
            let awaited = if is_async { "await " } else { "" };
            match common.name {
                "call" => format!("records_of({awaited}{call})"),
                "fetch_many" => format!("records_of(*{awaited}{call})"),
                _ => format!("{awaited}{call}"),
            }
        }
    };
    let overloads = match common.name {
        "fetch_many" => overloads_by_method(is_async, &signature, common.name, "Records"),
        "pages_many" => overloads_by_method(false, &signature, common.name, pager(face)),
        _ => String::new(),
    };
    overloads + &definition(is_async, common.name, &signature, &returns, &doc, &call)
}

/// The class of a pager.
pub fn pager(face: Face) -> &'static str {
    match face {
        Face::Sync => "Pager",
        Face::Async => "AsyncPager",
    }
}

/// The signatures of a method for many keys for type checkers: one for each method whose results it can have, and one
/// for a custom endpoint.
fn overloads_by_method(is_async: bool, signature: &[String], name: &str, class: &str) -> String {
    let mut out = String::from("\n    if typing.TYPE_CHECKING:\n");
    let mut add = |method: &str, row: &str| {
        let mut signature = signature.to_vec();
        if let Some(parameter) = signature.get_mut(1) {
            *parameter = format!("method: {method}");
        }
        let head = head(is_async, name, &signature, &format!("{class}[{row}]"), "        ");
        out += &format!("\n        @typing.overload\n{head} ...\n");
    };
    for endpoint in ENDPOINTS {
        if let ResponseShape::Rows(_, schema) = &endpoint.response
            && (class == "Records" || endpoint.paging.is_some())
        {
            let rows: Vec<String> = schema
                .records()
                .into_iter()
                .map(|record| match keyed(endpoint, record) {
                    Some(_) => format!("{}By{}", record.name, key(endpoint)),
                    None => format!("records.{}", record.name),
                })
                .collect();
            add(&format!("typing.Literal[\"{}\"]", endpoint.name), &rows.join(" | "));
        }
    }
    add("Endpoint[arguments.Row]", "arguments.Row");
    out
}

/// The records of `fetch_many` that have a key as well, for type checkers.
pub fn keyed_records() -> String {
    let mut out = String::new();
    for endpoint in ENDPOINTS {
        let ResponseShape::Rows(_, schema) = &endpoint.response else { continue };
        for record in schema.records() {
            if let Some(name) = keyed(endpoint, record) {
                let (record, class) = (record.name, key(endpoint));
                out +=
                    &format!("\n\nclass {record}By{class}(records.{record}):\n    {name}: str\n");
            }
        }
    }
    out
}

/// The name of an endpoint's row in `_api.py`.
pub fn constant(endpoint: &Endpoint) -> String {
    endpoint.name.to_uppercase()
}

/// The name of the column of keys, unless the record is any dict or has a field of that name.
fn keyed<'a>(endpoint: &'a Endpoint, record: &Record) -> Option<&'a str> {
    let name = endpoint.arguments().find(|parameter| parameter.required)?.name.as_ref();
    let mut fields = record.fields().peekable();
    (fields.peek().is_some() && fields.all(|field| field.name != name)).then_some(name)
}

/// That name as part of a class's.
fn key(endpoint: &Endpoint) -> &'static str {
    let required = endpoint.arguments().find(|parameter| parameter.required);
    match required.map(|parameter| parameter.name.as_ref()) {
        Some("acc_id") => "Account",
        Some("symbol") => "Symbol",
        _ => "Market",
    }
}

/// The methods whose results `fetch_many` can collect, as a type; those of `pages_many` return pages.
fn batch_methods(of_pages: bool) -> String {
    let names: Vec<String> = ENDPOINTS
        .iter()
        .filter(|endpoint| matches!(endpoint.response, ResponseShape::Rows(..)))
        .filter(|endpoint| !of_pages || endpoint.paging.is_some())
        .map(|endpoint| format!("\"{}\"", endpoint.name))
        .collect();
    format!("typing.Literal[{}]", names.join(", "))
}

/// The markets of IPO lists, as a type.
fn ipo_markets() -> String {
    let list = ENDPOINTS.iter().filter(|endpoint| endpoint.name == "ipo_list");
    let kinds = list.flat_map(|endpoint| endpoint.arguments()).map(|parameter| &parameter.kind);
    let words = kinds.filter_map(|kind| match kind {
        ParameterKind::OneOf(words) => Some(words.join("\", \"")),
        _ => None,
    });
    format!("typing.Literal[\"{}\"]", words.collect::<String>())
}
