//! A page found in one pass over the answer, by hand.
//!
//! The general path (`Page::find`) splits the answer level by level through serde: several passes
//! and an allocation for each row. This one checks every byte once and writes down where the
//! records stand. It takes nothing that the general path would refuse, and finds the same; whatever
//! is out of the ordinary (names doubled on the way to the list, lone surrogates, anything broken)
//! it leaves to that path, which also words the errors.

use std::{borrow::Cow, ops::Range};

use bytes::Bytes;

use super::{
    grid::{Grid, GridBuilder},
    json_reader::JsonReader,
    page::{MemberRanges, Page, PageMetadata, RowsAt},
};

/// More members than this beside a list are left to the general path: each is compared with all.
const MOST_MEMBERS: usize = 64;
/// Room for more records than this is made when they come.
const MOST_EXPECTED: usize = 1024;

/// An answer's bytes, known to be UTF-8.
#[derive(Debug, Clone)]
pub struct Utf8(Bytes);

impl Utf8 {
    pub fn new(bytes: &Bytes) -> Option<Self> {
        simdutf8::basic::from_utf8(bytes).ok().map(|_| Utf8(bytes.clone()))
    }

    #[expect(unsafe_code, reason = "records are cut from the text again and again")]
    pub fn as_str(&self) -> &str {
        // SAFETY: `new` is the only way to make one and has checked these bytes, and the bytes
        // behind a `Bytes` never change.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }

    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

/// The page in an answer whose members at the top pass `accepted`.
pub fn scan(
    body: &Bytes,
    at: &RowsAt,
    accepted: impl for<'t> Fn(&dyn Fn(&str) -> Option<&'t str>) -> bool,
) -> Option<Page> {
    let body = Utf8::new(body)?;
    let text = body.as_str();
    let mut scan = Scan { reader: JsonReader::new(text, 0), pagination: None };
    let goal = match at {
        RowsAt::Path(path) => Goal::Path(path),
        RowsAt::OnlyListOf(name) => Goal::OnlyListOf(name),
    };
    let mut top = scan.level(goal, 0)?;
    if scan.reader.peek().is_some() {
        return None;
    }
    let found = top.found.take()?;
    let value = |name: &str| {
        let (_, span) = top.members.iter().find(|(key, _)| key == name)?;
        text.get(span.clone())
    };
    if !accepted(&value) {
        return None;
    }
    let beside = match found.beside {
        Some(beside) => beside,
        None => top.members.iter().filter(|(_, span)| *span != found.list).cloned().collect(),
    };
    let pagination = top
        .members
        .into_iter()
        .find(|(key, _)| key == "pagination")
        .map(|(_, span)| (span, scan.pagination.unwrap_or_default()));
    let beside = PageMetadata {
        members: owned(beside),
        pagination: pagination.map(|(span, members)| (span, owned(members))),
    };
    Some(Page::new(body.clone(), found.rows, found.grid, beside))
}

type Member<'a> = (Cow<'a, str>, Range<usize>);

fn owned(members: Vec<Member<'_>>) -> MemberRanges {
    members.into_iter().map(|(name, span)| (name.into_owned(), span)).collect()
}

/// A key of the record before, as it is written there.
#[derive(Clone, Copy, Default)]
struct Written<'a> {
    /// With its colon.
    key: &'a str,
    /// With the comma before it too; nothing where that stands elsewhere.
    with_comma: &'a str,
}

struct Scan<'a> {
    reader: JsonReader<'a>,
    /// The members of the `pagination` object at the top.
    pagination: Option<Vec<Member<'a>>>,
}

/// What is looked for in an object.
#[derive(Clone, Copy)]
enum Goal<'p> {
    Path(&'p [String]),
    OnlyListOf(&'p str),
    /// The one list among the members.
    OnlyList,
    Nothing,
}

/// The members of an object, and the records where they are in it.
struct Level<'a> {
    members: Vec<Member<'a>>,
    found: Option<Found<'a>>,
}

struct Found<'a> {
    rows: Vec<Range<usize>>,
    grid: Option<Grid>,
    list: Range<usize>,
    /// What stands beside the list; none where that is the level that found it.
    beside: Option<Vec<Member<'a>>>,
}

