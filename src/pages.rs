//! The only pagination loop: `next_key`, `page_flag`, and ranges of dates that move backward.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use jiff::ToSpan;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use crate::{
    api::{Envelope, Field, FirstPage, Place},
    auth::body_hash,
    decode::{Page, Piece, RowsAt, Value, calendar_date, open},
    error::{Error, Result},
    http::{Draft, Sender},
};

/// A list that comes in pages: the request without its cursor, and how to read and go on.
#[derive(Debug)]
pub struct Listing {
    pub draft: Draft,
    pub envelope: Envelope,
    pub rows_at: RowsAt,
    pub fields: Arc<[&'static Field]>,
    pub style: Style,
    /// The time range, where the caller left it open: fixed for the whole iteration.
    pub span: Option<OpenSpan>,
}

/// A time range with an open end or start, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSpan {
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// How long it is, where the document says so.
    pub default_days: i64,
}

impl OpenSpan {
    /// The range as the document says that the service would take it at this moment.
    fn fix(&self, now_micros: i64) -> BTreeMap<String, String> {
        const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;
        let length = self.default_days * MICROS_PER_DAY;
        let (start, end) = match (self.start, self.end) {
            (Some(start), Some(end)) => (start, end),
            (Some(start), None) => (start, start.saturating_add(length)),
            (None, Some(end)) => (end.saturating_sub(length).max(1), end),
            (None, None) => (now_micros.saturating_sub(length), now_micros),
        };
        BTreeMap::from([("start".into(), start.to_string()), ("end".into(), end.to_string())])
    }
}

/// How a list goes on (section 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    NextKey(Place),
    PageFlag(Place, FirstPage),
    DateRange(Place, DateRange),
}

/// Paging backward by moving the end of a range of dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateRange {
    /// The parameter that holds the end of the range.
    pub end: String,
    pub next: NextEnd,
}

/// Where the end of the next, earlier range comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextEnd {
    /// This place of the answer, from its top.
    At(Vec<String>),
    /// The day before the earliest date in this field of the records.
    DayBefore(String),
}

/// An iteration over a list: one page in memory, at most one more under way.
#[derive(Debug)]
pub struct Pages {
    sender: Arc<Sender>,
    listing: Arc<Listing>,
    /// Parameters that stay the same for the whole iteration, and the corrections of the clock
    /// that they were made with.
    fixed: Arc<BTreeMap<String, String>>,
    fixed_with_corrections: u64,
    current: Option<Current>,
    upcoming: Upcoming,
    /// Records of the upcoming page that were handed out before: only after a resume.
    skip: usize,
    ahead: Option<Ahead>,
    /// Digests of the cursors so far: one that comes again would go round for ever.
    seen: HashSet<[u8; 32]>,
    /// Those that did come again: a resume would otherwise walk the same circle once more.
    repeated: Vec<[u8; 32]>,
    requests: Arc<AtomicU64>,
    total: Option<i64>,
    /// Where to go back to if what was gathered does not reach the caller.
    rewind: Option<Checkpoint>,
}

#[derive(Debug)]
struct Current {
    page: Arc<Page>,
    cursor: Option<String>,
    /// How many of its records were handed out.
    read: usize,
    /// Whether it was not yet handed out as a page.
    fresh: bool,
}

#[derive(Debug, Clone)]
enum Upcoming {
    /// The cursor to send; none for the first page.
    At(Option<String>),
    End,
}

#[derive(Debug)]
struct Ahead {
    task: JoinHandle<Result<Page>>,
    /// A forked child has the handle of a task that does not run there.
    process: u32,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.task.abort();
        }
    }
}

/// Where an iteration stands, to the record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    /// The version of this form.
    boardlot: u32,
    call: String,
    /// A digest of the call and its arguments.
    id: String,
    /// The cursor of the page that holds the next record; null for the first page.
    cursor: Option<String>,
    /// How many records of that page were handed out.
    row: usize,
    done: bool,
    fixed: BTreeMap<String, String>,
    /// Digests of cursors that came a second time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repeated: Vec<[u8; 32]>,
}

const CHECKPOINT_VERSION: u32 = 1;

impl Pages {
    /// From the beginning, or from a checkpoint of the same call.
    pub fn new(sender: Arc<Sender>, listing: Listing, resume: Option<&str>) -> Result<Self> {
        let from = match resume {
            Some(text) => {
                Some(resumed(&listing, text).map_err(|error| error.at(&listing.draft.label))?)
            }
            None => None,
        };
        let mut pages = Pages {
            sender,
            listing: Arc::new(listing),
            fixed: Arc::default(),
            fixed_with_corrections: 0,
            current: None,
            upcoming: Upcoming::At(None),
            skip: 0,
            ahead: None,
            seen: HashSet::new(),
            repeated: Vec::new(),
            requests: Arc::default(),
            total: None,
            rewind: None,
        };
        pages.fix_span();
        if let Some(checkpoint) = from {
            pages.go_to(checkpoint);
        }
        Ok(pages)
    }

