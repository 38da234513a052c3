//! A list whose time range is split into windows as its pages come: `windows="auto"`.
//!
//! The windows are read side by side, and their pages are returned in the order of one cursor. Which windows
//! there are is decided in `window_plan`; here they are read, within bounds:
//!
//! - As many requests at a time as the connections and the rate limit are good for, and half of that each time
//!   that the service rejects one for its frequency.
//! - At most `AHEAD_MAX` pages are in memory that were not asked for yet.
//!
//! A range is about the update time, and the service document does not say by which time a list is sorted. Each
//! record is in exactly one window by its update time, whatever the order is. Sorted by the update time, the
//! windows one after another have the order of the whole list. Sorted by the other time, they have it if no
//! record of a window was created before the window begins. So a window is returned once it is complete and
//! either of them is known; else it is read again together with all that follows, by one cursor.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::Notify;

use super::{
    list::List,
    listed_page::{ListedPage, Windowed},
    part::FetchedPage,
    window_plan::{Above, Decision, Kind, PlannedWindow, Sample, times_of},
};
use crate::{
    error::{Error, FailureClass, Result},
    os::task::AbortOnDrop,
};

/// The most pages that were fetched and not asked for: those of 50,000 fills, some 25 MB.
const AHEAD_MAX: usize = 1_000;
/// A window of more pages is returned before it is complete.
const HELD_MAX: usize = AHEAD_MAX / 2;
/// A page is an error if it is rejected so often while it is the only one that is requested.
const REJECTED_MAX: u32 = 4;

/// Reads the windows of a list.
#[derive(Debug)]
pub struct AdaptiveWindows(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The list that is read.
    list: Arc<List>,
    /// The most requests at a time.
    at_once: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// The windows that have not been returned completely, in the order of the list.
    windows: VecDeque<Window>,
    next_id: u64,
    flow: Flow,
    order: Order,
    /// What was returned completely.
    above: Above,
    has_returned: bool,
}

/// The number of requests at a time.
#[derive(Debug)]
struct Flow {
    most: usize,
    /// The pages that were accepted since `most` has changed.
    accepted: usize,
    /// The rejections in turn of single requests.
    rejected: u32,
}

/// What the pages have shown of the order of the list.
#[derive(Debug, Default)]
struct Order {
    is_not_by_update: bool,
    is_not_by_creation: bool,
}

#[derive(Debug)]
struct Window {
    id: u64,
    plan: PlannedWindow,
    /// The window, and all that follows it in the time range: for the positions of its pages.
    list: Arc<List>,
    /// The pages that were fetched and not returned.
    pages: VecDeque<FetchedPage>,
    /// The last page that was fetched.
    latest: Option<FetchedPage>,
    step: Step,
    /// True if its pages are returned as they come.
    is_settled: bool,
    /// The first page of a window whose kind waits for what precedes it.
    waits: Option<Sample>,
    /// The times of its last record.
    last: Option<(i64, Option<i64>)>,
    /// True if a record was created before the window begins.
    is_displaced: bool,
    /// True if a record has no time of its creation.
    is_undated: bool,
    records: usize,
}

/// The next request of a window.
#[derive(Debug)]
enum Step {
    Due,
    Requested { _task: AbortOnDrop<()> },
    Failed(Error),
    Complete,
}

enum Taken {
    Page(Arc<List>, Box<FetchedPage>),
    Nothing,
    End,
}

impl AdaptiveWindows {
    /// The windows that a list is read by from a page on; none if one cursor is better. `row` records of the page
    /// were received. If a request fails that only decides this, one cursor meets the error by itself, or does not.
    pub async fn after(page: &Arc<ListedPage>, row: usize) -> Option<Arc<Self>> {
        let (list, fetched) = (page.list(), page.fetched());
        let first = FetchedPage { first: row, ..fetched.clone() };
        let times = list.parts.first()?.own_times()?;
        let whole = PlannedWindow::whole(times);
        // Of a list that nothing is known about.
        let is_new = row == 0 && fetched.at.is_beginning() && list.parts.len() == 1;
        let sample = if is_new { sample(list, fetched) } else { None };
        let Some(sample) = sample.filter(|sample| !whole.is_credible(sample)) else {
            return AdaptiveWindows::of(list, &first, row > 0, None);
        };
        let Decision::Split(windows) = whole.decide(&sample, list.core.source.requests_at_once())
        else {
            return None;
        };
        let rest = windows.last().filter(|_| fetched.after.is_some() && !page.is_of_windows())?;
        // Few lists have a third page, and few of those anything beyond the time of the next pages.
        page.next().await.ok()?.filter(|second| second.fetched().after.is_some())?;
        if whole.is_likely(&sample) {
            return AdaptiveWindows::of(list, &first, false, None);
        }
        let rest = list.beginning_with((rest.first, rest.last));
        let pages = rest.parts.first()?.first().await.ok()?;
        let is_empty = |page: &FetchedPage| page.records.is_empty() && page.after.is_none();
        match pages.iter().all(is_empty) {
            true => None,
            false => AdaptiveWindows::of(list, &first, false, Some(pages)),
        }
    }

