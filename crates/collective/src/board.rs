//! Blocking collectives on a board: every rank writes its part once, where all others can read it.
//!
//! A call consists of rounds, whose number all ranks derive from the bytes of the call. In a round,
//! each rank that provides data posts a chunk, and each rank that needs data reads the chunks of
//! others. There is no tree: when oversubscribed, each level of a tree costs a context switch, and
//! with few ranks a tree saves nothing (figures: research on collectives, section 2.2). The caller
//! provides the waiting loop ([`WaitLoop`]).

mod movement;
mod reductions;

use towpath_base::transfer::Target;
use towpath_engine::board::{Board, INLINE, Posted, PrefetchHint, Room, Want};
use towpath_schedule::Operation;
use towpath_schedule::buffers::Piece;
use towpath_schedule::select::{COLLECTIVES, Collective, Selection, Size, Subscription};

use crate::memory;

/// The waiting loop of the process.
pub trait WaitLoop {
    /// Returns once `ready` returns true, which it does after another member has posted or finished
    /// what this one waits for.
    fn wait(&mut self, ready: &mut dyn FnMut() -> bool);
    /// Ends the job: `member` is in a different call on the communicator than this rank. The ranks
    /// have not called the same collectives with matching sizes, so the content of the board cannot
    /// be trusted.
    fn out_of_step(&mut self, member: usize) -> !;
    /// Makes one round of progress, while a device is busy with data of this call.
    fn progress(&mut self);
}

/// The parts of a board that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Lines only: all messages are short.
    Lines,
    /// Lines and areas.
    Areas,
}

/// Number of polls of a line before waiting, when not oversubscribed.
const LOOKS: u32 = 64;
/// Bytes of a round when not oversubscribed and some ranks only write while others only read: the
/// readers read one chunk while the writers write the next.
const CHUNK: usize = 16 << 10;
/// Like [`CHUNK`], when every rank writes and reads. Small chunks gain nothing then: each round
/// costs a hand-off in both directions, and long copies run at a higher rate.
const CHUNK_OF_ALL: usize = 128 << 10;
/// Largest message with a block for each rank when not oversubscribed. Longer ones use messages,
/// which move larger pieces.
const LARGEST_IN_BLOCKS: i64 = 512 << 10;
/// Maximum number of rounds of a message with a block for each rank.
const ROUNDS: i64 = 64;

/// The calls of a team that use its board: the decisions of [`Selection`], looked up once.
#[derive(Clone, Copy, Debug)]
pub struct BoardLimits {
    ranks: usize,
    /// Whether the ranks are oversubscribed.
    subscription: Subscription,
    /// Largest message that has a block for each rank.
    in_blocks: i64,
    /// Maximum bytes for which each collective uses the board; -1 if it never does.
    bytes: [i64; COLLECTIVES.len()],
}

impl BoardLimits {
    /// The limits of a team of `ranks` ranks.
    pub fn new(selection: &Selection, ranks: usize, subscription: Subscription) -> BoardLimits {
        let size = Size::of(ranks, 0).on_board(subscription);
        let limit = |collective| selection.limit_of_board(collective, size).unwrap_or(-1);
        let mut bytes = [-1; COLLECTIVES.len()];
        for &(_, collective) in COLLECTIVES {
            bytes[collective as usize] = limit(collective);
        }
        let in_blocks = ROUNDS * Board::largest_of(ranks) as i64;
        let in_blocks = if subscription == Subscription::Full {
            in_blocks.min(LARGEST_IN_BLOCKS)
        } else {
            in_blocks
        };
        BoardLimits { ranks, subscription, in_blocks, bytes }
    }

    /// The parts of the board that the call needs; `None` if it should not use the board. All ranks
    /// get the same answer.
    pub fn need(&self, operation: &Operation) -> Option<Need> {
        let (collective, bytes, message) = sizes(operation, self.ranks)?;
        if bytes > self.bytes[collective as usize] {
            return None;
        }
        if message <= INLINE as i64 {
            return Some(Need::Lines);
        }
        let in_blocks = matches!(collective, Collective::Scatter | Collective::Alltoall);
        (!in_blocks || message <= self.in_blocks).then_some(Need::Areas)
    }
}

/// Largest message of a round: `full` when not oversubscribed, as far as the board allows.
fn chunk(largest: usize, subscription: Subscription, full: usize) -> usize {
    if subscription == Subscription::Full { full.min(largest) } else { largest }
}

