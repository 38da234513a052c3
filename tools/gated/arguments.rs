//! Functions with a `signature` also accept arguments that do not exist, to say what to write instead: the
//! error of PyO3 names the wrong argument and nothing else.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

use super::{is_word, parsed, regrouped};

/// The functions at this level, each with the check of its arguments.
pub fn with_others(tokens: TokenStream, class: &str) -> TokenStream {
    let (mut checked, mut item) = (TokenStream::new(), Vec::new());
    for token in tokens {
        let is_body = is_group(&token, Delimiter::Brace);
        item.push(token);
        if is_body {
            let function = std::mem::take(&mut item);
            checked.extend(checked_function(&function, class).unwrap_or(function));
        }
    }
    checked.extend(item);
    checked
}

/// The function with the check; none if it needs none: it is private, or takes any arguments.
fn checked_function(item: &[TokenTree], class: &str) -> Option<Vec<TokenTree>> {
    let start = item.iter().position(|token| is_word(token, "fn"))?;
    let (attributes, function) = item.split_at(start);
    let shown: Vec<String> = attributes.iter().map(ToString::to_string).collect();
    let signature = attributes.iter().find_map(|token| signature_in(group(token)?))?;
    let name = match shown.iter().any(|text| text == "[new]") {
        true => class.to_owned(),
        false => function.get(1)?.to_string(),
    };
    let signature = Signature::new(signature.stream());
    let is_renamed = shown.iter().any(|text| text.contains("name = \"_"));
    if name.starts_with('_') || is_renamed || !signature.is_closed {
        return None;
    }
    let parameters = function.iter().position(|token| is_group(token, Delimiter::Parenthesis))?;
    let receiver =
        text(&group(function.get(parameters)?)?.stream().into_iter().collect::<Vec<_>>());
    let is_method = receiver.starts_with("&self") || receiver.starts_with("this:");
    let has_text = shown.iter().any(|text| text.contains("text_signature"));
    let shown = (!has_text).then(|| signature.text(is_method));
    let mut checked: Vec<TokenTree> = attributes
        .iter()
        .map(|token| match group(token).filter(|group| signature_in(group).is_some()) {
            Some(group) => regrouped(group, signature.attribute(group, shown.as_deref())),
            None => token.clone(),
        })
        .collect();
    checked.extend(function.iter().enumerate().map(|(at, token)| match group(token) {
        Some(group) if at == parameters => regrouped(group, signature.parameters(group)),
        Some(body) if is_group(token, Delimiter::Brace) => {
            let mut code = signature.check(&name);
            code.extend(body.stream());
            regrouped(body, code)
        }
        _ => token.clone(),
    }));
    Some(checked)
}

/// The arguments that a function takes, as its attribute lists them.
struct Signature {
    entries: Vec<Vec<TokenTree>>,
    positional: Vec<String>,
    named: Vec<String>,
    /// It has `*names`.
    takes_many: bool,
    /// It is public, and has no `**arguments`.
    is_closed: bool,
}

impl Signature {
    fn new(tokens: TokenStream) -> Self {
        let entries = split(tokens);
        let (mut positional, mut named, mut after_star) = (Vec::new(), Vec::new(), false);
        // With `/` there is no name that could be wrong.
        let mut takes_any = entries.iter().any(|entry| text(entry) == "/");
        let (mut takes_many, mut is_private) = (false, false);
        for entry in &entries {
            let shown = text(entry);
            match shown.strip_prefix('*') {
                Some(rest) => {
                    takes_any |= rest.starts_with('*');
                    takes_many |= !rest.is_empty();
                    is_private |= rest.starts_with('_');
                    after_star = true;
                }
                None => {
                    let name = entry.first().map(ToString::to_string).unwrap_or_default();
                    is_private |= name.starts_with('_');
                    if after_star { named.push(name) } else { positional.push(name) }
                }
            }
        }
        Signature { entries, positional, named, takes_many, is_closed: !takes_any && !is_private }
    }

