//! The board of a team, and the calls on it from begin to end.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use towpath_engine::board::Board;
use towpath_schedule::Operation;
use towpath_schedule::select::{Selection, Subscription};

use super::{BoardLimits, Member, Need, WaitLoop, blocking, suspending};

/// A board as used by one member of a team.
#[derive(Debug)]
pub struct TeamBoard {
    pub(super) board: Board,
    pub(super) limits: BoardLimits,
    /// Number of calls so far.
    pub(super) calls: u32,
    /// Whether the board has areas for long messages; `None` until the members have agreed on it.
    pub areas: Option<bool>,
}

impl TeamBoard {
    /// A board on which no call has been made.
    pub fn new(board: Board, selection: &Selection, subscription: Subscription) -> TeamBoard {
        let limits = BoardLimits::new(selection, board.size(), subscription);
        TeamBoard { board, limits, calls: 0, areas: None }
    }

    /// The parts of the board that the call needs, see [`BoardLimits::need`].
    #[inline]
    pub fn need(&self, operation: &Operation) -> Option<Need> {
        self.limits.need(operation)
    }

    /// True if the call needs areas, and the members have not agreed on them yet.
    pub fn must_ask_for_areas(&self, operation: &Operation) -> bool {
        self.areas.is_none() && self.need(operation) == Some(Need::Areas)
    }

    /// True if the call uses the board, once the members have agreed on its areas.
    pub fn serves(&self, operation: &Operation) -> bool {
        match self.need(operation) {
            None => false,
            Some(Need::Lines) => true,
            Some(Need::Areas) => self.areas != Some(false),
        }
    }

    /// Number of calls so far.
    #[inline]
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Populates the areas of all members, on member 0; false on the others, or if memory is short.
    pub fn provide_areas(&self) -> bool {
        self.board.own() == 0 && self.board.provide_areas()
    }

    /// Executes a call that [`TeamBoard::need`] has found to use the board. Returns false if
    /// another rank sent more than this one expects.
    ///
    /// # Safety
    /// The memory that the operation names must satisfy the standard's requirements for the buffers
    /// of the call.
    ///
    /// # Panics
    /// If the call cannot use a board.
    #[inline]
    pub unsafe fn execute(&mut self, operation: &Operation, waiter: &mut dyn WaitLoop) -> bool {
        // SAFETY: the memory that the operation names is as the standard requires until this
        // function returns (its contract).
        unsafe { blocking::perform(operation, self, waiter) }
    }
}

/// The member whose call is polled.
pub(super) struct PolledMember<'a> {
    member: &'a mut dyn Member,
    has_moved: &'a Cell<bool>,
}

impl PolledMember<'_> {
    /// See [`Member::out_of_step`].
    pub(super) fn out_of_step(&mut self, member: usize) -> ! {
        self.member.out_of_step(member)
    }

    /// See [`Member::progress`].
    pub(super) fn progress(&mut self) {
        self.member.progress();
    }

    /// Notes that the call waits for something that it has not waited for before.
    pub(super) fn suspend(&mut self) {
        self.has_moved.set(true);
    }
}

/// A nonblocking call. It owns its operation and its board until it is complete.
pub struct PendingCall {
    future: Pin<Box<dyn Future<Output = CompleteCall>>>,
    has_moved: Rc<Cell<bool>>,
}

/// The state of a nonblocking call.
#[derive(Debug)]
pub enum CallState {
    /// It waits for another member.
    Pending {
        /// True if it did not wait for the same thing before. What it waits for now may have come
        /// before it said so ([`Want`](towpath_engine::board::Want)): before a thread sleeps, it
        /// must announce its sleep once more and then poll the call again.
        has_moved: bool,
    },
    /// It is complete.
    Complete(CompleteCall),
}

/// What is left of a nonblocking call.
#[derive(Debug)]
pub struct CompleteCall {
    /// What it has done.
    pub operation: Operation,
    /// The board that it has used.
    pub board: Box<TeamBoard>,
    /// True if another rank sent more than this one expects.
    pub is_truncated: bool,
}

// SAFETY: the pointers of a call are dereferenced only while it is polled, and it moves between
// threads as a whole, with both owners of `has_moved`.
unsafe impl Send for PendingCall {}

impl PendingCall {
    /// Prepares a call that [`TeamBoard::need`] has found to use the board. Nothing happens before
    /// the first poll.
    ///
    /// # Safety
    /// The contract of [`TeamBoard::execute`] applies until the call is complete or dropped.
    ///
    /// # Panics
    /// If the call cannot use a board, when it is polled.
    pub unsafe fn new(
        operation: Operation,
        mut board: Box<TeamBoard>,
        mut member: impl Member + 'static,
    ) -> PendingCall {
        let has_moved = Rc::new(Cell::new(false));
        let moved = has_moved.clone();
        let future = Box::pin(async move {
            let mut polled = PolledMember { member: &mut member, has_moved: &moved };
            // SAFETY: the memory that the operation names is as the standard requires while the
            // call exists (this function's contract).
            let is_complete =
                unsafe { suspending::perform(&operation, &mut board, &mut polled).await };
            CompleteCall { operation, board, is_truncated: !is_complete }
        });
        PendingCall { future, has_moved }
    }

    /// Goes on with the call as far as possible without waiting.
    ///
    /// # Panics
    /// If the call was complete before.
    pub fn poll(&mut self) -> CallState {
        match self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(complete) => CallState::Complete(complete),
            Poll::Pending => CallState::Pending { has_moved: self.has_moved.take() },
        }
    }
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("call on a board")
    }
}
