//! The fields to which records are restricted.

use std::sync::Arc;

use crate::error::{Advice, Error, Result, did_you_mean};

/// The names of the fields to which records are restricted, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Arc<[String]>);

impl Selection {
    /// Selects these names from the known fields. Without known fields, the records may have any
    /// field.
    pub fn new<'a, N>(names: Vec<String>, known: N) -> Result<Self>
    where
        N: IntoIterator<Item = &'a str> + Clone,
    {
        Self::checked(names, known, |error| error)
    }

    /// Selects these names while no record has been seen: only the declared fields are known, but
    /// there may be others.
    pub fn of_declared<'a, N>(names: Vec<String>, declared: N) -> Result<Self>
    where
        N: IntoIterator<Item = &'a str> + Clone,
    {
        Self::checked(names, declared, |error| error.with_advice(Advice::UndeclaredField))
    }

    fn checked<'a, N>(names: Vec<String>, known: N, advise: impl Fn(Error) -> Error) -> Result<Self>
    where
        N: IntoIterator<Item = &'a str> + Clone,
    {
        if names.is_empty() {
            return Err(Error::argument("names", "empty", "the name of at least one field"));
        }
        for (index, name) in names.iter().enumerate() {
            if names.iter().take(index).any(|other| other == name) {
                let text =
                    format!("field '{}' is selected twice; expected each field once", shown(name));
                return Err(Error::config(text));
            }
            let mut names = known.clone().into_iter().peekable();
            if names.peek().is_some() && !names.any(|known| known == name) {
                return Err(advise(unknown_field(name, known)));
            }
        }
        Ok(Selection(names.into()))
    }

    /// Returns the names in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(String::as_str)
    }

    /// Returns true if a field is selected.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Returns the index of a field among the selected ones.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|selected| selected == name)
    }
}

/// Returns the error for a name that is not a known field.
fn unknown_field<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Error {
    let list: Vec<String> = known.clone().into_iter().map(shown).collect();
    let name = shown(name);
    let nearest = did_you_mean(&name, known);
    let list = list.join(", ");
    Error::config(format!(
        "'{name}' is not a field of these records; expected one of {list}{nearest}"
    ))
}

/// Shows a name in one line, however long it is.
fn shown(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(names: &[&str], known: &[&str]) -> std::result::Result<Selection, String> {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Selection::new(names, known.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_selected_in_the_given_order() {
        let selection = select(&["price", "code"], &["code", "qty", "price"]).expect("valid");
        assert_eq!(selection.names().collect::<Vec<_>>(), ["price", "code"]);
        assert_eq!(selection.position("code"), Some(1));
        assert!(!selection.contains("qty"));
        assert!(select(&["anything"], &[]).is_ok());
    }

    #[test]
    fn names_that_are_unknown_duplicate_or_absent_are_rejected() {
        let known = ["code", "qty", "price"];
        assert_eq!(
            select(&["prise"], &known).expect_err("unknown"),
            "'prise' is not a field of these records; expected one of code, qty, price; did you mean \
             'price'?"
        );
        let error = select(&["a\nb"], &known).expect_err("unknown");
        assert!(error.starts_with(r"'a\nb' is not a field"), "{error}");
        assert!(select(&["code", "code"], &known).expect_err("twice").contains("selected twice"));
        assert!(select(&[], &known).expect_err("none").contains("at least one field"));
    }
}
