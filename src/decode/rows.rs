//! Records over any number of pages, as one sequence.

use std::{ops::Range, sync::Arc};

use super::{ColumnOptions, Columns, Page, json::Members};
use crate::{
    api::Field,
    error::{Error, Result},
};

/// A sequence of records: pieces of pages, with the fields that are declared for them.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pieces: Vec<Piece>,
    /// The index in the whole sequence at which each piece ends.
    ends: Vec<usize>,
    fields: Arc<[&'static Field]>,
    /// The name of the column that stands before the others, where each piece has a key.
    key_name: Option<&'static str>,
}

/// Consecutive records of one page.
#[derive(Debug, Clone)]
pub struct Piece {
    pub page: Arc<Page>,
    pub range: Range<usize>,
    pub key: Option<Arc<str>>,
}

/// One record: its place, and the key of its piece.
#[derive(Debug, Clone, Copy)]
pub struct RowAt<'a> {
    pub page: &'a Page,
    pub index: usize,
    pub key: Option<&'a str>,
}

impl Rows {
    pub fn new(pieces: Vec<Piece>, fields: Arc<[&'static Field]>) -> Self {
        let mut end = 0;
        let ends = pieces
            .iter()
            .map(|piece| {
                end += piece.range.len();
                end
            })
            .collect();
        Rows { pieces, ends, fields, key_name: None }
    }

    #[must_use]
    pub fn with_key(mut self, name: &'static str) -> Self {
        self.key_name = Some(name);
        self
    }

    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn fields(&self) -> &[&'static Field] {
        &self.fields
    }

    pub fn key_name(&self) -> Option<&'static str> {
        self.key_name
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn get(&self, index: usize) -> Option<RowAt<'_>> {
        let at = self.ends.partition_point(|end| *end <= index);
        let piece = self.pieces.get(at)?;
        let before = self.ends.get(at)?.checked_sub(piece.range.len())?;
        let index = piece.range.start + (index - before);
        Some(RowAt { page: &piece.page, index, key: piece.key.as_deref() })
    }

    /// The records from `start` up to `end`, sharing the pages.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Rows {
        let mut pieces = Vec::new();
        let mut offset = 0;
        for piece in &self.pieces {
            let (from, to) = (start.max(offset), end.min(offset + piece.range.len()));
            if from < to {
                let base = piece.range.start;
                let range = base + (from - offset)..base + (to - offset);
                pieces.push(Piece { range, ..piece.clone() });
            }
            offset += piece.range.len();
        }
        if pieces.is_empty() {
            // What stood beside the list stays.
            let last = self.pieces.last();
            pieces.extend(last.map(|piece| Piece { range: 0..0, ..piece.clone() }));
        }
        self.with_pieces(pieces)
    }

    /// Other pieces with the same fields.
    #[must_use]
    pub fn with_pieces(&self, pieces: Vec<Piece>) -> Rows {
        Rows { key_name: self.key_name, ..Rows::new(pieces, self.fields.clone()) }
    }

    pub fn iter(&self) -> impl Iterator<Item = RowAt<'_>> {
        self.pieces.iter().flat_map(|piece| {
            piece.range.clone().map(move |index| RowAt {
                page: &piece.page,
                index,
                key: piece.key.as_deref(),
            })
        })
    }

    /// Typed columns of the declared schema.
    pub fn columns(&self, options: ColumnOptions) -> Result<Columns> {
        let mut columns = Columns::new(self.fields.iter().copied(), self.key_name, options);
        for piece in &self.pieces {
            columns.push_piece(piece)?;
        }
        Ok(columns)
    }
}

impl<'a> RowAt<'a> {
    pub fn members(&self) -> Result<Members<'a>> {
        self.page.row(self.index)
    }

    pub fn broken(&self, error: &serde_json::Error) -> Error {
        self.page.broken(self.index, error)
    }
}
