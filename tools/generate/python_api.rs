//! `_api.py`: `Client` and `AsyncClient`, one method for each endpoint of the table.

use boardlot::{
    api::{ENDPOINTS, Endpoint, Example, Parameter, ParameterKind, ResponseShape, Schema},
    client_options::{CLIENT_OPTIONS, ClientOption, OptionKind},
    error::{Evidence, FailureClass},
    http::SenderOptions,
    pages::WINDOWS_MAX,
};

use super::wrapped;

/// Which of the two classes is written.
#[derive(Clone, Copy, PartialEq)]
enum Face {
    Sync,
    Async,
}

/// A method that is no endpoint: the same in both classes but for `await`.
struct Common {
    name: &'static str,
    /// Its parameters behind `self`, one an entry.
    parameters: &'static [&'static str],
    returns: Returns,
    doc: &'static str,
    example: Example,
    /// The arguments of the core's method `_name`.
    passed: &'static str,
}

const fn example(call: &'static str, shown: &'static str, result: &'static str) -> Example {
    Example { call, shown, shown_async: None, result }
}

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
        name: "fetch_many",
        parameters: &[
            "method: str",
            "keys: abc.Iterable[str | int]",
            "*",
            "concurrency: int = 8",
            "on_error: typing.Literal[\"raise\", \"collect\"] = \"raise\"",
            "progress: bool = False",
        ],
        returns: Returns::Value("Records[dict[str, typing.Any]]"),
        doc: "One method for many keys, `concurrency` requests at a time.\n\n\
              `method` is the name of a method with exactly one required argument, such as\n\
              `\"dividends\"`. The result is one `Records` in the order of the keys, with a leading\n\
              column of the key, named as the argument is; a record's own field of that name gets\n\
              an underscore at its end. With `on_error=\"collect\"` the keys that\n\
              fail go into `.errors`, each with its error; else the first failure is raised and the\n\
              rest is given up. `progress=True` shows a bar where tqdm is installed.\n\n\
              Raises `ConfigError` for a key that the service document rules out, before anything\n\
              is sent.",
        example: example(
            "client.fetch_many(\"dividends\", [\"HK.00700\", \"US.AAPL\"])",
            "{}[0][\"symbol\"]",
            "'HK.00700'",
        ),
        passed: "method, keys, concurrency, on_error, progress",
    },
    Common {
        name: "ipo_calendar",
        parameters: &[
            "markets: abc.Iterable[str] = (\"hk\", \"us\", \"cn\", \"sg\", \"my\")",
            "*",
            "on_error: typing.Literal[\"raise\", \"collect\"] = \"raise\"",
        ],
        returns: Returns::Value("calendar.IpoCalendar"),
        doc: "The subscribable and upcoming IPOs of several markets as one calendar.\n\n\
              One row for each event (opening, closing, ballot, listing and what else a market\n\
              tells) with its date, currency and the columns that the markets have in common; see\n\
              `boardlot.calendar.IpoCalendar`, which also gives frames and iCalendar text. One\n\
              `ipo_list` a market. With `on_error=\"collect\"` the markets that fail go into\n\
              `.errors`.\n\n\
              Raises `ConfigError` for an unknown market, and whatever `ipo_list` raises.",
        example: example("client.ipo_calendar([\"sg\"])", "{}[0][\"market\"]", "'sg'"),
        passed: "markets, on_error",
    },
    Common {
        name: "request",
        parameters: &[
            "method: str",
            "path: str",
            "*",
            "query: _arguments.Query | None = None",
            "body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None",
            "headers: dict[str, str] | None = None",
        ],
        returns: Returns::Value("Response"),
        doc: "Any request, authorized like the others; the envelope is left to the caller.\n\n\
              `query` is a dict or a list of pairs, sent in its order. A `body` of a dict or list\n\
              goes out as compact JSON, `bytes` unchanged. The `Response` has `.status`,\n\
              `.headers`, `.content` (bytes) and `.json()`. Only a rejected token (HTTP 401,\n\
              or a response that says so), -12006 and redirects are handled or raised. GET, HEAD and OPTIONS are retried where no answer came.",
        example: example("client.request(\"GET\", \"/api/v1.0/server-time\")", "{}.status", "200"),
        passed: "method, path, query, body, headers",
    },
    Common {
        name: "paginate",
        parameters: &[
            "method: str",
            "path: str",
            "*",
            "paging: typing.Literal[\"next_key\", \"page_flag\"] | DateRange",
            "rows: str",
            "query: _arguments.Query | None = None",
            "body: dict[str, typing.Any] | None = None",
            "resume: str | None = None",
        ],
        returns: Returns::Pager("dict[str, typing.Any]"),
        doc: "The pages of any list.\n\n\
              `paging` is `\"next_key\"`, `\"page_flag\"`, or a `DateRange` for endpoints that page\n\
              backward by moving the end of a range of dates (service document, section 2.4).\n\
              `rows` is the dotted place of the list in the answer, such as `\"data.stock_list\"`.\n\
              The cursor travels in the query of a GET, else in the body. With `\"page_flag\"`, the\n\
              first request carries an empty cursor only if `query` or `body` has\n\
              `\"page_flag\": \"\"`. `resume` takes a pager's `.checkpoint()`.",
        example: example(
            "client.paginate(\"GET\", \"/any/list\", paging=\"next_key\", rows=\"data.list\")",
            "{}.requests",
            "0",
        ),
        passed: "method, path, paging, rows, query, body, resume",
    },
    Common {
        name: "explain",
        parameters: &[
            "method: str",
            "path: str",
            "query: _arguments.Query | None = None",
            "body: dict[str, typing.Any] | list[typing.Any] | bytes | None = None",
        ],
        returns: Returns::Plain("Explanation"),
        doc: "What a request would be, signed as of now, without sending it.\n\n\
              The `Explanation` has `.payload_lines` (the five signed lines), `.payload`,\n\
              `.body_hash`, `.headers` with the signature but no key, `.method` and `.url`. Service\n\
              document, section 5.2.",
        example: example(
            "client.explain(\"GET\", \"/api/v1.0/server-time\")",
            "{}.payload_lines[1:]",
            "['GET', '/api/v1.0/server-time', '', '']",
        ),
        passed: "method, path, query, body",
    },
];

