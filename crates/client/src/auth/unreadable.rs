//! What is wrong with the contents of an argument: of a key, or of certificates.

use crate::error::{Advice, Error};

/// A problem with contents, without the argument or the file that had them.
#[derive(Debug)]
pub struct Unreadable {
    what: String,
    advice: Option<Advice>,
}

impl Unreadable {
    /// Returns the error for an argument, with the file that the contents came from, if any.
    pub fn of(self, argument: &str, file: Option<&str>) -> Error {
        let what = self.what;
        let error = Error::config(match file {
            Some(file) => format!("{argument} {file} {what}"),
            None => format!("{argument} {what}"),
        });
        match self.advice {
            Some(advice) => error.with_advice(advice),
            None => error,
        }
    }

    /// Adds this advice unless there is some.
    pub fn or_advice(mut self, advice: Advice) -> Self {
        self.advice.get_or_insert(advice);
        self
    }
}

impl From<String> for Unreadable {
    fn from(what: String) -> Self {
        Unreadable { what, advice: None }
    }
}

impl From<&str> for Unreadable {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}