/// The collective, the bytes by which its algorithm is chosen, and the longest message of a rank;
/// `None` if the call cannot use a board.
fn sizes(operation: &Operation, size: usize) -> Option<(Collective, i64, i64)> {
    let ranks = size as i64;
    Some(match operation {
        Operation::Barrier => (Collective::Barrier, 0, 0),
        Operation::Bcast { data, .. } => (Collective::Bcast, data.bytes(), data.bytes()),
        Operation::Gather(arguments) => {
            let bytes = movement::block(arguments.send.as_ref(), arguments.receive.as_ref());
            (Collective::Gather, bytes, bytes)
        }
        Operation::Scatter(arguments) => {
            let bytes = movement::block(arguments.receive.as_ref(), arguments.send.as_ref());
            (Collective::Scatter, bytes, bytes.saturating_mul(ranks))
        }
        Operation::Allgather(arguments) if arguments.receive.is_equal() => {
            let bytes = arguments.receive.bytes(0);
            (Collective::Allgather, bytes.saturating_mul(ranks), bytes)
        }
        Operation::Alltoall(arguments) if arguments.receive.is_equal() => {
            let bytes = arguments.receive.bytes(0);
            (Collective::Alltoall, bytes, bytes.saturating_mul(ranks))
        }
        Operation::Reduce { operand, .. } if operand.is_plain() => {
            (Collective::Reduce, operand.bytes(), operand.bytes())
        }
        Operation::Allreduce { operand, .. } if operand.is_plain() => {
            (Collective::Allreduce, operand.bytes(), operand.bytes())
        }
        Operation::ReduceScatter { operand, .. } if operand.is_plain() => {
            (Collective::ReduceScatter, operand.bytes(), operand.bytes())
        }
        Operation::Scan { operand, .. } if operand.is_plain() => {
            (Collective::Scan, operand.bytes(), operand.bytes())
        }
        _ => return None,
    })
}

/// Executes a call for which [`BoardLimits::need`] has chosen the board. `call` numbers the calls
/// of the communicator and is equal on all ranks; only its lower 16 bits are used. Returns false if
/// another rank sent more than this one expects.
///
/// # Safety
/// The memory that the operation names must satisfy the standard's requirements for the buffers of
/// the call.
///
/// # Panics
/// If the call cannot use a board.
pub unsafe fn execute(
    operation: &Operation,
    board: &mut Board,
    limits: &BoardLimits,
    call: u32,
    waiter: &mut dyn WaitLoop,
) -> bool {
    let mut session = BoardCall {
        board,
        subscription: limits.subscription,
        call: call as u16,
        waiter,
        truncated: false,
    };
    // SAFETY: the buffers have the elements that are named, are valid until the call returns, do
    // not overlap, and are not accessed by others (this function's contract).
    unsafe {
        match operation {
            Operation::Barrier => session.barrier(),
            Operation::Bcast { root, data } => session.bcast(*root, data),
            Operation::Gather(arguments) => session.gather(arguments),
            Operation::Scatter(arguments) => session.scatter(arguments),
            Operation::Allgather(arguments) => session.allgather(arguments),
            Operation::Alltoall(arguments) => session.alltoall(arguments),
            Operation::Reduce { root, operand, receive } => {
                session.reduce(*root, operand, *receive)
            }
            Operation::Allreduce { operand, receive } => session.allreduce(operand, *receive),
            Operation::ReduceScatter { operand, counts, receive } => {
                session.reduce_scatter(operand, counts, *receive)
            }
            Operation::Scan { operand, receive, exclusive } => {
                session.scan(operand, *receive, *exclusive)
            }
            Operation::Gatherv(_) | Operation::Scatterv(_) => {
                panic!("only the root knows the sizes of this call")
            }
        }
    }
    !session.truncated
}

/// One call on a board.
struct BoardCall<'a> {
    board: &'a mut Board,
    subscription: Subscription,
    /// Stamp on all lines of this call.
    call: u16,
    waiter: &'a mut dyn WaitLoop,
    /// Another rank sent more than this one expected.
    truncated: bool,
}

