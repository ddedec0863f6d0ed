//! One call on a board: its rounds, what it posts, and what it waits for.

use towpath_base::transfer::Target;
use towpath_engine::board::{Board, NumberedCall, Posted, PrefetchHint, Room, Want};
use towpath_schedule::buffers::Piece;
use towpath_schedule::select::Subscription;
use towpath_schedule::{CallSignature, Operation, numbers};

use super::super::team::{BoardOutcome, TeamBoard};
use super::{LOOKS, Waiter, both_forms, pauses, wait_until};
use crate::memory;

/// Bytes of a round when not oversubscribed and some ranks only write while others only read: the
/// readers read one chunk while the writers write the next.
const CHUNK: usize = 16 << 10;
/// Like [`CHUNK`], when every rank writes and reads. Small chunks gain nothing then: each round
/// costs a hand-off in both directions, and long copies run at a higher rate.
const CHUNK_OF_ALL: usize = 128 << 10;

/// Largest message of a round: `full` when not oversubscribed, as far as the board allows.
fn chunk(largest: usize, subscription: Subscription, full: usize) -> usize {
    if subscription == Subscription::Full { full.min(largest) } else { largest }
}

/// Executes a call. Without a mark it gets that of its operation.
///
/// # Safety
/// The contract of `TeamBoard::execute` applies.
#[both_forms]
pub(in super::super) async unsafe fn perform<'a>(
    operation: &Operation,
    call: NumberedCall,
    board: &'a mut TeamBoard,
    waiter: &'a mut Waiter<'a>,
) -> BoardOutcome {
    let mut session = BoardCall {
        call: call.number as u16,
        board: &mut board.board,
        subscription: board.limits.subscription,
        waiter,
        truncated: false,
        apart: &mut board.apart,
    };
    // SAFETY: the buffers have the elements that are named, are valid until the call returns, do
    // not overlap, and are not accessed by others (this function's contract).
    let ended = unsafe {
        match operation {
            _ if operation.is_empty() => {
                session.begin(call, CallSignature::of(operation).mark()).nothing().await
            }
            Operation::Barrier => session.named(call, numbers::BARRIER, None).barrier().await,
            Operation::Bcast { root, data } => {
                session.named(call, numbers::BCAST, Some(*root)).bcast(*root, data).await
            }
            Operation::Gather(arguments) => {
                let root = Some(arguments.root);
                session.named(call, numbers::GATHER, root).gather(arguments).await
            }
            Operation::Scatter(arguments) => {
                let root = Some(arguments.root);
                session.named(call, numbers::SCATTER, root).scatter(arguments).await
            }
            Operation::Allgather(arguments) => {
                session.named(call, numbers::ALLGATHER, None).allgather(arguments).await
            }
            Operation::Alltoall(arguments) => {
                session.named(call, numbers::ALLTOALL, None).alltoall(arguments).await
            }
            Operation::Reduce { root, operand, receive } => {
                let session = session.named(call, numbers::REDUCE, Some(*root));
                session.reduce(*root, operand, *receive).await
            }
            Operation::Allreduce { operand, receive } => {
                session.named(call, numbers::ALLREDUCE, None).allreduce(operand, *receive).await
            }
            Operation::ReduceScatter { operand, counts, receive } => {
                let session = session.named(call, numbers::REDUCE_SCATTER, None);
                session.reduce_scatter(operand, counts, *receive).await
            }
            Operation::Scan { operand, receive, exclusive } => {
                let number = if *exclusive { numbers::EXSCAN } else { numbers::SCAN };
                session.named(call, number, None).scan(operand, *receive, *exclusive).await
            }
            Operation::Gatherv(arguments) => {
                let root = Some(arguments.root);
                session.named(call, numbers::GATHERV, root).gatherv(arguments).await
            }
            Operation::Scatterv(arguments) => {
                let root = Some(arguments.root);
                session.named(call, numbers::SCATTERV, root).scatterv(arguments).await
            }
        }
    };
    match ended {
        Ok(()) if session.truncated => BoardOutcome::Truncated,
        Ok(()) => BoardOutcome::Complete,
        Err(Stopped) => BoardOutcome::OutOfStep,
    }
}

/// The call has ended, because a member is in another one. Which one the board knows
/// ([`Board::other_call`]): if it were in this type, short calls would take longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopped;