pub fn text() -> String {
    let mut out = include_str!("api_head.txt").to_owned();
    for face in [Face::Sync, Face::Async] {
        out += &class(face);
    }
    out
}

fn class(face: Face) -> String {
    let (name, opening) = match face {
        Face::Sync => (
            "Client",
            "A client of the service whose calls block.\n\n    \
             Safe to use from many threads at once, in a running event loop, and in a forked child.",
        ),
        Face::Async => (
            "AsyncClient",
            "A client of the service whose calls are awaited.\n\n    \
             Bound to no event loop: it survives several `asyncio.run` calls. Cancelling a task\n    \
             cancels its request.",
        ),
    };
    let tag = if face == Face::Sync { "sync" } else { "async" };
    let mut out = format!(
        "\n\nclass {name}(_core.ClientBase):\n    \"\"\"{opening}\n\n{}    \"\"\"\n\n    \
         __slots__ = (\"_sandbox\",)\n    _face = \"{tag}\"\n\n{}\n{}",
        constructor_doc(),
        constructor(),
        context(face),
    );
    for endpoint in ENDPOINTS {
        out += &method(face, endpoint);
    }
    for common in COMMON {
        out += &common_method(face, common);
    }
    out
}

/// The annotation of an option's parameter, and its default.
fn annotation_and_default(kind: OptionKind) -> (&'static str, String) {
    let mut defaults = SenderOptions::default();
    let default = match kind {
        OptionKind::Seconds(field) => format!("{:?}", field(&mut defaults).as_secs_f64()),
        OptionKind::Integer { get, .. } => get(&defaults).to_string(),
        _ => "None".to_owned(),
    };
    let annotation = match kind {
        OptionKind::Credentials => "ApiKey | BearerToken | OAuth | None",
        OptionKind::Cassette => "Recorder | Replay | None",
        OptionKind::RequestHook => "abc.Callable[[RequestEvent], object] | None",
        OptionKind::ResponseHook => "abc.Callable[[ResponseEvent], object] | None",
        OptionKind::Seconds(_) => "float",
        OptionKind::Integer { .. } => "int",
        OptionKind::Rate(_) => "float | None",
        OptionKind::CertificateFile(_) => "str | os.PathLike[str] | None",
        OptionKind::Headers(_) => "abc.Mapping[str, str] | None",
        OptionKind::Profile | OptionKind::WebSocketUrl | OptionKind::Text(_) => "str | None",
    };
    (annotation, default)
}

