//! The board of a team, and the calls on it from begin to end.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::mem::transmute;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use towpath_base::ids::PeerIndex;
use towpath_engine::board::{Board, NumberedCall, OtherCall};
use towpath_schedule::select::{Selection, Subscription};
use towpath_schedule::{CallSignature, Operation};

use super::{BoardLimits, BoardNotices, Member, Need, WaitLoop, blocking, suspending};
use crate::failure::Failure;

/// Most bytes that a nonblocking call folds before it returns: the program wants to compute
/// meanwhile. A longer one only posts what others need.
const MOST_AT_ONCE: i64 = 64 << 10;

/// How a call on a board has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardOutcome {
    /// All was right.
    Complete,
    /// Another rank sent more than this one expects.
    Truncated,
    /// Another rank is in another call ([`TeamBoard::mismatch`]). The board must not be used any
    /// more.
    OutOfStep,
}

/// The failure that a member is in another call.
pub(super) fn mismatch(other: OtherCall, peers: &[PeerIndex]) -> Failure {
    let [own, theirs] = [other.own, other.theirs].map(CallSignature::of_mark);
    Failure::Mismatch { peer: peers[other.member], own, theirs }
}

/// A board as used by one member of a team.
#[derive(Debug)]
pub struct TeamBoard {
    pub(super) board: Board,
    pub(super) limits: BoardLimits,
    peers: Arc<[PeerIndex]>,
    notices: Arc<BoardNotices>,
    /// Whether the board has areas for long messages; `None` until the members have agreed on it.
    pub areas: Option<bool>,
    /// True if ranks may have vectors in the memory of devices.
    pub has_devices: bool,
    /// The ranks with which the last call exchanges blocks apart, see
    /// [`TeamBoard::messages_apart`].
    pub(super) apart: Vec<usize>,
}

impl TeamBoard {
    /// A board of `peers` on which no call has been made.
    pub fn new(
        board: Board,
        peers: Arc<[PeerIndex]>,
        selection: &Selection,
        subscription: Subscription,
    ) -> TeamBoard {
        let limits = BoardLimits::new(selection, board.size(), subscription);
        let notices = Arc::new(BoardNotices::new(&board, peers.clone()));
        let (areas, has_devices, apart) = (None, false, Vec::new());
        TeamBoard { board, limits, peers, notices, areas, has_devices, apart }
    }

    /// What the members tell of their calls.
    pub fn notices(&self) -> &Arc<BoardNotices> {
        &self.notices
    }

    /// The failure of a call that has ended out of step.
    ///
    /// # Panics
    /// If none has.
    #[cold]
    pub fn mismatch(&self) -> Failure {
        mismatch(self.board.other_call().expect("a call is out of step"), &self.peers)
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

    /// True if the call could use the board, but must not before the members know where their
    /// vectors are, see [`DeviceAgreement`](crate::DeviceAgreement).
    pub fn must_ask_for_site(&self, operation: &Operation) -> bool {
        self.has_devices && operation.is_long_reduction() && self.serves(operation)
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
    pub fn calls(&self) -> u64 {
        self.board.calls()
    }

    /// Populates the areas of all members, on member 0; false on the others, or if memory is short.
    pub fn provide_areas(&self) -> bool {
        self.board.own() == 0 && self.board.provide_areas()
    }

    /// Executes a call that [`TeamBoard::need`] has found to use the board, with the mark of
    /// another call of which it is a part, or 0. `by_messages` is the number of calls of the team
    /// that have used messages: with those on the board it numbers the call.
    ///
    /// # Safety
    /// The memory that the operation names must satisfy the standard's requirements for the buffers
    /// of the call.
    ///
    /// # Panics
    /// If the call cannot use a board.
    #[inline]
    pub unsafe fn execute(
        &mut self,
        operation: &Operation,
        (mark, by_messages): (u16, u64),
        waiter: &mut dyn WaitLoop,
    ) -> BoardOutcome {
        let call = NumberedCall { mark, number: by_messages + self.calls() };
        // SAFETY: the memory that the operation names is as the standard requires until this
        // function returns (its contract).
        unsafe { blocking::perform(operation, call, self, waiter) }
    }
}

/// The member whose call is polled.
pub(super) struct PolledMember<'a> {
    desk: &'a Desk,
}

impl PolledMember<'_> {
    /// See [`Member::out_of_step`].
    pub(super) fn out_of_step(&mut self, member: usize) -> ! {
        self.caller().out_of_step(member)
    }

    /// See [`Member::progress`].
    pub(super) fn progress(&mut self) {
        self.caller().progress();
    }

    /// Notes that the call waits for something that it has not waited for before.
    pub(super) fn suspend(&mut self) {
        self.desk.has_moved.set(true);
    }

    /// True if the call should look for members in other calls.
    pub(super) fn has_waited_long(&self) -> bool {
        self.desk.has_waited_long.get()
    }

    /// True if the call must end where it waits.
    pub(super) fn must_stop(&self) -> bool {
        self.desk.must_stop.get()
    }