/// One call on a board.
pub(super) struct BoardCall<'a> {
    pub(super) board: &'a mut Board,
    pub(super) subscription: Subscription,
    /// Stamp on all lines of this call: its number.
    call: u16,
    pub(super) waiter: &'a mut Waiter<'a>,
    /// Another rank sent more than this one expected.
    pub(super) truncated: bool,
    /// See [`TeamBoard::messages_apart`].
    pub(super) apart: &'a mut Vec<usize>,
}

impl BoardCall<'_> {
    /// Begins the call on the board with the mark of its number and root, which is a constant where
    /// this is called.
    #[inline(always)]
    fn named(&mut self, call: NumberedCall, number: u32, root: Option<usize>) -> &mut Self {
        self.begin(call, CallSignature::mark_of(number, root))
    }

    /// Begins the call on the board. If it has no mark, it gets `own`.
    #[inline(always)]
    fn begin(&mut self, call: NumberedCall, own: u16) -> &mut Self {
        let mark = if call.mark == 0 { own } else { call.mark };
        self.board.begin(NumberedCall { mark, ..call });
        self
    }
}

impl BoardCall<'_> {
    /// Posts `length` bytes, which `fill` writes, if there is room for them now.
    pub(super) fn try_post(&mut self, length: usize, fill: impl FnOnce(Room<'_>)) -> bool {
        let is_free = self.board.has_room(length).is_ok();
        if is_free {
            // SAFETY: there is room for `length` bytes, and an operation posts at most once in each
            // of its rounds.
            unsafe { self.board.post(self.call, length, fill) };
        }
        is_free
    }

    /// True for a message of this call, and not of another one in its place.
    pub(super) fn is_of_this_call(&self, posted: Posted) -> bool {
        posted.stamp == self.call
    }
}

