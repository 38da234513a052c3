//! The options of a client: the constructor's signature and its part of the docstring.

use boardlot::http::SenderOptions;

use super::{python_text::hanging, wrapped};

/// The options of a client: name, type, default, meaning. The numbers are the core's own.
fn options() -> Vec<(&'static str, &'static str, String, &'static str)> {
    let defaults = SenderOptions::default();
    let none = || "None".to_owned();
    vec![
        ("auth", "ApiKey | BearerToken | OAuth | None", none(), "who you are"),
        (
            "profile",
            "str | None",
            none(),
            "a name in `config.toml` of the user's configuration folder: base URL, kind of auth and \
             where its secret lies",
        ),
        (
            "timeout",
            "float",
            format!("{:?}", defaults.timeout.as_secs_f64()),
            "seconds for one attempt, connecting included",
        ),
        (
            "connect_timeout",
            "float",
            format!("{:?}", defaults.connect_timeout.as_secs_f64()),
            "seconds for connecting",
        ),
        (
            "max_retries",
            "int",
            defaults.max_retries.to_string(),
            "further attempts where a call may be repeated",
        ),
        ("rate_limit", "float | None", none(), "requests a second of this client"),
        (
            "max_connections",
            "int",
            defaults.max_connections.to_string(),
            "requests under way at once",
        ),
        (
            "max_body_bytes",
            "int",
            defaults.max_body_bytes.to_string(),
            "the largest answer, decompressed",
        ),
        ("proxy", "str | None", none(), "a proxy URL; the environment's proxies are not used"),
        (
            "ca_file",
            "str | os.PathLike[str] | None",
            none(),
            "a PEM bundle that is trusted besides the system's",
        ),
        ("headers", "abc.Mapping[str, str] | None", none(), "sent with every request"),
        ("ws_quote_url", "str | None", none(), "the quote WebSocket address, checked and kept"),
        ("ws_trade_url", "str | None", none(), "the trade WebSocket address, checked and kept"),
        (
            "on_request",
            "abc.Callable[[RequestEvent], object] | None",
            none(),
            "called before each request is sent, with its method, path and attempt",
        ),
        (
            "on_response",
            "abc.Callable[[ResponseEvent], object] | None",
            none(),
            "called after each request, with its status and duration besides",
        ),
        (
            "tape",
            "Recorder | Replay | None",
            none(),
            "writes the traffic to a file, or plays a file back with no network",
        ),
    ]
}

/// The part of the class's docstring that lists the options.
pub fn constructor_doc() -> String {
    let mut out = wrapped(
        "`base_url` is the service's address: https, or http to a loopback address written as a \
         number. Raises `ConfigError` for anything that is not usable.",
        96,
        "    ",
    );
    out += "\n\n";
    for (name, _, _, meaning) in options() {
        out += &format!("{}\n", hanging(&format!("- `{name}`: {meaning}"), "    "));
    }
    out
}

/// The constructor with the default of every option.
pub fn constructor() -> String {
    let mut out = String::from(
        "    def __init__(\n        self,\n        base_url: str | None = None,\n        *,\n",
    );
    for (name, kind, default, _) in options() {
        out += &format!("        {name}: {kind} = {default},\n");
    }
    out + "    ) -> None:\n        # Everything is done by the base's `__new__`, which takes the same arguments.\n        pass\n"
}