    /// True if the call must be suspended where it would wait, whether or not it must wait.
    pub(super) fn pauses(&self) -> bool {
        self.desk.pauses.get()
    }

    fn caller(&mut self) -> &mut dyn Member {
        let mut member = self.desk.member.get().expect("a call goes on only while it is polled");
        // SAFETY: `PendingCall::poll` has placed the pointer and returns after this reference is
        // used, since a call goes on only inside it; nobody else uses the member meanwhile.
        unsafe { member.as_mut() }
    }
}

/// What the owner of a nonblocking call and its task exchange.
#[derive(Default)]
struct Desk {
    /// The call under way.
    operation: RefCell<Option<Operation>>,
    /// Its number and mark.
    call: Cell<NumberedCall>,
    /// The board, before the call begins.
    board: Cell<Option<Box<TeamBoard>>>,
    /// The board once the call is complete, and how it has ended.
    outcome: Cell<Option<(Box<TeamBoard>, BoardOutcome)>>,
    /// The member that polls.
    member: Cell<Option<NonNull<dyn Member>>>,
    has_moved: Cell<bool>,
    has_waited_long: Cell<bool>,
    /// True if the call must end where it waits.
    must_stop: Cell<bool>,
    /// True if the call has just begun and folds so much that it must not go on at once.
    pauses: Cell<bool>,
}

/// A nonblocking call, which owns its operation and its board until it is complete; then it can be
/// started again with others. The task that runs calls one after another is made once: to allocate
/// its state takes longer than a short call.
pub struct PendingCall {
    task: Pin<Box<dyn Future<Output = Infallible>>>,
    desk: Rc<Desk>,
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
    /// How it has ended.
    pub outcome: BoardOutcome,
}

// SAFETY: the pointers of a call are dereferenced only while it is polled, and it moves between
// threads as a whole, with both owners of the desk.
unsafe impl Send for PendingCall {}

impl Default for PendingCall {
    fn default() -> PendingCall {
        let desk = Rc::new(Desk::default());
        PendingCall { task: Box::pin(perform_all(desk.clone())), desk }
    }
}

/// Performs the calls that are laid on the desk.
#[expect(
    clippy::await_holding_refcell_ref,
    reason = "the operation is taken once its call is over"
)]
async fn perform_all(desk: Rc<Desk>) -> Infallible {
    loop {
        let mut board = poll_fn(|_| desk.board.take().map_or(Poll::Pending, Poll::Ready)).await;
        let operation = desk.operation.borrow();
        let operation = operation.as_ref().expect("a board comes with an operation");
        let mut polled = PolledMember { desk: &desk };
        let call = desk.call.get();
        // SAFETY: the memory that the operation names is as the standard requires while the call is
        // under way (contract of `PendingCall::start`).
        let outcome =
            unsafe { suspending::perform(operation, call, &mut board, &mut polled).await };
        desk.outcome.set(Some((board, outcome)));
    }
}

impl PendingCall {
    /// Starts a call that [`TeamBoard::need`] has found to use the board, under its number. Nothing
    /// happens before the first poll.
    ///
    /// # Safety
    /// The contract of [`TeamBoard::execute`] applies until the call is complete, or for ever if it
    /// is dropped before: others may still write to the buffer of a root.
    ///
    /// # Panics
    /// If another call is under way, or, when it is polled, if the call cannot use a board.
    pub unsafe fn start(
        &mut self,
        operation: Operation,
        call: NumberedCall,
        board: Box<TeamBoard>,
    ) {
        self.desk.call.set(call);
        self.desk.must_stop.set(false);
        self.desk.pauses.set(operation.folded_bytes() > MOST_AT_ONCE);
        let before = self.desk.operation.replace(Some(operation));
        assert!(before.is_none(), "a call was started before the last one was complete");
        self.desk.board.set(Some(board));
    }

    /// Makes the next poll look for members in other calls.
    pub fn look_for_mismatch(&mut self) {
        self.desk.has_waited_long.set(true);
    }

    /// Makes the next poll end the call out of step where it waits.
    pub fn stop(&mut self) {
        self.desk.must_stop.set(true);
    }

    /// Goes on with the call as far as possible without waiting. Without a call under way, one is
    /// pending for ever.
    pub fn poll(&mut self, member: &mut dyn Member) -> CallState {
        let caller: NonNull<dyn Member + '_> = NonNull::from(member);
        // SAFETY: only erases the lifetime; the pointer is removed below, while `member` is still
        // borrowed.
        let caller = unsafe { transmute::<NonNull<dyn Member + '_>, NonNull<dyn Member>>(caller) };
        self.desk.member.set(Some(caller));
        let Poll::Pending = self.task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        self.desk.member.set(None);
        self.desk.has_waited_long.set(false);
        self.desk.pauses.set(false);
        match self.desk.outcome.take() {
            None => CallState::Pending { has_moved: self.desk.has_moved.take() },
            Some((board, outcome)) => {
                let operation =
                    self.desk.operation.take().expect("the operation stays on the desk");
                CallState::Complete(CompleteCall { operation, board, outcome })
            }
        }
    }
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("call on a board")
    }
}