fn constructor_doc() -> String {
    let mut out = wrapped(
        "`base_url` is the service's address: https, or http to a loopback address written as a \
         number. Raises `ConfigError` for anything that is not usable.",
        96,
        "    ",
    );
    out += "\n\n";
    for ClientOption { name, doc, .. } in CLIENT_OPTIONS {
        out += &format!("{}\n", hanging(&format!("- `{name}`: {doc}"), "    "));
    }
    out
}

fn constructor() -> String {
    let mut out = String::from(
        "    def __init__(\n        self,\n        base_url: str | None = None,\n        *,\n",
    );
    for option in CLIENT_OPTIONS {
        let (annotation, default) = annotation_and_default(option.kind);
        out += &format!("        {}: {annotation} = {default},\n", option.name);
    }
    out + "    ) -> None:\n        # Everything is done by the base's `__new__`, which takes the same arguments.\n        pass\n"
}

fn context(face: Face) -> String {
    let (asynchronous, a) = if face == Face::Async { ("async ", "a") } else { ("", "") };
    format!(
        "    {asynchronous}def __{a}enter__(self) -> Self:\n        return self\n\n    \
         {asynchronous}def __{a}exit__(\n        self,\n        kind: type[BaseException] | None,\n        \
         error: BaseException | None,\n        traceback: types.TracebackType | None,\n    ) -> None:\n        \
         self._close()\n\n    \
         {asynchronous}def close(self) -> None:\n        \
         \"\"\"Ends the client: later calls are refused.\"\"\"\n        self._close()\n"
    )
}

fn method(face: Face, endpoint: &Endpoint) -> String {
    let paged = endpoint.paging.is_some();
    let is_async = face == Face::Async && !paged;
    let record = match endpoint.answer {
        ResponseShape::Rows(_, schema) => {
            let names =
                schema.records().into_iter().map(|record| format!("_records.{}", record.name));
            names.collect::<Vec<_>>().join(" | ")
        }
        _ => String::new(),
    };
    let returns = match (endpoint.answer, paged, face) {
        (ResponseShape::ServerTime(_), ..) => "datetime.datetime".to_owned(),
        (_, true, Face::Sync) => format!("Pager[{record}]"),
        (_, true, Face::Async) => format!("AsyncPager[{record}]"),
        (_, false, _) => format!("Records[{record}]"),
    };
    let (required, optional): (Vec<&Parameter>, Vec<&Parameter>) =
        endpoint.arguments().partition(|parameter| parameter.required);
    let mut signature = vec!["self".to_owned()];
    signature.extend(required.iter().map(|p| format!("{}: {}", p.name, annotation(p))));
    if !optional.is_empty() || paged {
        signature.push("*".to_owned());
    }
    signature
        .extend(optional.iter().map(|p| format!("{}: {} | None = None", p.name, annotation(p))));
    if endpoint.has_span() {
        signature.push("windows: int | None = None".to_owned());
    }
    if paged {
        signature.push("resume: str | None = None".to_owned());
    }
    let pairs: Vec<String> =
        endpoint.arguments().map(|p| format!("(\"{0}\", {0})", p.name)).collect();
    let passed = match pairs.join(", ") {
        line if line.len() <= 60 => format!("[{line}]"),
        _ => format!("[\n            {},\n        ]", pairs.join(",\n            ")),
    };
    let call = match (endpoint.answer, paged) {
        (ResponseShape::ServerTime(_), _) => "self._server_time()".to_owned(),
        (_, true) => {
            let windows = if endpoint.has_span() { "windows" } else { "None" };
            format!("self._pages(\"{}\", {passed}, {windows}, resume)", endpoint.name)
        }
        (_, false) => format!("self._call(\"{}\", {passed})", endpoint.name),
    };
    definition(is_async, endpoint.name, &signature, &returns, &docstring(face, endpoint), &call)
}