impl<'a> Scan<'a> {
    /// An object that `depth` brackets stand around.
    fn level(&mut self, goal: Goal<'_>, depth: usize) -> Option<Level<'a>> {
        let mut level = Level { members: Vec::with_capacity(8), found: None };
        let mut more = self.reader.begin_container(b'{', b'}')?;
        while more {
            let name = self.reader.key()?.name.string()?;
            let first = self.reader.peek()?;
            let start = self.reader.at();
            let found = self.member(goal, &name, first, depth + 1)?;
            let span = start..self.reader.at();
            if let Some(found) = found {
                // A second list where there has to be one.
                if level.found.replace(found).is_some() {
                    return None;
                }
            }
            let doubled = level.members.iter().any(|(other, _)| *other == name);
            if doubled || level.members.len() == MOST_MEMBERS {
                return None;
            }
            level.members.push((name, span));
            more = self.reader.more(b'}')?;
        }
        Some(level)
    }

    /// The value of a member: the records where it leads to them.
    fn member(
        &mut self,
        goal: Goal<'_>,
        name: &str,
        first: u8,
        depth: usize,
    ) -> Option<Option<Found<'a>>> {
        match (goal, first) {
            (Goal::Path([last]), b'[') if last == name => self.list(depth).map(Some),
            (Goal::Path([next, rest @ ..]), b'{') if next == name && !rest.is_empty() => {
                self.below(Goal::Path(rest), depth).map(Some)
            }
            (Goal::Path([next, ..]), _) if next == name => None,
            (Goal::OnlyListOf(wanted), b'{') if wanted == name => {
                self.below(Goal::OnlyList, depth).map(Some)
            }
            (Goal::OnlyListOf(wanted), b'[') if wanted == name => {
                let found = self.list(depth)?;
                Some(Some(Found { beside: Some(Vec::new()), ..found }))
            }
            (Goal::OnlyList, b'[') => self.list(depth).map(Some),
            (Goal::Path(_) | Goal::OnlyListOf(_), b'{') if depth == 1 && name == "pagination" => {
                self.pagination = Some(self.level(Goal::Nothing, depth)?.members);
                Some(None)
            }
            _ => self.reader.value(depth).map(|_| None),
        }
    }

    /// The records in a member that is an object itself.
    fn below(&mut self, goal: Goal<'_>, depth: usize) -> Option<Found<'a>> {
        let level = self.level(goal, depth)?;
        let found = level.found?;
        let beside = found.beside.unwrap_or_else(|| {
            level.members.into_iter().filter(|(_, span)| *span != found.list).collect()
        });
        Some(Found { beside: Some(beside), ..found })
    }

    /// A list of objects.
    fn list(&mut self, depth: usize) -> Option<Found<'a>> {
        let start = self.reader.at();
        let mut rows = Vec::new();
        let mut keys = Vec::with_capacity(16);
        let mut grid = GridBuilder::new(self.reader.text().len());
        let mut more = self.reader.begin_container(b'[', b']')?;
        while more {
            let start = self.reader.at();
            let members = self.row(&mut keys, &mut grid, rows.is_empty(), depth + 1)?;
            let row = start..self.reader.at();
            grid.end(&row, members);
            if rows.is_empty() {
                // As many as this as fill the answer; a small one tells nothing of the others.
                let like_this = (self.reader.text().len() - start) / row.len().max(1);
                rows.reserve(like_this.min(MOST_EXPECTED));
                grid.reserve(like_this.min(MOST_EXPECTED));
            }
            rows.push(row);
            more = self.reader.more(b']')?;
        }
        let grid = grid.finish(self.reader.text());
        Some(Found { rows, grid, list: start..self.reader.at(), beside: None })
    }

    /// A record. Its keys are nearly always those of the record before: so each is first compared
    /// with the bytes of the key at this place there, together with the comma before it. Gives how
    /// many there are.
    #[inline(always)]
    fn row(
        &mut self,
        keys: &mut Vec<Written<'a>>,
        grid: &mut GridBuilder,
        first: bool,
        depth: usize,
    ) -> Option<usize> {
        let mut more = self.reader.begin_container(b'{', b'}')?;
        let mut place = 0;
        let mut stepped = false;
        while more {
            let known = keys.get(place).copied().unwrap_or_default();
            if !stepped && !self.reader.predicted(known.key.as_bytes()) {
                let start = self.reader.at();
                let key = self.reader.key()?;
                grid.other_key(first, start, &key);
                let before = self.reader.text().get(start.saturating_sub(1)..self.reader.at());
                let with_comma = before.filter(|text| text.starts_with(',')).unwrap_or_default();
                let written = Written { key: key.token, with_comma };
                match keys.get_mut(place) {
                    Some(known) => *known = written,
                    None => keys.push(written),
                }
            }
            place += 1;
            grid.value(self.reader.value(depth + 1)?);
            let next = keys.get(place).copied().unwrap_or_default();
            stepped = self.reader.predicted(next.with_comma.as_bytes());
            more = stepped || self.reader.more(b'}')?;
        }
        Some(place)
    }
}
