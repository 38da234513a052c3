//! Delivery: what the caller has received, and what it receives next. The only code that knows.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    time::Duration,
    vec,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{Position, Ticket, Unit, View, fetcher::Run, page_stream::FetchedPage};
use crate::decode::{Page, PageSlice};

/// The wait for the receipt of what somebody waited for before. An event loop may have stopped.
const CLAIM_WAIT: Duration = Duration::from_secs(3);

/// The records that the caller of an iteration has received.
///
/// A record, page or result is first looked at, and counts as received once the caller's code has it.
/// The loser of a race retries. So a claim, which orders those who wait, may be ignored at any moment.
/// `T` is what rows are converted to, some at a time.
///
/// The lock is held for a few instructions: never during a request, nor while code of the caller's runs. So a signal
/// handler, a hook or a finalizer can read the position.
#[derive(Debug)]
pub struct Delivery<T> {
    state: Mutex<State<T>>,
    claim_ended: Notify,
}

#[derive(Debug)]
struct State<T> {
    /// The position of what was received, unless a record of the front page was.
    position: Position,
    /// The page with the next record, if it is in memory.
    front: Option<Front>,
    /// The next records of that page, converted for this view of them.
    ready: vec::IntoIter<T>,
    view: View,
    /// The number of times that something has been received.
    receipts: u64,
    /// The run of the fetcher that continues after the front page; none if it has to start again.
    run: Option<Run>,
    /// Shared by those who have waited for a record or page and have not looked at it yet.
    claims: Arc<()>,
    /// The run that gathers all that follows. Nobody else looks meanwhile.
    gathering: Option<Run>,
    /// The number of receipts when a caller last waited for one in vain.
    waited_in_vain: Option<u64>,
    /// The time range that is being read.
    range: Option<(i64, i64)>,
    total: Option<i64>,
    is_exhausted: bool,
}

#[derive(Debug)]
struct Front {
    fetched: FetchedPage,
    /// True if a record of it has been received, so that the position is in it.
    is_entered: bool,
}

/// The claim of a caller that has waited for a record or page: until it is dropped, all who come
/// later leave that to the caller.
#[derive(Debug)]
pub struct Claim<T> {
    delivery: Arc<Delivery<T>>,
    share: Option<Arc<()>>,
}

/// Rows that are gathered, from the first look at them until they are received or dropped.
#[derive(Debug)]
pub struct Gathering<T> {
    delivery: Arc<Delivery<T>>,
    receipts: u64,
    run: Run,
    /// The page in memory, which is gathered first.
    pub(super) first: Option<FetchedPage>,
    /// The end of what was gathered; none if nothing was.
    pub(super) after: Option<Position>,
    /// The page that it ends in, whose position is the same.
    rest: Option<FetchedPage>,
}

impl<T> Delivery<T> {
    /// Starts at a position, of a call whose time range is known or none.
    pub fn new(position: Position, range: Option<(i64, i64)>) -> Self {
        let state = State {
            range: position.range.or(range),
            position,
            front: None,
            ready: Vec::new().into_iter(),
            view: View::default(),
            receipts: 0,
            run: None,
            claims: Arc::default(),
            gathering: None,
            waited_in_vain: None,
            total: None,
            is_exhausted: false,
        };
        Delivery { state: Mutex::new(state), claim_ended: Notify::new() }
    }

    /// The position of what has been received at this moment.
    pub fn position(&self) -> Position {
        self.state().position().clone()
    }

    /// The same, with the page that it is in, if a record of that was received.
    pub fn place(&self) -> (Position, Option<Arc<Page>>) {
        let state = self.state();
        let entered = state.front.as_ref().filter(|front| front.is_entered);
        (state.position().clone(), entered.map(|front| front.fetched.page.clone()))
    }

