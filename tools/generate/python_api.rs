//! `_api.py`: `Client` and `AsyncClient`, one method for each endpoint of the table.

use boardlot_client::extension::{
    api::{ENDPOINTS, Endpoint, Parameter, ParameterKind, Record, ResponseShape, Schema},
    error::{Evidence, FailureClass},
    pages::WINDOWS_MAX,
};

use super::{
    client_options::{constructor, constructor_doc, keywords},
    methods::{ExampleArgument, Method, method_of, notes},
    python_common,
    python_text::{CORE, Face, definition, doctest, hanging, head},
    wrapped,
};

pub fn text() -> String {
    let mut out =
        include_str!("api_head.txt").to_owned() + &keywords() + &python_common::keyed_records();
    let names = ENDPOINTS.iter().map(|row| format!("    {},\n", python_common::constant(row)));
    out += &format!(
        "\n\n# The rows of the core's table.\n(\n{}) = _core._BUILT_IN_ENDPOINTS\n",
        names.collect::<String>()
    );
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
             Not bound to an event loop: it survives several `asyncio.run` calls. Cancelling a task\n    \
             cancels its request.",
        ),
    };
    let mode = if face == Face::Sync { "sync" } else { "async" };
    let mut out = format!(
        "\n\n@explained\nclass {name}(ClientBase):\n    \"\"\"{opening}\n\n{}    \"\"\"\n\n{}\n{}",
        constructor_doc(),
        constructor(mode),
        context(face),
    );
    for endpoint in ENDPOINTS {
        out += &method(face, endpoint);
    }
    out + &python_common::methods(face)
}

fn context(face: Face) -> String {
    let (asynchronous, awaited, a) =
        if face == Face::Async { ("async ", "await ", "a") } else { ("", "", "") };
    format!(
        "    {asynchronous}def __{a}enter__(self) -> Self:\n        return self\n\n    \
         {asynchronous}def __{a}exit__(\n        self,\n        kind: type[BaseException] | None,\n        \
         error: BaseException | None,\n        traceback: types.TracebackType | None,\n    ) -> None:\n        \
         self.{CORE}.close()\n\n    \
         {asynchronous}def close(self) -> None:\n        \
         \"\"\"Closes the client: later calls raise `ConfigError`.\n\n        \
         >>> {awaited}client.close()\n        \"\"\"\n        self.{CORE}.close()\n"
    )
}

fn method(face: Face, endpoint: &Endpoint) -> String {
    let paged = endpoint.paging.is_some();
    let is_async = face == Face::Async && !paged;
    let pairs: Vec<String> =
        endpoint.arguments().map(|p| format!("(\"{0}\", {0})", p.name)).collect();
    let passed = match pairs.join(", ") {
        line if line.len() <= 60 => format!("[{line}]"),
        _ => format!("[\n            {},\n        ]", pairs.join(",\n            ")),
    };
    let awaited = if is_async { "await " } else { "" };
    let row = python_common::constant(endpoint);
    let call = match (&endpoint.response, paged) {
        (ResponseShape::ServerTime(_), _) => format!("{awaited}self.{CORE}.server_time()"),
        (_, true) => {
            let windows = if endpoint.time_range().is_some() { "windows" } else { "None" };
            let pager = python_common::pager(face);
            format!("{pager}(self.{CORE}.pages(self, {row}, {passed}, {windows}, resume))")
        }
        (_, false) => format!("records_of({awaited}self.{CORE}.call({row}, {passed}))"),
    };
    let signature = signature(endpoint, annotation);
    let returns = match &endpoint.response {
        // The overloads say which one; a list of several is none of each.
        ResponseShape::Rows(_, Schema::By(..)) => "Records[typing.Any]".to_owned(),
        ResponseShape::Rows(_, schema) => results(endpoint, face, &schema.records()),
        _ => "datetime.datetime".to_owned(),
    };
    overloads(face, endpoint)
        + &definition(
            is_async,
            &endpoint.name,
            &signature,
            &returns,
            &docstring(face, endpoint),
            &call,
        )
}