    /// The attribute with the two arguments that take the others.
    fn attribute(&self, attribute: &Group, shown: Option<&str>) -> TokenStream {
        let mut entries: Vec<String> = self.entries.iter().map(|entry| text(entry)).collect();
        if !self.takes_many {
            entries.retain(|entry| entry != "*");
            entries.insert(self.positional.len(), "*other_arguments".to_owned());
        }
        entries.push("**unknown_arguments".to_owned());
        let signature = parsed(&format!("({})", entries.join(", ")));
        let found = signature_in(attribute).map(|group| group.to_string());
        let shown = shown.map(|it| format!("text_signature = {it:?},")).unwrap_or_default();
        replaced(attribute.stream(), &found.unwrap_or_default(), &signature, &shown)
    }

    /// The parameters of the Rust function with those two, in the order of the signature.
    fn parameters(&self, group: &Group) -> TokenStream {
        let others = "other_arguments: &::pyo3::Bound<'_, ::pyo3::types::PyTuple>,";
        let unknown = "unknown_arguments: Option<&::pyo3::Bound<'_, ::pyo3::types::PyDict>>,";
        let (mut parameters, mut is_done) = (TokenStream::new(), self.takes_many);
        for parameter in split(group.stream()) {
            let mut ends =
                parameter.iter().enumerate().filter(|(_, token)| token.to_string() == ":");
            let name = ends.next().and_then(|(at, _)| parameter.get(at.checked_sub(1)?));
            if !is_done && name.is_some_and(|name| self.named.first() == Some(&name.to_string())) {
                parameters.extend(parsed(others));
                is_done = true;
            }
            parameters.extend(parameter);
            parameters.extend(parsed(","));
        }
        if !is_done {
            parameters.extend(parsed(others));
        }
        parameters.extend(parsed(unknown));
        parameters
    }

    fn check(&self, name: &str) -> TokenStream {
        let others = if self.takes_many { "None" } else { "Some(other_arguments)" };
        parsed(&format!(
            "crate::arguments::wrong_call::check({name:?}, &{:?}, &{:?}, {others}, unknown_arguments)?;",
            self.positional, self.named
        ))
    }

    /// The signature as Python shows it.
    fn text(&self, is_method: bool) -> String {
        let receiver = is_method.then(|| "$self".to_owned());
        let entries = self.entries.iter().map(|entry| {
            let Some((name, default)) =
                text(entry).split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()))
            else {
                return text(entry);
            };
            let default = match default.as_str() {
                "true" => "True".to_owned(),
                "false" => "False".to_owned(),
                number if number.starts_with("Some(") => {
                    number.trim_matches(['S', 'o', 'm', 'e', '(', ')']).into()
                }
                text if text.starts_with('"') => text.replace('"', "'"),
                number => number.replace('_', ""),
            };
            format!("{name}={default}")
        });
        format!("({})", receiver.into_iter().chain(entries).collect::<Vec<_>>().join(", "))
    }
}

/// The group after `signature =`, within an attribute.
fn signature_in(attribute: &Group) -> Option<Group> {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let at = tokens.iter().position(|token| is_word(token, "signature"));
    match at.and_then(|at| group(tokens.get(at + 2)?)) {
        Some(found) => Some(found.clone()),
        None => tokens.iter().filter_map(group).find_map(signature_in),
    }
}

/// The attribute with another signature, and in front of it the one to be shown.
fn replaced(tokens: TokenStream, before: &str, after: &TokenStream, shown: &str) -> TokenStream {
    let mut changed = TokenStream::new();
    for token in tokens {
        if is_word(&token, "signature") {
            changed.extend(parsed(shown));
        }
        match group(&token) {
            Some(group) if group.to_string() == before => changed.extend(after.clone()),
            Some(group) => {
                let inner = replaced(group.stream(), before, after, shown);
                changed.extend([regrouped(group, inner)]);
            }
            None => changed.extend([token]),
        }
    }
    changed
}

/// The parts between commas, without those of generic types.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part, mut depth) = (Vec::new(), Vec::new(), 0);
    for token in tokens {
        let shown = token.to_string();
        depth += i32::from(shown == "<") - i32::from(shown == ">");
        if shown == "," && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(token);
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

fn text(tokens: &[TokenTree]) -> String {
    tokens.iter().map(ToString::to_string).collect()
}

fn group(token: &TokenTree) -> Option<&Group> {
    match token {
        TokenTree::Group(group) => Some(group),
        _ => None,
    }
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    group(token).is_some_and(|group| group.delimiter() == delimiter)
}
