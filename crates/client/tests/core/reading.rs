//! A caller of a list: the position is its own.

use std::sync::Arc;

use boardlot_client::extension::{
    decode::PageSlice,
    error::Result,
    pages::{Limits, PagePosition, Pages},
};

pub struct Reader {
    pub pages: Pages,
    pub place: PagePosition,
}

impl From<Pages> for Reader {
    fn from(pages: Pages) -> Self {
        Reader { pages, place: PagePosition::default() }
    }
}

impl Reader {
    /// The next record; none at the end of the list.
    pub async fn next_row(&mut self) -> Result<Option<PageSlice>> {
        loop {
            if let Some(page) = self.place.page.as_ref().filter(|page| self.place.row < page.len())
            {
                let mut slice = page.rest(self.place.row);
                slice.range.end = slice.range.start + 1;
                self.place.row += 1;
                return Ok(Some(slice));
            }
            if !self.advance().await? {
                return Ok(None);
            }
        }
    }

    /// The remaining records of a page; none at the end of the list.
    pub async fn next_page(&mut self) -> Result<Option<PageSlice>> {
        let is_read = self.place.page.as_ref().is_none_or(|page| self.place.row >= page.len());
        if is_read && !self.advance().await? {
            return Ok(None);
        }
        let rest = self.place.page.as_ref().map(|page| page.rest(self.place.row));
        self.place.row = rest.as_ref().map_or(0, |slice| slice.range.end);
        Ok(rest)
    }

    /// Goes on to the next page; false at the end of the list.
    pub async fn advance(&mut self) -> Result<bool> {
        let next = self.pages.after(self.place.page.as_deref()).await?;
        let is_there = next.is_some();
        if let Some(page) = next {
            self.place = PagePosition { row: page.first(), page: Some(page) };
        }
        Ok(is_there)
    }

    /// The records that follow, up to the limits.
    pub async fn all(
        &mut self,
        items: Option<usize>,
        pages: Option<usize>,
    ) -> Result<Vec<PageSlice>> {
        let (limits, count) = (Limits { items, pages }, Arc::default());
        let (slices, place) = self.pages.collect(&self.place, limits, &count, Vec::new).await?;
        self.place = place;
        Ok(slices.concat())
    }

    pub fn checkpoint(&self) -> String {
        self.pages.checkpoint(&self.place).expect("a checkpoint")
    }
}