impl BoardCall<'_> {
    /// Largest message of a round in which some ranks write and others read.
    fn chunk(&self) -> usize {
        chunk(self.board.largest(), self.subscription, CHUNK)
    }

    /// Largest message of a round in which all ranks write and read.
    fn chunk_of_all(&self) -> usize {
        chunk(self.board.largest(), self.subscription, CHUNK_OF_ALL)
    }

    /// Posts `length` bytes once there is room for them. `fill` writes them, and calls its second
    /// argument while it waits for a device.
    #[inline]
    fn post(&mut self, length: usize, fill: impl FnOnce(Room<'_>, &mut dyn FnMut())) {
        if let Err(member) = self.board.has_room(length) {
            self.wait_for_room(length, member);
        }
        // SAFETY: `has_room` or `wait_for_room` has just found room for `length` bytes, and an
        // operation posts at most once in each of its rounds.
        unsafe {
            self.board.post(self.call, length, |room| fill(room, &mut || self.waiter.progress()));
        }
    }

    #[cold]
    fn wait_for_room(&mut self, length: usize, mut slowest: usize) {
        // Another member may be the slowest by then, so the wait is repeated for that one.
        loop {
            self.board.want(Want::End(slowest));
            let board = &mut *self.board;
            let mut found = Err(slowest);
            self.waiter.wait(&mut || {
                found = board.has_room(length);
                found != Err(slowest)
            });
            match found {
                Ok(()) => return,
                Err(member) => slowest = member,
            }
        }
    }

    /// Waits for the message that a member posts in this round, and returns it.
    #[inline]
    fn expect(&mut self, member: usize) -> Posted {
        if let Some(posted) = self.board.look(member) {
            // The member is ahead, so its next lines have been written too.
            self.board.prefetch(member);
            return self.checked(posted, member);
        }
        let hint = self.board.prefetch_hint(member);
        let looks = if self.subscription == Subscription::Over { 0 } else { LOOKS };
        for _ in 0..looks {
            hint.prefetch();
            if let Some(posted) = self.board.look(member) {
                return self.checked(posted, member);
            }
        }
        self.expect_slowly(member, hint)
    }

    #[inline]
    fn checked(&mut self, posted: Posted, member: usize) -> Posted {
        if posted.stamp != self.call {
            self.waiter.out_of_step(member);
        }
        posted
    }

    #[cold]
    fn expect_slowly(&mut self, member: usize, hint: PrefetchHint) -> Posted {
        self.board.want(Want::Line(member));
        let (board, mut found) = (&*self.board, None);
        self.waiter.wait(&mut || {
            hint.prefetch();
            found = board.look(member);
            found.is_some()
        });
        let posted = found.expect("the waiting loop ends when the line is written");
        self.checked(posted, member)
    }

    /// When oversubscribed, waits until all members have posted in this round, so that only the
    /// last of them causes a wake-up. Otherwise returns immediately: a rank with a core to itself
    /// can process what has been posted while others still post.
    fn expect_all(&mut self) {
        if self.subscription == Subscription::Over {
            let mut seen = 0;
            if !see_all(self.board, self.call, &mut seen) {
                self.expect_all_slowly(seen);
            }
        }
    }

    #[cold]
    fn expect_all_slowly(&mut self, mut seen: usize) {
        self.board.want(Want::AllLines);
        let (board, call) = (&*self.board, self.call);
        self.waiter.wait(&mut || see_all(board, call, &mut seen));
        if seen < board.size() {
            self.waiter.out_of_step(seen);
        }
    }

    /// Stores a posted message in a target. The call is truncated if it does not fit.
    ///
    /// # Safety
    /// The memory behind the target must be valid.
    unsafe fn drain(&mut self, target: &mut Target, posted: Posted) {
        self.truncated |= posted.length > target.length();
        let mut wait = || self.waiter.progress();
        // SAFETY: a posted message stays readable during its round, and the memory behind the
        // target is valid (this function's contract).
        unsafe { target.drain_all(posted.pointer, posted.length, &mut wait) };
    }

    /// Copies data between buffers of this rank, and waits for the device if one is involved.
    ///
    /// # Safety
    /// As for [`memory::copy`].
    unsafe fn copy(&mut self, from: &Piece, to: &Piece) {
        // SAFETY: the memory of both is valid, and they do not overlap (this function's contract).
        if let Some(mut copy) = unsafe { memory::copy(from, to) } {
            copy.finish(&mut || self.waiter.progress());
        }
    }

    /// The other members, starting with the next one, so that not all ranks read from the same
    /// member at once.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (own, size) = (self.board.own(), self.board.size());
        (own + 1..size).chain(0..own)
    }
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
struct Cursors<T> {
    kept: Vec<T>,
}

impl<T> Cursors<T> {
    fn new(rounds: usize, blocks: usize, make: impl FnMut(usize) -> T) -> Cursors<T> {
        Cursors { kept: if rounds > 1 { (0..blocks).map(make).collect() } else { Vec::new() } }
    }

    fn with<R>(
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