/// The parameters of an endpoint's method, with the annotation of each.
fn signature(endpoint: &Endpoint, annotation: impl Fn(&Parameter) -> String) -> Vec<String> {
    let paged = endpoint.paging.is_some();
    let (required, optional): (Vec<&Parameter>, Vec<&Parameter>) =
        endpoint.arguments().partition(|parameter| parameter.required);
    let mut signature = vec!["self".to_owned()];
    signature.extend(required.iter().map(|p| format!("{}: {}", p.name, annotation(p))));
    if !optional.is_empty() || paged {
        signature.push("*".to_owned());
    }
    signature
        .extend(optional.iter().map(|p| format!("{}: {} | None = None", p.name, annotation(p))));
    if endpoint.time_range().is_some() {
        signature.push("windows: int | typing.Literal[\"auto\"] | None = None".to_owned());
    }
    if paged {
        signature.push("resume: str | None = None".to_owned());
    }
    signature
}

/// The return type of a method whose rows have one of these records.
fn results(endpoint: &Endpoint, face: Face, records: &[&Record]) -> String {
    let class = match endpoint.paging {
        None => "Records",
        Some(_) => python_common::pager(face),
    };
    let names: Vec<String> =
        records.iter().map(|record| format!("records.{}", record.name)).collect();
    format!("{class}[{}]", names.join(" | "))
}

/// The overloads for type checkers: a signature for each value of the argument that determines the
/// record.
fn overloads(face: Face, endpoint: &Endpoint) -> String {
    let ResponseShape::Rows(_, Schema::By(decisive, records)) = &endpoint.response else {
        return String::new();
    };
    let is_async = face == Face::Async && endpoint.paging.is_none();
    let mut out = String::from("\n    if typing.TYPE_CHECKING:\n");
    let mut add = |decisive_type: String, records: &[&Record]| {
        let signature = signature(endpoint, |parameter| {
            if parameter.name == *decisive { decisive_type.clone() } else { annotation(parameter) }
        });
        let returns = results(endpoint, face, records);
        let head = head(is_async, &endpoint.name, &signature, &returns, "        ");
        out += &format!("\n        @typing.overload\n{head} ...\n");
    };
    for (value, record) in *records {
        add(format!("typing.Literal[\"{value}\"]"), &[*record]);
    }
    // For one of several values, such as that of a loop.
    let all: Vec<&Record> = records.iter().map(|(_, record)| *record).collect();
    let values: Vec<&str> = records.iter().map(|(value, _)| *value).collect();
    add(format!("typing.Literal[\"{}\"]", values.join("\", \"")), &all);
    out
}

fn annotation(parameter: &Parameter) -> String {
    match parameter.kind {
        ParameterKind::Symbol { .. }
        | ParameterKind::Market
        | ParameterKind::PlateCode
        | ParameterKind::Text
        | ParameterKind::FreeText
        | ParameterKind::Segment
        | ParameterKind::Secret => "str".to_owned(),
        ParameterKind::Number => "float".to_owned(),
        ParameterKind::Decimal => "str | int".to_owned(),
        ParameterKind::Flag => "bool".to_owned(),
        ParameterKind::Json => "dict[str, typing.Any] | list[typing.Any]".to_owned(),
        ParameterKind::OneOf(words) => format!("typing.Literal[\"{}\"]", words.join("\", \"")),
        ParameterKind::ValuesBy { .. } | ParameterKind::Integer { .. } => "int".to_owned(),
        ParameterKind::AccountNumber | ParameterKind::AccountId => "str | int".to_owned(),
        ParameterKind::Date => "arguments.Day".to_owned(),
        ParameterKind::Time(_) => "arguments.Time".to_owned(),
        ParameterKind::TextList | ParameterKind::Cursor => "list[str]".to_owned(),
    }
}

