//! Generators of responses: JSON in every notation, and text that is almost JSON.

use proptest::{collection::vec, prelude::*, sample::select};

/// A JSON value as text: strings and keys with their escapes, numbers with all their digits.
#[derive(Debug, Clone)]
pub enum Node {
    Plain(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    pub fn text(text: &str) -> Node {
        Node::Plain(format!("\"{text}\""))
    }

    /// The text, with white space from `spaces` wherever it is allowed.
    pub fn to_json(&self, spaces: &[&str]) -> String {
        let mut spaces = spaces.iter().copied().cycle();
        let mut out = String::new();
        self.write(&mut out, &mut || spaces.next().unwrap_or_default());
        out
    }

    fn write<'s>(&self, out: &mut String, space: &mut impl FnMut() -> &'s str) {
        out.push_str(space());
        match self {
            Node::Plain(text) => out.push_str(text),
            Node::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    item.write(out, space);
                }
                out.push_str(if items.is_empty() { space() } else { "" });
                out.push(']');
            }
            Node::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(space());
                    *out += &format!("\"{key}\"{}:", space());
                    value.write(out, space);
                }
                out.push_str(if members.is_empty() { space() } else { "" });
                out.push('}');
            }
        }
        out.push_str(space());
    }
}

pub fn spaces() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![
        2 => Just(vec![""]),
        1 => vec(select(vec!["", "", " ", "\n", "\t", "\r\n", "   \n\t "]), 1..20),
    ]
}

/// Text to put between quotes; some of it is invalid.
fn quoted() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[ -!#-\\[\\]-~]{0,24}",
        3 => "[a-z\u{e9}\u{4e2d}\u{1f600}]{0,20}",
        2 => "(\\\\[\"\\\\/bfnrt]|[a-z]){0,12}",
        2 => any::<String>().prop_map(|text| {
            text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
        }),
        1 => vec(any::<u16>(), 0..4)
            .prop_map(|units| units.iter().map(|unit| format!("\\u{unit:04X}")).collect()),
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?",
        "(0|-0|1780000000[0-9]{6})",
    ]
}

/// A value of any kind.
pub fn value() -> BoxedStrategy<Node> {
    let leaf = prop_oneof![
        4 => quoted().prop_map(|text| Node::text(&text)),
        3 => number().prop_map(Node::Plain),
        1 => select(vec!["null", "true", "false"]).prop_map(|word| Node::Plain(word.to_owned())),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Node::List),
            vec((key(), inner), 0..4).prop_map(Node::Object),
        ]
    })
    .boxed()
}

/// Keys of a small set, so that they are repeated; some differ only in their escapes.
pub fn key() -> impl Strategy<Value = String> {
    select(vec![
        "code",
        "price",
        "time",
        "day",
        "c\\u006fde",
        "pair",
        "flag",
        "n",
        "list",
        "a",
        "",
        "d",
        "unknown",
        "\u{4e2d}",
        "a_rather_long_key_of_more_than_sixteen",
        "q\\\"",
        "number",
        "pagination",
        "page_flag",
        "completed",
        "\\ud83d\\ude00",
        "text",
    ])
    .prop_map(str::to_owned)
}

/// Records that mostly have the same keys in the same order.
pub fn records(value: BoxedStrategy<Node>) -> impl Strategy<Value = Vec<Node>> {
    let change = prop_oneof![6 => Just(0_u8), 1 => 1_u8..6];
    vec(key(), 0..7).prop_flat_map(move |keys| {
        let row = (vec(value.clone(), keys.len()), change.clone(), key(), value.clone());
        let row = row.prop_map(move |(values, change, key, other)| {
            let mut members: Vec<_> = keys.iter().cloned().zip(values).collect();
            match change {
                1 => members.reverse(),
                2 => drop(members.pop()),
                3 => members.push((key, other)),
                4 => members.insert(members.len() / 2, (key, other)),
                5 => members.clear(),
                _ => {}
            }
            Node::Object(members)
        });
        vec(row, 0..6)
    })
}

/// A response `{s, d: {order_fills, ...}}` in any order, with other members.
pub fn response(rows: impl Strategy<Value = Vec<Node>>) -> impl Strategy<Value = Node> {
    let others = || vec((key(), value()), 0..3);
    let marks = vec!["\"ok\"", "\"ok\"", "\"ok\"", "\"error\"", "0"];
    (rows, others(), others(), select(marks), any::<prop::sample::Index>()).prop_map(
        |(rows, mut inner, mut top, mark, place)| {
            inner.insert(place.index(inner.len() + 1), ("order_fills".into(), Node::List(rows)));
            top.insert(place.index(top.len() + 1), ("s".into(), Node::Plain(mark.into())));
            top.insert(place.index(top.len() + 1), ("d".into(), Node::Object(inner)));
            Node::Object(top)
        },
    )
}

/// A corruption of a response in transit.
#[derive(Debug, Clone)]
pub enum Corruption {
    None,
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Duplicated(prop::sample::Index, prop::sample::Index),
}

pub fn corruption() -> impl Strategy<Value = Corruption> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        2 => Just(Corruption::None),
        2 => (index(), any::<u8>()).prop_map(|(at, byte)| Corruption::Byte(at, byte)),
        4 => (index(), select(b"\"\\{}[]:,0 -.e\nux".to_vec()))
            .prop_map(|(at, byte)| Corruption::Byte(at, byte)),
        1 => index().prop_map(Corruption::Cut),
        1 => (index(), index()).prop_map(|(at, to)| Corruption::Duplicated(at, to)),
    ]
}

impl Corruption {
    pub fn apply(&self, text: String) -> Vec<u8> {
        let mut bytes = text.into_bytes();
        if bytes.is_empty() {
            return bytes;
        }
        match self {
            Corruption::None => {}
            Corruption::Byte(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Corruption::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Corruption::Duplicated(at, to) => {
                let (at, to) = (at.index(bytes.len()), to.index(bytes.len()));
                let part = bytes[at.min(to)..at.max(to)].to_vec();
                bytes.splice(at..at, part);
            }
        }
        bytes
    }
}