    /// The time range that is being read, in microseconds since 1970; none until it is known, or if the
    /// list has none.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.state().range
    }

    /// The total number of records, if the service has returned it.
    pub fn total(&self) -> Option<i64> {
        self.state().total
    }

    /// Returns true if the caller has been informed that the list has ended.
    pub fn is_exhausted(&self) -> bool {
        self.state().is_exhausted
    }

    /// Returns true if another process was forked while a thread of this one was in here.
    pub fn is_stuck_after_fork(&self) -> bool {
        matches!(self.state.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// The next record, if it is in memory and not claimed by others: its page and its index.
    pub fn next_row(&self, own: Option<&Claim<T>>) -> Option<(Ticket, Arc<Page>, usize)> {
        let state = self.state();
        let fetched = state.look_at(Unit::Row, own)?;
        Some((state.ticket_of(fetched), fetched.page.clone(), fetched.at.row))
    }

    /// The remaining records of the page in memory, if none is claimed by others.
    pub fn next_page(&self, own: Option<&Claim<T>>) -> Option<(Ticket, PageSlice)> {
        let state = self.state();
        let fetched = state.look_at(Unit::Page, own)?;
        Some((state.ticket_of(fetched), fetched.rest()))
    }

    /// Looks at the records that have been converted, unless a thread is changing them.
    pub fn look_at_ready<E>(&self, look: impl FnOnce(&[T]) -> Result<(), E>) -> Result<(), E> {
        self.state.try_lock().map_or(Ok(()), |state| look(state.ready.as_slice()))
    }

    /// Receives the next record, if it has been converted for this view.
    #[inline]
    pub fn receive_ready(&self, view: View, own: Option<&Claim<T>>) -> Option<T> {
        let mut state = self.state();
        if state.view != view || !state.is_turn_of(own) {
            return None;
        }
        let object = state.ready.next()?;
        let finished = state.advance(1);
        drop(state);
        drop(finished);
        Some(object)
    }

    /// Receives the record that was looked at, the first of these; the others are those after it. None if
    /// something else has been received since.
    pub fn receive_converted(
        &self,
        ticket: Ticket,
        view: View,
        mut converted: vec::IntoIter<T>,
    ) -> Option<T> {
        let mut state = self.state();
        if !state.is_valid(ticket) {
            return None;
        }
        let object = converted.next()?;
        let finished = state.advance(1);
        state.view = view;
        let unused = std::mem::replace(&mut state.ready, converted);
        drop(state);
        // A finalizer may run now, which asks for the position.
        drop((finished, unused));
        Some(object)
    }

    /// Receives the record, or the remaining records of the page, that was looked at. False if something
    /// else has been received since.
    pub fn receive(&self, ticket: Ticket, unit: Unit) -> bool {
        let count = if unit == Unit::Row { 1 } else { usize::MAX };
        self.change(|state| {
            let is_next = state.is_valid(ticket);
            let ready = is_next.then(|| std::mem::take(&mut state.ready));
            (is_next, (ready, is_next.then(|| state.advance(count))))
        })
    }

    /// The caller has been informed that nothing more is in memory or to be fetched. That the list has
    /// ended is for the service to say: before, there is only nothing more for now.
    pub fn receive_end(&self) {
        self.change(|state| ((), state.end()));
    }

    /// Waits until what was gathered is received or dropped, though not for long.
    pub(super) async fn wait_for_gathering(&self) {
        self.wait_while(|state| state.gathering.is_some()).await;
    }

    /// Waits while all that is in memory is claimed, though not for long.
    pub(super) async fn wait_for_claims(&self, unit: Unit) {
        let waits = |state: &State<T>| {
            state.claimed() > 0 && state.in_memory(unit, state.claimed()).is_none()
        };
        self.wait_while(waits).await;
    }

    async fn wait_while(&self, waits: impl Fn(&State<T>) -> bool) {
        let end = Instant::now() + CLAIM_WAIT;
        loop {
            let ended = self.claim_ended.notified();
            let is_vain = match &*self.state() {
                state if !waits(state) => return,
                state => state.waited_in_vain == Some(state.receipts),
            };
            // Of many whose event loop has stopped, only the first is waited for.
            if is_vain || timeout_at(end, ended).await.is_err() {
                self.give_up_claims();
                let mut state = self.state();
                state.waited_in_vain = Some(state.receipts);
            }
        }
    }

    /// Waits no longer for those who claim or gather.
    pub(super) fn give_up_claims(&self) {
        let mut state = self.state();
        (state.gathering, state.claims) = (None, Arc::default());
    }

    /// The position to start a fetcher at. None if the pages of this run follow already.
    /// The page in memory is left: `marked` notes its last record that was received.
    pub(super) fn start(
        &self,
        run: Run,
        marked: impl FnOnce(Position, &Page) -> Position,
    ) -> Option<(u64, Position)> {
        self.change(|state| {
            if state.run == Some(run) {
                return (None, None);
            }
            state.run = None;
            state.position = match state.front.as_ref().filter(|front| front.is_entered) {
                Some(front) => marked(front.fetched.at.clone(), &front.fetched.page),
                None => state.position.clone(),
            };
            let unused = (state.front.take(), std::mem::take(&mut state.ready));
            (Some((state.receipts, state.position.clone())), Some(unused))
        })
    }

    /// Receives from this run, which starts at the position after this many receipts. False if
    /// something else has been received since.
    pub(super) fn follow(&self, receipts: u64, run: Run, range: Option<(i64, i64)>) -> bool {
        let mut state = self.state();
        let is_current = state.receipts == receipts;
        if is_current {
            state.run = Some(run);
            state.range = range.or(state.range);
        }
        is_current
    }

    /// Returns true if this run is that of the page in memory.
    pub(super) fn follows(&self, run: Run) -> bool {
        self.state().run == Some(run)
    }

    /// Claims what is in memory; none if nothing is, or all is claimed.
    pub(super) fn claim(self: &Arc<Self>, unit: Unit) -> Option<Claim<T>> {
        let state = self.state();
        state.in_memory(unit, state.claimed())?;
        Some(Claim { delivery: self.clone(), share: Some(state.claims.clone()) })
    }

    /// Puts the next page of a run into memory, unless this run was given up.
    pub(super) fn install(&self, run: Run, fetched: FetchedPage) {
        self.note_total(&fetched.page);
        self.change(|state| {
            if state.run != Some(run) {
                return ((), None);
            }
            let ready = std::mem::take(&mut state.ready);
            ((), Some((state.front.replace(Front { fetched, is_entered: false }), ready)))
        });
    }

    /// Notes the total number of records, if a page has it.
    fn note_total(&self, page: &Page) {
        let total = page.pagination("total").and_then(|value| value.as_integer());
        if total.is_some() {
            self.state().total = total;
        }
    }

    /// Begins to gather what follows: the page in memory first, then what the fetcher has, which goes over
    /// from one run to the other. None if that run was given up.
    pub(super) fn gather(self: &Arc<Self>, run: Run, new_run: Run) -> Option<Gathering<T>> {
        let gathering = self.change(|state| {
            if state.run != Some(run) {
                return (None, None);
            }
            // Claimed records are gathered as well: they have not been received.
            state.claims = Arc::default();
            let first = state.look_at(Unit::Page, None).cloned();
            state.gathering = Some(new_run);
            let ready = std::mem::take(&mut state.ready);
            (Some((state.receipts, first)), Some(ready))
        });
        let (receipts, first) = gathering?;
        let delivery = self.clone();
        Some(Gathering { delivery, receipts, run: new_run, first, after: None, rest: None })
    }

    /// Changes the state, and drops what is no longer used after unlocking it: a finalizer may run then,
    /// which asks for the position.
    fn change<R, Unused>(&self, change: impl FnOnce(&mut State<T>) -> (R, Unused)) -> R {
        let (result, unused) = change(&mut self.state());
        drop(unused);
        result
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn position(&self) -> &Position {
        let entered = self.front.as_ref().filter(|front| front.is_entered);
        entered.map_or(&self.position, |front| &front.fetched.at)
    }

    /// The page in memory, unless it has no more of what is requested, or others have claimed that.
    fn look_at(&self, unit: Unit, own: Option<&Claim<T>>) -> Option<&FetchedPage> {
        self.is_turn_of(own).then(|| self.in_memory(unit, 0)).flatten()
    }

    /// The page in memory, unless it has no more than what is claimed.
    fn in_memory(&self, unit: Unit, claimed: usize) -> Option<&FetchedPage> {
        let fetched = &self.front.as_ref().filter(|_| self.gathering.is_none())?.fetched;
        let is_there = match unit {
            Unit::Row => fetched.page.len() - fetched.at.row > claimed,
            // A page without records is a page.
            Unit::Page => claimed == 0 && (fetched.has_rows() || fetched.page.is_empty()),
        };
        is_there.then_some(fetched)
    }

    /// Callers that have waited come first: they are woken in the order of their claims.
    fn is_turn_of(&self, own: Option<&Claim<T>>) -> bool {
        let share = own.and_then(|claim| claim.share.as_ref());
        self.claimed() == 0 || share.is_some_and(|share| Arc::ptr_eq(share, &self.claims))
    }

    fn claimed(&self) -> usize {
        Arc::strong_count(&self.claims) - 1
    }

    fn ticket_of(&self, fetched: &FetchedPage) -> Ticket {
        Ticket { receipts: self.receipts, page: fetched.page.id() }
    }

    /// Returns true if what was looked at is still what comes next.
    fn is_valid(&self, ticket: Ticket) -> bool {
        let front = self.front.as_ref().filter(|_| self.gathering.is_none());
        front.is_some_and(|front| self.ticket_of(&front.fetched) == ticket)
    }

    /// Receives records of the front page; returns what is no longer used.
    #[inline]
    fn advance(&mut self, count: usize) -> Unused<T> {
        self.receipts += 1;
        let front = self.front.as_mut()?;
        let fetched = &mut front.fetched;
        let end = fetched.page.len();
        let row = fetched.at.row.saturating_add(count);
        if row < end {
            fetched.at.row = row;
            front.is_entered = true;
            return None;
        }
        self.leave_front()
    }

    fn leave_front(&mut self) -> Unused<T> {
        let front = self.front.take()?;
        let before = std::mem::replace(&mut self.position, front.fetched.after);
        Some((front.fetched.page, before, std::mem::take(&mut self.ready)))
    }

    /// Nothing is left: a page in memory was passed by.
    fn end(&mut self) -> Unused<T> {
        let has_rows = self.front.as_ref().is_some_and(|front| front.fetched.has_rows());
        let unused = if has_rows { None } else { self.leave_front() };
        self.is_exhausted |= self.position().done;
        unused
    }
}

type Unused<T> = Option<(Arc<Page>, Position, vec::IntoIter<T>)>;

impl<T> Gathering<T> {
    pub(super) fn note_total(&self, page: &Page) {
        self.delivery.note_total(page);
    }

    /// Sets the end of what was gathered: in or after this page.
    pub(super) fn set_end(&mut self, page: FetchedPage) {
        self.after = Some(if page.has_rows() { page.at.clone() } else { page.after.clone() });
        self.rest = page.has_rows().then_some(page);
    }

    /// Receives what was gathered; with `is_rest`, the caller knows from it that nothing follows, if the
    /// list has ended. False if something else has been received meanwhile.
    pub fn receive(&mut self, is_rest: bool) -> bool {
        let (after, rest) = (self.after.take(), self.rest.take());
        self.delivery.change(|state| {
            if state.receipts != self.receipts {
                return (false, None);
            }
            state.run = Some(self.run);
            let unused = after.map(|after| {
                let unused = state.advance(usize::MAX);
                state.position = after;
                state.front = rest.map(|fetched| Front { fetched, is_entered: true });
                unused
            });
            let ended = is_rest.then(|| state.end());
            (true, Some((unused, ended)))
        })
    }
}

impl<T> Drop for Claim<T> {
    fn drop(&mut self) {
        self.share = None;
        self.delivery.claim_ended.notify_waiters();
    }
}

impl<T> Drop for Gathering<T> {
    fn drop(&mut self) {
        self.delivery.state().gathering.take_if(|run| *run == self.run);
        self.delivery.claim_ended.notify_waiters();
    }
}
