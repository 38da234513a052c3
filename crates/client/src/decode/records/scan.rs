//! The fast path: finds the records of a response in one pass over its text.
//!
//! Every byte is checked once, and the positions of records and values are stored. The scan accepts
//! nothing that the slow path would reject, and finds the same records. Anything unusual (duplicate
//! names in the first record, a list that is null, invalid JSON) is left to the slow path, which
//! also produces the error messages.

use std::{borrow::Cow, ops::Range};

use bytes::Bytes;

use super::{
    grid::Grid,
    known_layout::GridReader,
    page::{MemberRanges, Page, PageMetadata},
    utf8::Utf8Bytes,
};
use crate::{
    api::RecordsLocation,
    decode::{json::JsonReader, rules},
};

/// Maximum number of members next to a list, since each is compared with all others. Responses with
/// more are left to the slow path.
const MAX_MEMBERS: usize = 64;
/// Maximum number of records for which memory is reserved in advance.
const MAX_RESERVED: usize = 1024;

/// Finds the page in a response whose top-level members pass `is_success`.
pub(in crate::decode) fn scan(
    body: &Bytes,
    at: &RecordsLocation,
    is_success: impl for<'t> Fn(&dyn Fn(&str) -> Option<&'t str>) -> bool,
) -> Option<Page> {
    let body = Utf8Bytes::new(body).ok()?;
    let text = body.as_str();
    let mut scanner = Scanner { reader: JsonReader::new(text, 0), pagination: None };
    let target = match at {
        RecordsLocation::At(path) => Target::Path(path),
        RecordsLocation::OnlyListOf(name) => Target::OnlyListOf(name),
        RecordsLocation::OnlyList => return None,
    };
    let mut top = scanner.object(target, 0)?;
    if scanner.reader.peek().is_some() {
        return None;
    }
    let list = top.list.take()?;
    let value = |name: &str| {
        let (_, range) = top.members.iter().find(|(key, _)| key == name)?;
        text.get(range.clone())
    };
    if !is_success(&value) {
        return None;
    }
    let says_more = list.says_more.or_else(|| says_more(text, &top.members));
    let siblings = match list.siblings {
        Some(siblings) => siblings,
        None => top.members.iter().filter(|(_, range)| *range != list.range).cloned().collect(),
    };
    let pagination = top
        .members
        .into_iter()
        .find(|(key, _)| key == "pagination")
        .map(|(_, range)| (range, to_owned(scanner.pagination.unwrap_or_default())));
    let metadata = PageMetadata { siblings: to_owned(siblings), pagination, says_more };
    Some(Page::new(body.clone(), list.rows, list.grid, metadata))
}

type Member<'a> = (Cow<'a, str>, Range<usize>);

fn to_owned(members: Vec<Member<'_>>) -> MemberRanges {
    members.into_iter().map(|(name, range)| (name.into_owned(), range)).collect()
}

fn says_more(text: &str, members: &[Member<'_>]) -> Option<&'static str> {
    let value = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    rules::says_more(members.iter().map(|(name, range)| (&**name, value(range))))
}

struct Scanner<'a> {
    reader: JsonReader<'a>,
    /// The members of the top-level `pagination` object.
    pagination: Option<Vec<Member<'a>>>,
}

/// The member to look for in an object.
#[derive(Clone, Copy)]
enum Target<'p> {
    /// The list at this path of members, separated by dots.
    Path(&'p str),
    OnlyListOf(&'p str),
    /// The only list among the members.
    OnlyList,
    Nothing,
}

/// The members of an object, and the list of records if it was found in the object.
struct Object<'a> {
    members: Vec<Member<'a>>,
    list: Option<List<'a>>,
}

struct List<'a> {
    rows: Vec<Range<usize>>,
    grid: Option<Grid>,
    range: Range<usize>,
    /// The other members of the object that has the list; not set until the object is complete.
    siblings: Option<Vec<Member<'a>>>,
    /// The member that says that there are more records, in any object that contains the list
    /// except the top level.
    says_more: Option<&'static str>,
}