fn common_method(face: Face, common: &Common) -> String {
    let (is_async, returns) = match (common.returns, face) {
        (Returns::Value(kind), face) => (face == Face::Async, kind.to_owned()),
        (Returns::Plain(kind), _) => (false, kind.to_owned()),
        (Returns::Pager(row), Face::Sync) => (false, format!("Pager[{row}]")),
        (Returns::Pager(row), Face::Async) => (false, format!("AsyncPager[{row}]")),
    };
    let mut signature = vec!["self".to_owned()];
    signature.extend(common.parameters.iter().map(|&parameter| parameter.to_owned()));
    let doc = format!("{}\n\n{}", common.doc, doctest(is_async, false, &common.example));
    let call = format!("self._{}({})", common.name, common.passed);
    definition(is_async, common.name, &signature, &returns, &doc, &call)
}

fn definition(
    is_async: bool,
    name: &str,
    signature: &[String],
    returns: &str,
    doc: &str,
    call: &str,
) -> String {
    let (asynchronous, awaited) = if is_async { ("async ", "await ") } else { ("", "") };
    let one_line = format!("    {asynchronous}def {name}({}) -> {returns}:", signature.join(", "));
    let head = if one_line.len() <= 100 {
        one_line
    } else {
        format!(
            "    {asynchronous}def {name}(\n        {},\n    ) -> {returns}:",
            signature.join(",\n        ")
        )
    };
    let doc: Vec<String> = doc
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("        {line}") })
        .collect();
    format!(
        "\n{head}\n        \"\"\"{}\n        \"\"\"\n        return {awaited}{call}\n",
        doc.join("\n").trim_start()
    )
}

fn annotation(parameter: &Parameter) -> String {
    match parameter.kind {
        ParameterKind::Symbol { .. }
        | ParameterKind::Market
        | ParameterKind::PlateCode
        | ParameterKind::Text
        | ParameterKind::Secret => "str".to_owned(),
        ParameterKind::OneOf(words) => format!("typing.Literal[\"{}\"]", words.join("\", \"")),
        ParameterKind::ValuesBy { .. } | ParameterKind::Integer { .. } => "int".to_owned(),
        ParameterKind::AccountNumber | ParameterKind::AccountId => "str | int".to_owned(),
        ParameterKind::Date => "_arguments.Day".to_owned(),
        ParameterKind::Micros => "_arguments.Time".to_owned(),
        ParameterKind::TextList | ParameterKind::Cursor => "list[str]".to_owned(),
    }
}

