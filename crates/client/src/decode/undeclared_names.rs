//! Selected fields that no schema declares.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    records::{Page, PageSlice},
    rows::Rows,
};
use crate::{api::Field, error::Result};

/// Names of selected fields that are not declared. The first page with records tells if the records
/// have them.
#[derive(Debug)]
pub struct UndeclaredNames {
    names: Vec<String>,
    declared: Arc<[Field]>,
    are_found: AtomicBool,
}

impl UndeclaredNames {
    /// Returns the undeclared ones of these names, if there are any.
    pub fn of(names: &[String], declared: &Arc<[Field]>) -> Option<Arc<Self>> {
        let is_declared = |name: &String| declared.iter().any(|field| field.name == name.as_str());
        let names: Vec<String> = names.iter().filter(|name| !is_declared(name)).cloned().collect();
        let are_found = AtomicBool::new(false);
        (!names.is_empty())
            .then(|| Arc::new(UndeclaredNames { names, declared: declared.clone(), are_found }))
    }

    /// Checks that the records of the first page that has some have all of these fields.
    pub fn check(&self, page: &Arc<Page>) -> Result<()> {
        if page.is_empty() || self.are_found.load(Ordering::Relaxed) {
            return Ok(());
        }
        let whole = PageSlice { range: 0..page.len(), page: page.clone(), key: None };
        Rows::new(vec![whole], self.declared.clone()).select(self.names.clone(), false).map_err(
            |error| {
                let advice = "Select fields that the records have; the iteration can be resumed from \
                              the checkpoint.";
                error.with_advice(advice)
            },
        )?;
        self.are_found.store(true, Ordering::Relaxed);
        Ok(())
    }
}