    /// `rest` is the first page of the last one of the windows that the first page suggests.
    fn of(
        list: &Arc<List>,
        first: &FetchedPage,
        is_begun: bool,
        last: Option<Vec<FetchedPage>>,
    ) -> Option<Arc<Self>> {
        let at_once = list.core.source.requests_at_once();
        let times = list.parts.first()?.own_times()?;
        let mut state = State {
            windows: VecDeque::new(),
            next_id: 0,
            flow: Flow { most: at_once, accepted: 0, rejected: 0 },
            order: Order::default(),
            above: Above { records: 0, newest: times.1, gaps: 0 },
            has_returned: is_begun,
        };
        let is_whole = first.at.is_beginning() && first.after.is_some() && !is_begun;
        let sample = if is_whole { sample(list, first) } else { None };
        let whole = PlannedWindow::whole(times);
        let split = sample.map(|sample| (sample.newest, whole.decide(&sample, at_once)));
        match (split, list.parts.get(1)) {
            (Some((newest, Decision::Split(windows))), rest) => {
                state.above.newest = newest;
                let rest = rest.and_then(|rest| rest.own_times()).map(PlannedWindow::whole);
                for plan in windows.into_iter().chain(rest) {
                    let window = state.window(list, plan);
                    state.windows.push_back(window);
                }
                if let Some((pages, index)) = last.zip(state.windows.len().checked_sub(1)) {
                    state.store(list, at_once, index, pages);
                }
            }
            // A part that was begun stays as it is, and what follows it is new.
            (_, Some(rest)) => {
                let kind = Kind::Final;
                let mut begun = state.window(list, PlannedWindow { kind, ..whole });
                begun.list = list.clone();
                begun.is_settled = true;
                begun.take(first.clone());
                let rest = state.window(list, PlannedWindow::whole(rest.own_times()?));
                state.windows.extend([begun, rest]);
            }
            _ => return None,
        }
        let (list, changed) = (list.clone(), Notify::new());
        let shared = Shared { list, at_once, state: Mutex::new(state), changed };
        Some(Arc::new(AdaptiveWindows(Arc::new(shared))))
    }

    /// The next page; none at the end of the list. After an error, the next call requests the page again.
    pub async fn next(self: Arc<Self>) -> Result<Option<Arc<ListedPage>>> {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let taken = {
                let mut state = self.0.lock();
                let taken = state.take(&self.0.list);
                if taken.is_ok() {
                    self.0.start(&mut state);
                }
                taken?
            };
            match taken {
                Taken::Page(list, page) => {
                    return Ok(Some(ListedPage::of_windows(list, *page, self.clone())));
                }
                Taken::End => return Ok(None),
                Taken::Nothing => changed.await,
            }
        }
    }
}

impl Windowed for AdaptiveWindows {
    fn following(self: Arc<Self>) -> BoxFuture<'static, Result<Option<Arc<ListedPage>>>> {
        self.next().boxed()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the requests that are due: first that of the window which is returned; then that of the rest of a
    /// range, whose first page decides on many windows.
    fn start(self: &Arc<Self>, state: &mut State) {
        let has_failed = state.windows.iter().any(|window| matches!(window.step, Step::Failed(_)));
        let fetched: usize = state.windows.iter().map(|window| window.pages.len()).sum();
        // A request ends with its window.
        let is_requested = |window: &&Window| matches!(window.step, Step::Requested { .. });
        let mut in_flight = state.windows.iter().filter(is_requested).count();
        let is_rest = |window: &Window| {
            matches!(window.plan.kind, Kind::Rest { .. }) && window.latest.is_none()
        };
        let rests = state.windows.iter().enumerate().skip(1).filter(|(_, window)| is_rest(window));
        let mut order: Vec<usize> = vec![0];
        order.extend(rests.map(|(index, _)| index));
        order.extend(1..state.windows.len());
        for index in order {
            let is_full = in_flight + fetched >= AHEAD_MAX || has_failed;
            if in_flight >= state.flow.most || (index > 0 && is_full) {
                break;
            }
            let is_single = state.flow.most == 1;
            let Some(window) = state.windows.get_mut(index) else { break };
            in_flight += usize::from(self.request(window, is_single));
        }
    }