    fn fix_span(&mut self) {
        let clock = self.sender.clock();
        self.fixed_with_corrections = clock.corrections();
        if let Some(span) = &self.listing.span {
            self.fixed = Arc::new(span.fix(clock.now_ms().saturating_mul(1_000)));
        }
    }

    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// How many pages were asked for: a counter that can be read while a page is under way.
    pub fn requests(&self) -> &Arc<AtomicU64> {
        &self.requests
    }

    pub fn total(&self) -> Option<i64> {
        self.total
    }

    /// Makes sure that an unread record is at hand; false at the end of the list.
    pub async fn fill(&mut self) -> Result<bool> {
        self.rewind_if_broken();
        while self.unread() == 0 {
            if !self.advance(true).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next record of the page in memory.
    pub fn take_row(&mut self) -> Option<(Arc<Page>, usize)> {
        if self.rewind.is_some() {
            return None;
        }
        let current = self.current.as_mut().filter(|current| current.read < current.page.len())?;
        let index = current.read;
        current.read += 1;
        current.fresh = false;
        Some((current.page.clone(), index))
    }

    /// Makes sure that a page, or the rest of one, is at hand; false at the end of the list.
    pub async fn fill_page(&mut self) -> Result<bool> {
        self.rewind_if_broken();
        Ok(self.page_at_hand() || self.advance(true).await?)
    }

    /// What is left of the page in memory.
    pub fn take_page(&mut self) -> Option<Piece> {
        if self.page_at_hand() { self.take_piece(usize::MAX) } else { None }
    }

    /// Everything from here on, up to the limits. Until `keep` says that the caller has it, the
    /// iteration counts as standing where it was before, so that no record is lost; so does the
    /// checkpoint of an error.
    pub async fn gather(
        &mut self,
        max_items: Option<usize>,
        max_pages: Option<usize>,
        progress: &AtomicU64,
    ) -> Result<Vec<Piece>> {
        self.rewind_if_broken();
        let start = self.position();
        self.rewind = Some(start.clone());
        let outcome = self.gather_on(max_items, max_pages, progress).await;
        outcome.map_err(|error| {
            let repeated = self.repeated.clone();
            error.with_checkpoint(Checkpoint { repeated, ..start }.to_json())
        })
    }

    /// The caller has what was gathered: go on after it.
    pub fn keep(&mut self) {
        self.rewind = None;
    }

    async fn gather_on(
        &mut self,
        max_items: Option<usize>,
        max_pages: Option<usize>,
        progress: &AtomicU64,
    ) -> Result<Vec<Piece>> {
        // With a limit, a page ahead may be one that nobody wants.
        let ahead = max_items.is_none() && max_pages.is_none();
        let mut wanted = max_items.unwrap_or(usize::MAX);
        let mut pieces = Vec::new();
        while wanted > 0 && max_pages.is_none_or(|most| pieces.len() < most) {
            if !self.page_at_hand() && !self.advance(ahead).await? {
                break;
            }
            if let Some(piece) = self.take_piece(wanted) {
                wanted -= piece.range.len();
                progress.fetch_add(piece.range.len() as u64, Ordering::Relaxed);
                pieces.push(piece);
            }
        }
        Ok(pieces)
    }

    /// Where the iteration stands, as a small JSON text without secrets.
    pub fn checkpoint(&self) -> String {
        self.rewind.as_ref().map_or_else(|| self.position().to_json(), Checkpoint::to_json)
    }

    fn unread(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.page.len() - current.read)
    }

    fn page_at_hand(&self) -> bool {
        self.unread() > 0 || self.current.as_ref().is_some_and(|current| current.fresh)
    }

    fn take_piece(&mut self, most: usize) -> Option<Piece> {
        let unread = self.unread();
        let current = self.current.as_mut()?;
        let end = current.read + unread.min(most);
        let range = std::mem::replace(&mut current.read, end)..end;
        current.fresh = false;
        Some(Piece { page: current.page.clone(), range, key: None })
    }

    /// Puts the next page into memory; false at the end of the list.
    async fn advance(&mut self, read_ahead: bool) -> Result<bool> {
        let Upcoming::At(cursor) = self.upcoming.clone() else { return Ok(false) };
        self.request_ahead();
        let Some(ahead) = self.ahead.as_mut() else { return Ok(false) };
        let outcome = (&mut ahead.task).await;
        self.ahead = None;
        let page = outcome.unwrap_or_else(|error| Err(Error::given_up(&error)));
        if page.is_ok() && self.range_is_outdated(cursor.as_deref()) {
            self.fix_span();
            return Box::pin(self.advance(read_ahead)).await;
        }
        let step = page.and_then(|page| self.follow(page, cursor.as_deref()));
        let (page, upcoming) = step.map_err(|error| {
            error.at(&self.listing.draft.label).with_checkpoint(self.position().to_json())
        })?;
        let read = std::mem::take(&mut self.skip);
        self.current = Some(Current { page: Arc::new(page), cursor, read, fresh: read == 0 });
        self.upcoming = upcoming;
        if read_ahead {
            self.request_ahead();
        }
        Ok(true)
    }

    /// Asks for the upcoming page, unless that is under way.
    fn request_ahead(&mut self) {
        let Upcoming::At(cursor) = &self.upcoming else { return };
        let process = std::process::id();
        if self.ahead.as_ref().is_some_and(|ahead| ahead.process == process) {
            return;
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (sender, listing) = (self.sender.clone(), self.listing.clone());
        let (fixed, cursor) = (self.fixed.clone(), cursor.clone());
        let task =
            tokio::spawn(async move { fetch(&sender, &listing, &fixed, cursor.as_deref()).await });
        self.ahead = Some(Ahead { task, process });
    }

    /// Whether the first page was asked for with a range by a clock that has since been corrected.
    fn range_is_outdated(&self, cursor: Option<&str>) -> bool {
        let clock = self.sender.clock();
        cursor.is_none()
            && self.skip == 0
            && self.listing.span.is_some_and(|span| span.start.is_none() && span.end.is_none())
            && clock.corrections() != self.fixed_with_corrections
    }

    /// Reads from a page where the list goes on.
    fn follow(&mut self, page: Page, cursor: Option<&str>) -> Result<(Page, Upcoming)> {
        if self.skip > page.len() {
            return Err(Error::pagination(format!(
                "the checkpoint stands behind record {} of a page that now has {}",
                self.skip,
                page.len()
            )));
        }
        self.total = page.pagination("total").and_then(|v| v.as_integer()).or(self.total);
        if let Some(cursor) = cursor {
            self.seen.insert(digest(cursor));
        }
        let upcoming = match self.listing.next_cursor(&page)? {
            None => Upcoming::End,
            Some(next) => {
                // The first page of these styles is asked for by an empty cursor.
                if next.is_empty() || self.seen.contains(&digest(&next)) {
                    self.repeated = vec![digest(&next)];
                    return Err(Error::pagination(format!(
                        "the service handed out the cursor '{}' for the second time",
                        next.chars().take(64).collect::<String>().escape_debug()
                    )));
                }
                Upcoming::At(Some(next))
            }
        };
        Ok((page, upcoming))
    }

    fn position(&self) -> Checkpoint {
        let (cursor, row, done) = match (&self.current, &self.upcoming) {
            (Some(current), _) if self.unread() > 0 => {
                (current.cursor.clone(), current.read, false)
            }
            (_, Upcoming::At(cursor)) => (cursor.clone(), self.skip, false),
            (_, Upcoming::End) => (None, 0, true),
        };
        Checkpoint {
            boardlot: CHECKPOINT_VERSION,
            call: self.listing.draft.label.clone(),
            id: self.listing.identity(),
            cursor,
            row,
            done,
            fixed: self.fixed.as_ref().clone(),
            repeated: self.repeated.clone(),
        }
    }

    fn go_to(&mut self, checkpoint: Checkpoint) {
        self.current = None;
        self.ahead = None;
        self.seen = checkpoint.repeated.into_iter().collect();
        self.fixed = Arc::new(checkpoint.fixed);
        self.fixed_with_corrections = self.sender.clock().corrections();
        self.skip = checkpoint.row;
        self.upcoming =
            if checkpoint.done { Upcoming::End } else { Upcoming::At(checkpoint.cursor) };
    }

    fn rewind_if_broken(&mut self) {
        if let Some(start) = self.rewind.take() {
            self.go_to(start);
        }
    }
}

async fn fetch(
    sender: &Sender,
    listing: &Listing,
    fixed: &BTreeMap<String, String>,
    cursor: Option<&str>,
) -> Result<Page> {
    let mut draft = listing.draft.clone();
    for (name, value) in fixed {
        draft.set(Place::Query, name, value)?;
    }
    match (&listing.style, cursor) {
        (Style::NextKey(place), cursor) => {
            draft.set(*place, "next_key", cursor.unwrap_or_default())?;
        }
        (Style::PageFlag(place, _), Some(cursor)) => draft.set(*place, "page_flag", cursor)?,
        (Style::PageFlag(place, FirstPage::Empty), None) => draft.set(*place, "page_flag", "")?,
        (Style::DateRange(place, range), Some(end)) => draft.set(*place, &range.end, end)?,
        (Style::PageFlag(_, FirstPage::Omitted) | Style::DateRange(..), None) => {}
    }
    let prepared = draft.prepare(sender.base(), &sender.options().headers)?;
    sender.send(&prepared, |answer| open(listing.envelope, &listing.rows_at, answer)).await
}

impl Listing {
    /// The cursor of the next page; none where the service says that there is no more, and only
    /// then: an empty page in the middle goes on.
    fn next_cursor(&self, page: &Page) -> Result<Option<String>> {
        let beside = |name: &str| match self.style {
            Style::PageFlag(..) => page.meta_member(name),
            Style::NextKey(_) | Style::DateRange(..) => page.pagination(name),
        };
        let flag = |name: &str| {
            beside(name).and_then(|value| value.as_bool()).ok_or_else(|| {
                Error::protocol(
                    format!("the page does not tell {name} (true or false)"),
                    page.body(),
                )
            })
        };
        let cursor = |name: &str| {
            let value = beside(name);
            value.as_ref().and_then(Value::as_text).map(str::to_owned).ok_or_else(|| {
                Error::protocol(format!("the page has no {name} to go on with"), page.body())
            })
        };
        match &self.style {
            Style::NextKey(_) => {
                if flag("has_more")? {
                    cursor("next_key").map(Some)
                } else {
                    Ok(None)
                }
            }
            Style::PageFlag(..) => {
                if flag("completed")? {
                    Ok(None)
                } else {
                    cursor("page_flag").map(Some)
                }
            }
            Style::DateRange(_, range) => {
                if flag("has_more")? {
                    range.next.read(page).map(Some)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Tells calls apart: the same method, path and arguments have the same digest.
    fn identity(&self) -> String {
        let draft = &self.draft;
        let body = match &draft.body {
            // No listing asks by a form, whose values are secrets.
            crate::http::Body::None | crate::http::Body::Form(_) => String::new(),
            crate::http::Body::Json(members) => {
                members.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
            }
            crate::http::Body::Bytes(bytes, _) => body_hash(bytes),
        };
        let text = format!("{}\n{}\n{:?}\n{body}", draft.method, draft.path, draft.query);
        body_hash(text.as_bytes()).chars().take(32).collect()
    }
}

impl NextEnd {
    fn read(&self, page: &Page) -> Result<String> {
        match self {
            NextEnd::At(path) => page.text_at(path).ok_or_else(|| {
                Error::protocol(
                    format!("the page has no {} to go on with", path.join(".")),
                    page.body(),
                )
            }),
            NextEnd::DayBefore(field) => {
                let mut earliest = None;
                for index in 0..page.len() {
                    let record = page.row(index)?;
                    let raw = record.iter().rev().find(|(name, _)| name == field);
                    let value = raw.and_then(|(_, raw)| Value::parse(raw.get()).ok());
                    let date = value
                        .as_ref()
                        .and_then(|value| calendar_date(value.as_text()?.get(..10)?))
                        .ok_or_else(|| {
                            Error::protocol(
                                format!("record {index} has no date in {field}"),
                                page.body(),
                            )
                        })?;
                    earliest = Some(earliest.map_or(date, |other| date.min(other)));
                }
                earliest
                    .and_then(|date| date.checked_sub(1.day()).ok())
                    .map(|date| date.to_string())
                    .ok_or_else(|| {
                        Error::pagination("a page without records cannot tell where to go on")
                    })
            }
        }
    }
}

impl Checkpoint {
    fn to_json(&self) -> String {
        // Text, numbers and a map of texts: writing them cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn resumed(listing: &Listing, text: &str) -> Result<Checkpoint> {
    let checkpoint: Checkpoint = serde_json::from_str(text)
        .map_err(|error| Error::config(format!("resume is no checkpoint: {error}")))?;
    if checkpoint.boardlot != CHECKPOINT_VERSION {
        return Err(Error::config(format!(
            "resume is a checkpoint of version {}; allowed is {CHECKPOINT_VERSION}",
            checkpoint.boardlot
        )));
    }
    if checkpoint.call != listing.draft.label || checkpoint.id != listing.identity() {
        return Err(Error::config(format!(
            "resume is a checkpoint of another call ({}); give the same method the same arguments",
            checkpoint.call.escape_debug()
        )));
    }
    if checkpoint.fixed.is_empty() != listing.span.is_none() {
        return Err(Error::config("resume is a checkpoint with another open time range"));
    }
    Ok(checkpoint)
}

fn digest(cursor: &str) -> [u8; 32] {
    Sha256::digest(cursor.as_bytes()).into()
}
