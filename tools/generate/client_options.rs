//! The options of a client: the constructor's signature and its part of the docstring.

#[path = "../../src/client/options.rs"]
mod options;

use boardlot_client::extension::http::TransportOptions;

use self::options::{CLIENT_OPTIONS, ClientOption, ConnectKind, OptionKind};
use super::{
    python_text::{CORE, hanging},
    wrapped,
};

/// The annotation of an option's parameter, and its default.
fn annotation_and_default(kind: OptionKind) -> (&'static str, String) {
    let mut defaults = TransportOptions::default();
    let default = match kind {
        OptionKind::Seconds(field) => format!("{:?}", field(&mut defaults).as_secs_f64()),
        OptionKind::Integer { get, .. } => get(&defaults).to_string(),
        OptionKind::Flag(field) => if *field(&mut defaults) { "True" } else { "False" }.to_owned(),
        OptionKind::Connect(ConnectKind::Seconds(field)) => {
            format!("{:?}", field(&mut defaults.connect).as_secs_f64())
        }
        OptionKind::Connect(ConnectKind::Integer { field, .. }) => {
            field(&mut defaults.connect).to_string()
        }
        _ => "None".to_owned(),
    };
    let annotation = match kind {
        OptionKind::Credentials => "ApiKey | BearerToken | OAuth | None",
        OptionKind::Cassette => "Recorder | Replay | None",
        OptionKind::RequestHook => {
            "abc.Callable[[RequestEvent], abc.Mapping[str, str] | None] | None"
        }
        OptionKind::ResponseHook => "abc.Callable[[ResponseEvent], object] | None",
        OptionKind::Seconds(_) | OptionKind::Connect(ConnectKind::Seconds(_)) => "float",
        OptionKind::Integer { .. } | OptionKind::Connect(ConnectKind::Integer { .. }) => "int",
        OptionKind::Rate(_) => "float | RateLimit | None",
        OptionKind::Flag(_) => "bool",
        OptionKind::Connect(ConnectKind::CertificateFile(_)) => "str | os.PathLike[str] | None",
        OptionKind::Connect(ConnectKind::ClientCertificate(_)) => {
            "arguments.CertificateFiles | None"
        }
        OptionKind::Headers(_) => "abc.Mapping[str, str] | None",
        OptionKind::Profile
        | OptionKind::WebSocketUrl
        | OptionKind::Connect(ConnectKind::Proxy(_)) => "str | None",
    };
    (annotation, default)
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
    for ClientOption { name, doc, .. } in CLIENT_OPTIONS {
        out += &format!("{}\n", hanging(&format!("- `{name}`: {doc}"), "    "));
    }
    out
}

/// The constructor with the default of every option. `mode` is that of the core.
pub fn constructor(mode: &str) -> String {
    let mut out = String::from(
        "    def __init__(\n        self,\n        base_url: str | None = None,\n        *,\n",
    );
    for option in CLIENT_OPTIONS {
        let (annotation, default) = annotation_and_default(option.kind);
        out += &format!("        {}: {annotation} = {default},\n", option.name);
    }
    out += &format!("    ) -> None:\n        core = _ClientCore(\"{mode}\", base_url, (\n");
    for option in CLIENT_OPTIONS {
        out += &format!("            {},\n", option.name);
    }
    // Not by `setattr`: a subclass may have a `__setattr__` that needs what its constructor sets later.
    out + &format!("        ))\n        object.__setattr__(self, \"{CORE}\", core)\n")
}

/// The options as keyword arguments, for the types of what passes them on.
pub fn keywords() -> String {
    let mut out = String::from(
        "\n\nclass ClientOptions(typing.TypedDict, total=False):\n    \
         \"\"\"The options of a client except its credentials, as keyword arguments.\"\"\"\n\n",
    );
    for option in CLIENT_OPTIONS {
        if !matches!(option.kind, OptionKind::Credentials) {
            let (annotation, _) = annotation_and_default(option.kind);
            out += &format!("    {}: {annotation}\n", option.name);
        }
    }
    out
}