fn docstring(face: Face, endpoint: &Endpoint) -> String {
    let mut parts = vec![endpoint.summary.to_owned()];
    let notes = notes(endpoint);
    if !notes.is_empty() {
        parts.push(wrapped(&notes, 90, ""));
    }
    let mut arguments = Vec::new();
    for parameter in endpoint.arguments() {
        let form = match parameter.kind {
            ParameterKind::Time(_) => {
                " An aware `datetime`, a `date` (midnight UTC), ISO 8601 text with an offset, or \
                 microseconds since 1970 as an integer, of the years 1990 to 2100."
            }
            ParameterKind::Date => {
                " A `date`, an aware `datetime` (the date that it shows) or `yyyy-MM-dd`."
            }
            _ => "",
        };
        arguments.push(hanging(&format!("- `{}`: {}{form}", parameter.name, parameter.doc), ""));
    }
    if endpoint.time_range().is_some() {
        arguments.push(hanging(
            &format!(
                "- `windows`: {} By default, or with `\"auto\"`, `.all()` and `.to_*()` of a new pager choose \
                 the number by their first pages, and everything else is read by one cursor, as with 1. An \
                 iteration prefetches at most one page per window.",
                windows_doc()
            ),
            "",
        ));
    }
    if endpoint.paging.is_some() {
        arguments.push(hanging(
            "- `resume`: a `.checkpoint()` of the same call, to resume after it.",
            "",
        ));
    }
    if !arguments.is_empty() {
        parts.push(arguments.join("\n"));
    }
    parts.push(wrapped(&result_doc(endpoint), 90, ""));
    parts.push(wrapped(&raises(endpoint), 90, ""));
    parts.extend(method_of(endpoint).map(|method| example_of(face, endpoint, method)));
    parts.join("\n\n")
}

/// The docstring of the parameter `windows`, in Python and on the command line.
pub fn windows_doc() -> String {
    format!(
        "split the time range into this many windows, 1 to {WINDOWS_MAX}, and fetch them \
         concurrently: one stream with each record once, the latest window first, each window in the \
         service's order. If the service sorts by the update time, the order is the same as without \
         `windows`."
    )
}

fn example_of(face: Face, endpoint: &Endpoint, method: &Method) -> String {
    let arguments: Vec<String> = method
        .arguments
        .iter()
        .map(|argument| match argument {
            ExampleArgument::Text(text) => format!("\"{text}\""),
            ExampleArgument::Account(kind) => format!("sandbox.accounts[\"{kind}\"][0]"),
        })
        .collect();
    let call = format!("client.{}({})", endpoint.name, arguments.join(", "));
    match (face, &endpoint.paging) {
        (Face::Sync, _) => doctest(&call, method.expression, method.result),
        (Face::Async, None) => {
            doctest(&format!("(await {call})"), method.expression, method.result)
        }
        (Face::Async, Some(_)) => {
            // The pager itself is not awaited.
            let expression = method.expression.replace("next({})", "(await anext({}))");
            let expression = expression.replace("{}.all(", "await {}.all(");
            doctest(&call, &expression, method.result)
        }
    }
}

fn result_doc(endpoint: &Endpoint) -> String {
    match &endpoint.response {
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
                    let names: Vec<&str> =
                        record.fields().map(|field| field.name.as_ref()).collect();
                    format!(" Fields: {}; `.schema` has kinds and units.", names.join(", "))
                }
                Schema::One(_) | Schema::Fields(_) => String::new(),
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
        let class = class.error_class().name();
        let what = format!("`{class}` ({}: CODES)", failure.condition);
        match refusals.iter_mut().find(|(known, _)| *known == what) {
            Some((_, codes)) => codes.push(failure.code.to_string()),
            None => refusals.push((what, vec![failure.code.to_string()])),
        }
    }
    let mut classes: Vec<String> =
        refusals.iter().map(|(what, codes)| what.replace("CODES", &codes.join(", "))).collect();
    classes.insert(0, "`ConfigError` for an invalid argument".into());
    format!("Raises {}; see `boardlot.errors` for the others.", classes.join(", "))
}