fn docstring(face: Face, endpoint: &Endpoint) -> String {
    let mut parts = vec![endpoint.summary.to_owned()];
    if !endpoint.notes.is_empty() {
        parts.push(wrapped(endpoint.notes, 90, ""));
    }
    let mut arguments = Vec::new();
    for parameter in endpoint.arguments() {
        let form = match parameter.kind {
            ParameterKind::Micros => {
                " An aware `datetime`, a `date` (midnight UTC), ISO 8601 text with an offset, or \
                 microseconds since 1970 as a whole number, of which 0 leaves it open."
            }
            ParameterKind::Date => {
                " A `date`, an aware `datetime` (the date that it shows) or `yyyy-MM-dd`."
            }
            _ => "",
        };
        arguments.push(hanging(&format!("- `{}`: {}{form}", parameter.name, parameter.doc), ""));
    }
    if endpoint.has_span() {
        arguments.push(hanging(
            &format!(
                "- `windows`: split the range of time into so many parts, 1 to {WINDOWS_MAX}, and \
                 fetch them side by side: one stream with each record once, the latest part first, \
                 each part in the service's order. That is the order without `windows` if the service \
                 sorts by the update time. `.all()` and `.to_*()` gain most; an iteration keeps no \
                 more than so many pages ahead."
            ),
            "",
        ));
    }
    if endpoint.paging.is_some() {
        arguments
            .push(hanging("- `resume`: a `.checkpoint()` of the same call: goes on after it.", ""));
    }
    if !arguments.is_empty() {
        parts.push(arguments.join("\n"));
    }
    parts.push(wrapped(&result_doc(endpoint), 90, ""));
    parts.push(wrapped(&raises(endpoint), 90, ""));
    parts.push(format!("Service document, section {}.", endpoint.section));
    let (is_async, paged) = (face == Face::Async, endpoint.paging.is_some());
    parts.push(doctest(is_async && !paged, is_async && paged, &endpoint.example));
    parts.join("\n\n")
}

fn result_doc(endpoint: &Endpoint) -> String {
    match endpoint.answer {
        ResponseShape::ServerTime(_) => {
            "Returns an aware UTC `datetime`, exact to the millisecond.".into()
        }
        ResponseShape::Rows(_, schema) => {
            let kind =
                if endpoint.paging.is_some() { "A pager over" } else { "Returns `Records` of" };
            let records: Vec<String> =
                schema.records().iter().map(|record| format!("`{}`", record.name)).collect();
            let fields = match schema {
                Schema::One(record) if record.fields().next().is_some() => {
                    let names: Vec<&str> = record.fields().map(|field| field.name).collect();
                    format!(" Fields: {}; `.schema` has kinds and units.", names.join(", "))
                }
                Schema::One(_) => String::new(),
                Schema::By(parameter, _) => format!(" The record depends on `{parameter}`."),
            };
            format!("{kind} {}.{fields}", records.join(", "))
        }
        ResponseShape::Object(_) | ResponseShape::Page => String::new(),
    }
}

fn raises(endpoint: &Endpoint) -> String {
    let mut refusals: Vec<(String, Vec<String>)> = Vec::new();
    for failure in endpoint.failures {
        let documented = Some(failure.error_code);
        let class = FailureClass::of(&Evidence { documented, ..Evidence::default() });
        let class = class.exception_class().name();
        let what = format!("`{class}` ({}: CODES)", failure.condition);
        match refusals.iter_mut().find(|(known, _)| *known == what) {
            Some((_, codes)) => codes.push(failure.code.to_string()),
            None => refusals.push((what, vec![failure.code.to_string()])),
        }
    }
    let mut classes: Vec<String> =
        refusals.iter().map(|(what, codes)| what.replace("CODES", &codes.join(", "))).collect();
    classes.insert(0, "`ConfigError` for an argument that the document rules out".into());
    format!("Raises {}; see `boardlot.errors` for the others.", classes.join(", "))
}

/// The example as a doctest. The tests know how to run one that awaits.
fn doctest(awaited: bool, async_pager: bool, example: &Example) -> String {
    let call = if awaited { format!("(await {})", example.call) } else { example.call.to_owned() };
    let shown = example.shown_async.filter(|_| async_pager).unwrap_or(example.shown);
    format!(">>> {}\n{}", shown.replace("{}", &call), example.result)
}

/// A list item whose further lines stand below its text.
fn hanging(text: &str, indent: &str) -> String {
    wrapped(text, 90, &format!("{indent}  ")).replacen(
        &format!("{indent}  -"),
        &format!("{indent}-"),
        1,
    )
}
