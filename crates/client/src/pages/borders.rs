//! Checks the records near the borders of windows: a record that one window drops must be among the
//! records of the window that owns it.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    PagedCall,
    window::{REACH, Window, not_in_windows, time_of},
};
use crate::{decode::Page, error::Result};

/// The windows of a list that are read, with the number of each window's call.
#[derive(Debug, Default)]
pub struct Borders {
    windows: Vec<(usize, Window)>,
    read: Mutex<Vec<Read>>,
}

/// The records of a window so far: digests of those near its borders.
#[derive(Debug, Clone, Default)]
struct Read {
    own: HashSet<String>,
    /// Records of other windows that this window dropped, by the index of their window.
    dropped: HashSet<(usize, String)>,
    /// True once all pages of the window were read, from the first one on.
    is_complete: bool,
}

impl Borders {
    pub fn of(windows: Vec<(usize, Window)>) -> Self {
        let read = Mutex::new(vec![Read::default(); windows.len()]);
        Borders { windows, read }
    }

    /// Removes the records of a page that belong to another window.
    ///
    /// # Errors
    ///
    /// A record has no time, or belongs to no window that could have been requested with this one:
    /// the service does not respect the range.
    pub fn retain_own(
        &self,
        index: usize,
        page: &mut Page,
        call: &PagedCall,
        time_field: &str,
    ) -> Result<()> {
        let Some((number, window)) = self.windows.get(index) else { return Ok(()) };
        let (mut kept, mut own, mut dropped) =
            (Vec::with_capacity(page.len()), Vec::new(), Vec::new());
        for record in 0..page.len() {
            let micros = time_of(page, record, time_field)?;
            let is_own = window.owns(micros);
            kept.push(is_own);
            if is_own {
                if window.is_near_border(micros) {
                    own.push(call.digest(page, record));
                }
                continue;
            }
            let (from, until) =
                (window.first.saturating_sub(REACH), window.last.saturating_add(REACH));
            if !(from..=until).contains(&micros) {
                let text = format!(
                    "{time_field} of record {record} is not within the requested time range"
                );
                return Err(not_in_windows(&text, page));
            }
            let is_owner =
                |(other, candidate): &(usize, Window)| other == number && candidate.owns(micros);
            let owner = self.windows.iter().position(is_owner);
            dropped.extend(owner.map(|owner| (owner, call.digest(page, record))));
        }
        if kept.contains(&false) {
            page.retain(&kept);
        }
        if let Some(read) = self.lock().get_mut(index) {
            read.own.extend(own);
            read.dropped.extend(dropped);
        }
        Ok(())
    }

    /// Notes that a window was read from its first page to its last page, `last`.
    ///
    /// # Errors
    ///
    /// A record that one window dropped is not among those of the window that it belongs to.
    pub fn complete(&self, index: usize, last: &Page) -> Result<()> {
        let mut read = self.lock();
        if let Some(read) = read.get_mut(index) {
            read.is_complete = true;
        }
        let of_complete = |(owner, digest): &&(usize, String)| {
            read.get(*owner).is_some_and(|owner| owner.is_complete && !owner.own.contains(digest))
        };
        match read.iter().flat_map(|read| &read.dropped).find(of_complete) {
            None => Ok(()),
            Some(_) => {
                let text =
                    "a record at the border of two windows was returned for one of them only";
                Err(not_in_windows(text, last))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
