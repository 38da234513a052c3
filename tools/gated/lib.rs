//! `#[gated]`: functions that Python calls, as by PyO3's `#[pymethods]` and `#[pyfunction]`. Each survives the
//! end of its thread, raises no `StopIteration` of the caller's code, and says what to write if it is called with
//! wrong arguments.
//!
//! Python calls the functions of `#[pymethods]` and `#[pyfunction]` on any thread, and it stops a thread
//! wherever it is when the program exits: see `src/interpreter/thread_end.rs`. And each may run code of the
//! caller's, such as an `__eq__`: see `src/interpreter/callback.rs`. Written by hand, both would be forgotten.

mod arguments;

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// They end an iteration or an `await` by such an exception, or raise one that they are given.
const RAISE_STOP_ITERATION: [&str; 3] = ["__next__", "send", "throw"];

/// Arguments that are read by methods of the caller's object, such as `__index__`, before the function begins.
const READ_BY_METHODS: [&str; 9] =
    ["f64", "i64", "i128", "isize", "u16", "u64", "usize", "PathBuf", "Vec"];

/// Put before an `impl` block or a function, in place of `#[pymethods]` or `#[pyfunction]`. In a block,
/// `getter!(name: Type = expression);` is a property of `self`.
#[proc_macro_attribute]
pub fn gated(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let is_function = functions(item.clone()).next().is_some();
    let (attribute, item) = match is_function {
        true => ("#[pyo3::pyfunction]", with_gates(arguments::with_others(item, ""))),
        false => ("#[pyo3::pymethods]", with_inner_gates(item)),
    };
    [parsed(attribute), item].into_iter().collect()
}

/// The functions at this level, without what is in braces.
fn functions(tokens: TokenStream) -> impl Iterator<Item = TokenTree> {
    tokens.into_iter().filter(|token| is_word(token, "fn"))
}

/// An `impl` block: its functions are in the braces at its end.
fn with_inner_gates(item: TokenStream) -> TokenStream {
    let mut class = String::new();
    item.into_iter()
        .map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let functions = arguments::with_others(with_getters(group.stream()), &class);
                regrouped(&group, with_gates(functions))
            }
            token => {
                class = token.to_string();
                token
            }
        })
        .collect()
}

/// Each `getter!(name: Type = expression);` as the function that it stands for.
fn with_getters(tokens: TokenStream) -> TokenStream {
    let (mut written, mut tokens) = (TokenStream::new(), tokens.into_iter());
    while let Some(token) = tokens.next() {
        if !is_word(&token, "getter") {
            written.extend([token]);
            continue;
        }
        // The exclamation mark, what is in parentheses, and the semicolon.
        let mut call = tokens.by_ref().take(3);
        let Some(TokenTree::Group(property)) = call.nth(1) else { continue };
        call.for_each(drop);
        let mut parts = property.stream().into_iter();
        let name = parts.by_ref().take_while(|token| token.to_string() != ":");
        let name: TokenStream = name.collect();
        let class = parts.by_ref().take_while(|token| token.to_string() != "=").collect();
        let (class, body): (TokenStream, TokenStream) = (class, parts.collect());
        written.extend([parsed("#[getter] fn"), name, parsed("(&self) ->"), class]);
        written.extend([TokenTree::Group(Group::new(Delimiter::Brace, body))]);
    }
    written
}

/// Each function at this level: after `fn` and its name, the first group in parentheses has its arguments, and
/// the first in braces is its body.
fn with_gates(tokens: TokenStream) -> TokenStream {
    // The function whose body comes next.
    let mut function: Option<Function> = None;
    let mut after_fn = false;
    tokens
        .into_iter()
        .map(|token| {
            if after_fn {
                function = Some(Function { name: token.to_string(), ..Function::default() });
            }
            after_fn = is_word(&token, "fn") && function.is_none();
            match (token, &mut function) {
                (TokenTree::Group(body), Some(gated)) if body.delimiter() == Delimiter::Brace => {
                    let body = gated.with_gate(&body);
                    function = None;
                    body
                }
                (TokenTree::Group(arguments), Some(gated))
                    if arguments.delimiter() == Delimiter::Parenthesis && !gated.has_arguments =>
                {
                    gated.has_arguments = true;
                    regrouped(&arguments, with_checks(arguments.stream()))
                }
                (token, Some(gated)) if gated.has_arguments => {
                    gated.result.push(token.clone());
                    token
                }
                (token, _) => token,
            }
        })
        .collect()
}

/// A function whose body has not come yet.
#[derive(Default)]
struct Function {
    name: String,
    has_arguments: bool,
    /// The tokens from `->` to the body.
    result: Vec<TokenTree>,
}

impl Function {
    fn with_gate(&self, body: &Group) -> TokenTree {
        let name = self.name.as_str();
        // The garbage collector calls it, and it may not call Python.
        if name == "__traverse__" {
            return TokenTree::Group(body.clone());
        }
        let mut gated = parsed("crate::interpreter::thread_end::register();");
        let can_raise = self.result.iter().any(|token| is_word(token, "PyResult"));
        if can_raise && !RAISE_STOP_ITERATION.contains(&name) {
            let mut closure = parsed("||");
            closure.extend(self.result.iter().cloned());
            closure.extend([TokenTree::Group(body.clone())]);
            gated.extend(parsed("crate::interpreter::callback::entry"));
            gated.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, closure))]);
        } else {
            gated.extend(body.stream());
        }
        regrouped(body, gated)
    }
}

/// The arguments, where those that methods of the caller's read are read by one function.
fn with_checks(arguments: TokenStream) -> TokenStream {
    let (mut checked, mut argument, mut depth) = (TokenStream::new(), Vec::new(), 0);
    for token in arguments {
        let text = token.to_string();
        depth += i32::from(text == "<") - i32::from(text == ">");
        argument.push(token);
        if text == "," && depth == 0 {
            checked.extend(with_check(std::mem::take(&mut argument)));
        }
    }
    checked.extend(with_check(argument));
    checked
}

fn with_check(argument: Vec<TokenTree>) -> TokenStream {
    let is_read_by_method =
        argument.iter().any(|token| READ_BY_METHODS.iter().any(|word| is_word(token, word)));
    // One with an attribute has a function of its own, which calls into Python in the usual way.
    let has_attribute = argument.iter().any(|token| token.to_string() == "#");
    let mut checked = TokenStream::new();
    if is_read_by_method && !has_attribute {
        checked.extend(parsed("#[pyo3(from_py_with = crate::interpreter::callback::argument)]"));
    }
    checked.extend(argument);
    checked
}

fn parsed(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}

fn regrouped(group: &Group, tokens: TokenStream) -> TokenTree {
    let mut changed = Group::new(group.delimiter(), tokens);
    changed.set_span(group.span());
    TokenTree::Group(changed)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name.to_string() == word)
}
