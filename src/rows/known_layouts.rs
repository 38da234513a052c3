//! The layouts of the records that were read last, and the search for the layout of a record.

use super::{
    row_layout::{Layout, LayoutError},
    row_spec::RowSpec,
};
use crate::prelude::*;
use crate::values::instances::ItemTuple;
use boardlot_client::extension::decode::{Members, Raw, parse_members, split_members};

/// The number of layouts that are kept: records of some lists alternate between a few.
const MAX_LAYOUTS: usize = 4;
/// Layouts of records with more keys are not kept.
const MAX_KEYS: usize = 128;

/// The layouts that are kept, whose nested objects are made by a `B` each.
pub struct KnownLayouts<B> {
    known: Vec<KnownLayout<B>>,
    /// A page, the index of a layout among those of the page, and its index here.
    page_layout: Option<(u64, usize, usize)>,
    /// The page and the index of the last record, which has that layout: its template has its
    /// values.
    pub last: Option<(u64, usize)>,
}

/// A layout, and the builders and arguments with which the objects of its records are made.
pub struct KnownLayout<B> {
    pub layout: Layout,
    /// The builders of the columns whose values are objects.
    pub inner: Vec<Option<Box<B>>>,
    /// The arguments of a constructor, from its first call on.
    pub items: Option<ItemTuple>,
}

impl<B> KnownLayouts<B> {
    pub fn new() -> Self {
        KnownLayouts { known: Vec::new(), page_layout: None, last: None }
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut KnownLayout<B>> {
        self.known.get_mut(index)
    }

    /// Returns the index of the layout that was found for a page's layout, if the last record had
    /// it.
    #[inline(always)]
    pub fn of_page(&self, page: u64, layout: usize) -> Option<usize> {
        match self.page_layout {
            Some((id, of_page, index)) if (id, of_page) == (page, layout) => Some(index),
            _ => None,
        }
    }

    /// Remembers which layout was found for a page's layout.
    pub fn remember(&mut self, page: u64, layout: usize, index: usize) {
        self.page_layout = Some((page, layout, index));
    }

    /// Splits an object whose values are not known by positions. Returns the values and the index
    /// of the layout.
    pub fn split<'t>(
        &mut self,
        py: Python<'_>,
        spec: &RowSpec,
        key_name: Option<&str>,
        json: &'t str,
    ) -> Result<(usize, Vec<Raw<'t>>), LayoutError> {
        if let Some((names, values)) = split_members(json)
            && let Some(index) = self.known(key_name, names.into_iter())
        {
            return Ok((index, values));
        }
        let members = parse_members(json).map_err(LayoutError::Invalid)?;
        let index = self.find(py, spec, key_name, names_of(&members))?;
        Ok((index, members.iter().map(|(_, value)| Raw::new(value.get())).collect()))
    }

    /// Finds the index of the layout of records with these keys.
    pub fn find<'k>(
        &mut self,
        py: Python<'_>,
        spec: &RowSpec,
        key_name: Option<&str>,
        names: impl ExactSizeIterator<Item = &'k str> + Clone,
    ) -> Result<usize, LayoutError> {
        if let Some(index) = self.known(key_name, names.clone()) {
            return Ok(index);
        }
        let layout = Layout::new(py, spec, key_name, names)?;
        (self.page_layout, self.last) = (None, None);
        self.known.retain(|known| known.layout.width() <= MAX_KEYS);
        if self.known.len() >= MAX_LAYOUTS {
            self.known.remove(0);
        }
        let inner = layout.columns.iter().map(|_| None).collect();
        self.known.push(KnownLayout { layout, inner, items: None });
        Ok(self.known.len() - 1)
    }

    fn known<'k>(
        &self,
        key_name: Option<&str>,
        names: impl ExactSizeIterator<Item = &'k str> + Clone,
    ) -> Option<usize> {
        self.known.iter().position(|known| known.layout.matches(key_name, names.clone()))
    }
}

fn names_of<'a>(members: &'a Members<'_>) -> impl ExactSizeIterator<Item = &'a str> + Clone {
    members.iter().map(|(name, _)| name.as_ref())
}