#[both_forms]
impl BoardCall<'_> {
    /// Largest message of a round in which some ranks write and others read.
    pub(super) fn chunk(&self) -> usize {
        chunk(self.board.largest(), self.subscription, CHUNK)
    }

    /// Largest message of a round in which all ranks write and read.
    pub(super) fn chunk_of_all(&self) -> usize {
        chunk(self.board.largest(), self.subscription, CHUNK_OF_ALL)
    }

    /// Posts `length` bytes once there is room for them. `fill` writes them, and calls its second
    /// argument while it waits for a device.
    #[inline]
    pub(super) async fn post(
        &mut self,
        length: usize,
        fill: impl FnOnce(Room<'_>, &mut dyn FnMut()),
    ) -> Result<(), Stopped> {
        if let Err(member) = self.board.has_room(length) {
            self.wait_for_room(length, member).await?;
        }
        // SAFETY: `has_room` or `wait_for_room` has just found room for `length` bytes, and an
        // operation posts at most once in each of its rounds.
        unsafe {
            self.board.post(self.call, length, |room| fill(room, &mut || self.waiter.progress()));
        }
        Ok(())
    }

    #[cold]
    async fn wait_for_room(&mut self, length: usize, mut slowest: usize) -> Result<(), Stopped> {
        // Another member may be the slowest by then, so the wait is repeated for that one.
        loop {
            self.board.want(Want::End(slowest));
            let board = &mut *self.board;
            let mut found = Err(slowest);
            let waiter = &mut *self.waiter;
            wait_until(waiter, |late| {
                found = board.has_room(length);
                found != Err(slowest) || board.is_out_of_step(late)
            })
            .await;
            match found {
                Ok(()) => return Ok(()),
                Err(member) if member == slowest => return Err(Stopped),
                Err(member) => slowest = member,
            }
        }
    }

    /// Waits for the message that a member posts in this round, and returns it.
    #[inline]
    pub(super) async fn expect(&mut self, member: usize) -> Result<Posted, Stopped> {
        let pauses = pauses(self.waiter);
        if !pauses && let Some(posted) = self.board.look(member) {
            // The member is ahead, so its next lines have been written too.
            self.board.prefetch(member);
            return Ok(self.checked(posted, member));
        }
        let hint = self.board.prefetch_hint(member);
        let looks = if pauses || self.subscription == Subscription::Over { 0 } else { LOOKS };
        for _ in 0..looks {
            hint.prefetch();
            if let Some(posted) = self.board.look(member) {
                return Ok(self.checked(posted, member));
            }
        }
        self.expect_slowly(member, hint).await
    }

    #[inline]
    fn checked(&mut self, posted: Posted, member: usize) -> Posted {
        if !self.is_of_this_call(posted) {
            self.waiter.out_of_step(member);
        }
        posted
    }

    #[cold]
    async fn expect_slowly(
        &mut self,
        member: usize,
        hint: PrefetchHint,
    ) -> Result<Posted, Stopped> {
        self.board.want(Want::Line(member));
        let (board, mut found) = (&mut *self.board, None);
        let waiter = &mut *self.waiter;
        wait_until(waiter, |late| {
            hint.prefetch();
            found = board.look(member);
            found.is_some() || board.is_out_of_step(late)
        })
        .await;
        let posted = found.ok_or(Stopped)?;
        Ok(self.checked(posted, member))
    }

    /// When oversubscribed, waits until all members have posted in this round, so that only the
    /// last of them causes a wake-up. Otherwise returns immediately: a rank with a core to itself
    /// can process what has been posted while others still post.
    pub(super) async fn expect_all(&mut self) -> Result<(), Stopped> {
        if self.subscription == Subscription::Over {
            let mut seen = 0;
            if pauses(self.waiter) || !see_all(self.board, self.call, &mut seen) {
                self.expect_all_slowly(seen).await?;
            }
        }
        Ok(())
    }

    #[cold]
    async fn expect_all_slowly(&mut self, mut seen: usize) -> Result<(), Stopped> {
        self.board.want(Want::AllLines);
        let (board, call) = (&mut *self.board, self.call);
        let (waiter, mut found) = (&mut *self.waiter, false);
        wait_until(waiter, |late| {
            found = see_all(board, call, &mut seen);
            found || board.is_out_of_step(late)
        })
        .await;
        if found && seen < board.size() {
            self.waiter.out_of_step(seen);
        }
        if found { Ok(()) } else { Err(Stopped) }
    }

    /// Stores a posted message in a target. The call is truncated if it does not fit.
    ///
    /// # Safety
    /// The memory behind the target must be valid.
    pub(super) unsafe fn drain(&mut self, target: &mut Target, posted: Posted) {
        self.truncated |= posted.length > target.length();
        let mut wait = || self.waiter.progress();
        // SAFETY: a posted message stays readable during its round, and the memory behind the
        // target is valid (this function's contract).
        unsafe { target.drain_all(posted.pointer.as_ptr(), posted.length, &mut wait) };
    }

    /// Copies data between buffers of this rank, and waits for the device if one is involved.
    ///
    /// # Safety
    /// As for [`memory::copy`].
    pub(super) unsafe fn copy(&mut self, from: &Piece, to: &Piece) {
        // SAFETY: the memory of both is valid, and they do not overlap (this function's contract).
        if let Some(mut copy) = unsafe { memory::copy(from, to) } {
            copy.finish(&mut || self.waiter.progress());
        }
    }
}

/// The other members, starting with the next one, so that not all ranks read from the same
/// member at once.
pub(super) fn others(board: &Board) -> impl Iterator<Item = usize> + use<> {
    let (own, size) = (board.own(), board.size());
    (own + 1..size).chain(0..own)
}

/// True if all members have posted. `seen` is the first member not yet checked, and advances. Also
/// true on the first line of a different call, where `seen` then stays.
fn see_all(board: &Board, call: u16, seen: &mut usize) -> bool {
    while *seen < board.size() {
        match board.look(*seen) {
            None => return false,
            Some(posted) if posted.stamp != call => return true,
            Some(_) => *seen += 1,
        }
    }
    true
}

/// Cursors over the blocks of all ranks. A call with a single round creates its cursors on the fly
/// and allocates no list.
pub(super) struct Cursors<T> {
    kept: Vec<T>,
}

impl<T> Cursors<T> {
    pub(super) fn new(rounds: usize, blocks: usize, make: impl FnMut(usize) -> T) -> Cursors<T> {
        Cursors { kept: if rounds > 1 { (0..blocks).map(make).collect() } else { Vec::new() } }
    }

    pub(super) fn with<R>(
        &mut self,
        block: usize,
        make: impl FnOnce(usize) -> T,
        using: impl FnOnce(&mut T) -> R,
    ) -> R {
        match self.kept.get_mut(block) {
            Some(cursor) => using(cursor),
            None => using(&mut make(block)),
        }
    }
}