    /// Sends the next request of a window, if one is due.
    fn request(self: &Arc<Self>, window: &mut Window, is_single: bool) -> bool {
        let part = window.list.parts.first().cloned();
        let (Some(part), Step::Due, None) = (part, &window.step, &window.waits) else {
            return false;
        };
        let (shared, id, latest) = (Arc::downgrade(self), window.id, window.latest.clone());
        let task = async move {
            let outcome = match latest {
                Some(page) => part.next(&page).await.map(|page| page.into_iter().collect()),
                None => part.first().await,
            };
            Shared::arrived(&shared, id, outcome, is_single);
            Ok(())
        };
        window.step = Step::Requested { _task: AbortOnDrop::spawn(task.boxed()) };
        true
    }

    fn arrived(shared: &Weak<Self>, id: u64, outcome: Result<Vec<FetchedPage>>, is_single: bool) {
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.lock();
        // A window that was replaced meanwhile has no use for its page.
        if let Some(index) = state.windows.iter().position(|window| window.id == id) {
            match outcome {
                Ok(pages) => {
                    state.flow.accept(shared.at_once);
                    state.store(&shared.list, shared.at_once, index, pages);
                }
                Err(error) => state.fail(&shared.list, index, error, is_single),
            }
        }
        state.decide_waiting(&shared.list, shared.at_once);
        shared.start(&mut state);
        drop(state);
        shared.changed.notify_waiters();
    }
}

impl State {
    fn window(&mut self, list: &List, plan: PlannedWindow) -> Window {
        self.next_id += 1;
        Window {
            id: self.next_id,
            plan,
            list: list.beginning_with((plan.first, plan.last)),
            pages: VecDeque::new(),
            latest: None,
            step: Step::Due,
            is_settled: false,
            waits: None,
            last: None,
            is_displaced: false,
            is_undated: false,
            records: 0,
        }
    }

    /// Stores the pages of a window. The first one may replace it by others.
    fn store(&mut self, list: &List, at_once: usize, index: usize, pages: Vec<FetchedPage>) {
        let Some(window) = self.windows.get_mut(index) else { return };
        let is_first = window.latest.is_none();
        for page in pages {
            window.look(&page, &mut self.order, list);
            window.take(page);
        }
        let first = window.latest.as_ref().filter(|page| is_first && page.after.is_some());
        let Some(sample) = first.and_then(|page| sample(list, page)) else { return };
        match window.plan.decide(&sample, at_once) {
            Decision::Keep => {}
            Decision::Wait => window.waits = Some(sample),
            Decision::Split(windows) => self.replace(list, index, windows),
        }
    }

    fn replace(&mut self, list: &List, index: usize, windows: Vec<PlannedWindow>) {
        self.windows.remove(index);
        for (number, plan) in windows.into_iter().enumerate() {
            let window = self.window(list, plan);
            self.windows.insert(index + number, window);
        }
    }

    /// Decides on the first window that waits for what precedes it, if that has been read.
    fn decide_waiting(&mut self, list: &List, at_once: usize) {
        let Some(index) = self.windows.iter().position(|window| window.waits.is_some()) else {
            return;
        };
        let mut before = self.windows.iter().take(index);
        if !before.clone().all(|window| matches!(window.step, Step::Complete)) {
            return;
        }
        self.above.gaps += 1;
        let records = before.by_ref().map(|window| window.records).sum::<usize>();
        let above = Above { records: self.above.records + records, ..self.above };
        let Some(window) = self.windows.get_mut(index) else { return };
        let Some(sample) = window.waits.take() else { return };
        if let Decision::Split(windows) = window.plan.decide_by_all(&sample, &above, at_once) {
            self.replace(list, index, windows);
        }
    }