impl<'a> Scanner<'a> {
    /// Reads an object that is nested `depth` levels deep.
    fn object(&mut self, target: Target<'_>, depth: usize) -> Option<Object<'a>> {
        let mut object = Object { members: Vec::with_capacity(8), list: None };
        let mut has_next = self.reader.begin_container(b'{', b'}')?;
        while has_next {
            let name = self.reader.read_key()?.text()?;
            let first = self.reader.peek()?;
            let start = self.reader.position();
            let list = self.member(target, &name, first, depth + 1)?;
            let range = start..self.reader.position();
            if let Some(list) = list
                && object.list.replace(list).is_some()
            {
                // There must be only one list.
                return None;
            }
            let is_duplicate = object.members.iter().any(|(other, _)| *other == name);
            if is_duplicate || object.members.len() == MAX_MEMBERS {
                return None;
            }
            object.members.push((name, range));
            has_next = self.reader.has_next(b'}')?;
        }
        Some(object)
    }

    /// Reads the value of a member; returns the list of records if the target leads there.
    fn member(
        &mut self,
        target: Target<'_>,
        name: &str,
        first: u8,
        depth: usize,
    ) -> Option<Option<List<'a>>> {
        if let Target::Path(path) = target {
            let split = path.split_once('.');
            let (next, rest) = split.map_or((path, None), |(next, rest)| (next, Some(rest)));
            if next == name {
                return match (rest, first) {
                    (None, b'[') => self.list(depth).map(Some),
                    (Some(rest), b'{') => self.nested_list(Target::Path(rest), depth).map(Some),
                    _ => None,
                };
            }
        }
        match (target, first) {
            (Target::OnlyListOf(wanted), b'{') if wanted == name => {
                self.nested_list(Target::OnlyList, depth).map(Some)
            }
            (Target::OnlyListOf(wanted), b'[') if wanted == name => {
                let list = self.list(depth)?;
                Some(Some(List { siblings: Some(Vec::new()), ..list }))
            }
            (Target::OnlyList, b'[') => self.list(depth).map(Some),
            (Target::Path(_) | Target::OnlyListOf(_), b'{')
                if depth == 1 && name == "pagination" =>
            {
                self.pagination = Some(self.object(Target::Nothing, depth)?.members);
                Some(None)
            }
            _ => self.reader.read_value(depth).map(|_| None),
        }
    }

    /// Reads the list of records in a member that is an object.
    fn nested_list(&mut self, target: Target<'_>, depth: usize) -> Option<List<'a>> {
        let object = self.object(target, depth)?;
        let list = object.list?;
        let says_more = list.says_more.or_else(|| says_more(self.reader.text(), &object.members));
        let siblings = list.siblings.unwrap_or_else(|| {
            object.members.into_iter().filter(|(_, range)| *range != list.range).collect()
        });
        Some(List { siblings: Some(siblings), says_more, ..list })
    }

    /// Reads a list of objects, with a grid if all of them have one of a few layouts.
    fn list(&mut self, depth: usize) -> Option<List<'a>> {
        let list_start = self.reader.position();
        let text = self.reader.text();
        let (mut rows, mut grid) = (Vec::new(), None);
        if self.reader.begin_container(b'[', b']')? {
            let mut start = self.reader.position();
            let mut records = GridReader::of_first(&mut self.reader, depth + 2)?;
            rows.push(start..self.reader.position());
            let mut has_next = self.reader.has_next(b']')?;
            // As many records of the size of the first as fit into the text.
            let estimate = (text.len() - start) / rows.first().map_or(1, Range::len);
            rows.reserve(estimate.min(MAX_RESERVED));
            records.reserve(estimate.min(MAX_RESERVED));
            let mut has_grid = true;
            while has_next {
                start = self.reader.position();
                has_grid = has_grid && records.read(&mut self.reader, depth + 2).is_some();
                if !has_grid {
                    self.reader.continue_at(start);
                    (self.reader.peek()? == b'{').then_some(())?;
                    start = self.reader.position();
                    self.reader.read_value(depth + 1)?;
                }
                rows.push(start..self.reader.position());
                has_next = self.reader.has_next(b']')?;
            }
            grid = has_grid.then(|| records.finish());
        }
        let range = list_start..self.reader.position();
        Some(List { rows, grid, range, siblings: None, says_more: None })
    }
}
