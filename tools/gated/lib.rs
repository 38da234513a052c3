//! `#[gated]`: each function enters the gate to the interpreter before anything else.
//!
//! Python calls the functions of `#[pymethods]` and `#[pyfunction]` on any thread, and it stops a thread
//! wherever it is when the program exits. So each of them has to be counted at the gate of
//! `src/py/interpreter/shutdown_gate.rs`; written by hand, it would be forgotten.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Put before `#[pymethods]` or `#[pyfunction]`.
#[proc_macro_attribute]
pub fn gated(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let is_function = functions(item.clone()).next().is_some();
    if is_function { with_gates(item) } else { with_inner_gates(item) }
}

/// The functions at this level, without what is in braces.
fn functions(tokens: TokenStream) -> impl Iterator<Item = TokenTree> {
    tokens.into_iter().filter(|token| is_word(token, "fn"))
}

/// An `impl` block: its functions are in the braces at its end.
fn with_inner_gates(item: TokenStream) -> TokenStream {
    item.into_iter()
        .map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                regrouped(&group, with_gates(group.stream()))
            }
            token => token,
        })
        .collect()
}

/// Each body of a function at this level, which is the first group in braces after `fn`.
fn with_gates(tokens: TokenStream) -> TokenStream {
    // The name of the function whose body comes next.
    let mut name: Option<String> = None;
    let mut after_fn = false;
    tokens
        .into_iter()
        .map(|token| {
            if after_fn {
                name = Some(token.to_string());
            }
            after_fn = is_word(&token, "fn") && name.is_none();
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    match name.take().as_deref() {
                        // The garbage collector calls it, and it may not call Python.
                        None | Some("__traverse__") => TokenTree::Group(group),
                        Some(_) => {
                            let mut body = enter();
                            body.extend(group.stream());
                            regrouped(&group, body)
                        }
                    }
                }
                token => token,
            }
        })
        .collect()
}

fn enter() -> TokenStream {
    "let _entered = crate::py::interpreter::shutdown_gate::enter();".parse().unwrap_or_default()
}

fn regrouped(group: &Group, tokens: TokenStream) -> TokenTree {
    let mut changed = Group::new(Delimiter::Brace, tokens);
    changed.set_span(group.span());
    TokenTree::Group(changed)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name.to_string() == word)
}