    fn fail(&mut self, list: &List, index: usize, error: Error, is_single: bool) {
        let is_rejected = error
            .api_failure()
            .is_some_and(|api_failure| api_failure.class == FailureClass::RateLimited);
        let ignores_ranges = list.core.known().ignores_ranges;
        if ignores_ranges
            && !self.has_returned
            && let Some(times) = list.whole_range()
        {
            // Such a service has one list, whatever is requested.
            let whole = PlannedWindow { kind: Kind::Final, ..PlannedWindow::whole(times) };
            let mut window = self.window(list, whole);
            window.is_settled = true;
            self.windows = VecDeque::from([window]);
            return;
        }
        let is_retried = is_rejected && self.flow.reject(is_single);
        if let Some(window) = self.windows.get_mut(index) {
            window.step = if is_retried { Step::Due } else { Step::Failed(error) };
        }
    }

    /// The next page, if it may be returned.
    fn take(&mut self, list: &List) -> Result<Taken> {
        loop {
            let Some(window) = self.windows.front_mut() else { return Ok(Taken::End) };
            let has_page = window.is_settled && !window.pages.is_empty();
            if !has_page && matches!(window.step, Step::Failed(_)) {
                let failed = std::mem::replace(&mut window.step, Step::Due);
                if let Step::Failed(error) = failed {
                    return Err(error);
                }
            }
            let is_complete = matches!(window.step, Step::Complete);
            if !window.is_settled && window.waits.is_none() {
                let is_by_update = self.order.is_not_by_creation && !self.order.is_not_by_update;
                let is_unknown = window.is_undated && self.order.is_not_by_update;
                let is_in_order = !(window.is_displaced || is_unknown);
                if is_by_update || (is_complete && is_in_order) || window.pages.len() >= HELD_MAX {
                    window.is_settled = true;
                } else if is_complete && let Some((start, _)) = list.whole_range() {
                    let plan =
                        PlannedWindow { first: start, last: window.plan.last, kind: Kind::Final };
                    let mut rest = self.window(list, plan);
                    rest.is_settled = true;
                    self.windows = VecDeque::from([rest]);
                    continue;
                }
            }
            let Some(window) = self.windows.front_mut().filter(|window| window.is_settled) else {
                return Ok(Taken::Nothing);
            };
            if let Some(page) = window.pages.pop_front() {
                self.has_returned = true;
                return Ok(Taken::Page(window.list.clone(), Box::new(page)));
            }
            if !is_complete {
                return Ok(Taken::Nothing);
            }
            self.above.records += window.records;
            self.windows.pop_front();
        }
    }
}

impl Window {
    fn take(&mut self, page: FetchedPage) {
        self.records += page.records.len();
        self.step = if page.after.is_some() { Step::Due } else { Step::Complete };
        self.latest = Some(page.clone());
        self.pages.push_back(page);
    }

    /// Notes what a page shows of the order of the list.
    fn look(&mut self, page: &FetchedPage, order: &mut Order, list: &List) {
        let fields = list.core.listing.sort_fields();
        let times = fields.and_then(|(time, other)| times_of(&page.records, time, other));
        let first_of_list = list.whole_range().map(|(start, _)| start);
        for (updated, created) in times.unwrap_or_default() {
            if let Some((before, created_before)) = self.last {
                order.is_not_by_update |= updated > before;
                order.is_not_by_creation |= created > created_before;
            }
            let is_last_window = first_of_list == Some(self.plan.first);
            self.is_displaced |= !is_last_window && created.is_some_and(|at| at < self.plan.first);
            self.is_undated |= created.is_none();
            self.last = Some((updated, created));
        }
    }
}

impl Flow {
    fn accept(&mut self, most: usize) {
        self.rejected = 0;
        self.accepted += 1;
        if self.accepted >= self.most && self.most < most {
            (self.most, self.accepted) = (self.most + 1, 0);
        }
    }

    /// Halves the number of requests at a time; false if it was one before, too often in turn.
    fn reject(&mut self, is_single: bool) -> bool {
        (self.most, self.accepted) = ((self.most / 2).max(1), 0);
        self.rejected += u32::from(is_single);
        self.rejected < REJECTED_MAX
    }
}

/// The times of a page; none of a service that returns other times than those of the range.
fn sample(list: &List, page: &FetchedPage) -> Option<Sample> {
    let (time, other) = list.core.listing.sort_fields()?;
    let times = times_of(&page.records, time, other)?;
    let sample = Sample::of(&times.iter().map(|(time, _)| *time).collect::<Vec<_>>())?;
    let (start, end) = list.whole_range()?;
    (start <= sample.oldest && sample.newest <= end).then_some(sample)
}
