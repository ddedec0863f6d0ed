//! Blocking collectives on a board: every rank writes its part once where all others read it.
//!
//! A call is a number of rounds that all ranks compute alike from the bytes of the call: in a round
//! each rank that gives data posts a chunk, and each rank that takes data reads the chunks of
//! others. No tree: with more ranks than cores each level of a tree costs a switch of processes,
//! with few ranks there is nothing to save (figures: research on collectives, section 2.2). The
//! waiting loop is the caller's ([`Patience`]).

mod movement;
mod reductions;

use towpath_base::transfer::Target;
use towpath_engine::board::{Board, INLINE, Posted, PrefetchHint, Room, Want};

use crate::operation::Operation;
use crate::select::{COLLECTIVES, Collective, Crowd, Selection, Size};

/// The waiting loop of the process.
pub trait Patience {
    /// Returns when `ready` says true, which it does after another member has done what this one
    /// wants on the board.
    fn wait(&mut self, ready: &mut dyn FnMut() -> bool);
    /// Ends the job: this member of the team is in another call of the communicator than I am, so
    /// the ranks have not called the same collectives with sizes that fit together, and nothing on
    /// the board can be trusted any more.
    fn out_of_step(&mut self, member: usize) -> !;
}

/// Which part of a board a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Lines: all messages are short.
    Lines,
    /// Areas too.
    Areas,
}

/// Looks at a line before the waiting loop is asked, where ranks do not share cores.
const LOOKS: u32 = 64;
/// Bytes of a round where ranks do not share cores and some only write, others only read: while
/// these read a chunk, those write the next.
const CHUNK: usize = 16 << 10;
/// The same where every rank writes and reads, so that nothing is gained by parts: each round costs
/// a hand-over in both directions, and long rows are copied at a higher rate.
const CHUNK_OF_ALL: usize = 128 << 10;
/// Largest message with a block for each rank, where ranks do not share cores: longer ones go in
/// messages, which move larger pieces.
const LARGEST_ROW: i64 = 512 << 10;
/// Most rounds of such a message.
const ROUNDS: i64 = 64;

/// Which calls of a team go over its board: what [`Selection`] says, looked up once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    ranks: usize,
    /// Whether the ranks share cores.
    crowd: Crowd,
    /// Largest message that has a block for each rank.
    row: i64,
    /// Most bytes of each collective that goes over the board; -1 where none does.
    bytes: [i64; COLLECTIVES.len()],
}

impl Limits {
    /// Those of a team of so many ranks.
    pub fn new(selection: &Selection, ranks: usize, crowd: Crowd) -> Limits {
        let size = Size::of(ranks, 0).on_board(crowd);
        let limit = |collective| selection.limit_of_board(collective, size).unwrap_or(-1);
        let mut bytes = [-1; COLLECTIVES.len()];
        for &(_, collective) in COLLECTIVES {
            bytes[collective as usize] = limit(collective);
        }
        let row = ROUNDS * Board::largest_of(ranks) as i64;
        let row = if crowd == Crowd::Fitting { row.min(LARGEST_ROW) } else { row };
        Limits { ranks, crowd, row, bytes }
    }

    /// Whether a call should go over the board, and what it needs of it. All ranks come to the same
    /// answer.
    pub fn need(&self, operation: &Operation) -> Option<Need> {
        let (collective, bytes, message) = sizes(operation, self.ranks)?;
        if bytes > self.bytes[collective as usize] {
            return None;
        }
        if message <= INLINE as i64 {
            return Some(Need::Lines);
        }
        let row = matches!(collective, Collective::Scatter | Collective::Alltoall);
        (!row || message <= self.row).then_some(Need::Areas)
    }
}

/// Largest message of a round, `fitting` where ranks do not share cores.
fn chunk(largest: usize, crowd: Crowd, fitting: usize) -> usize {
    if crowd == Crowd::Fitting { fitting.min(largest) } else { largest }
}

/// The collective, the bytes by which its algorithm is chosen, and the longest message of a rank;
/// `None` where a board cannot be used.
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
        Operation::Scan { operand, .. } if operand.is_plain() => (Collective::Scan, operand.bytes(), operand.bytes()),
        _ => return None,
    })
}

/// Executes a call that [`Limits::need`] has sent to the board; `call` is its number on this
/// communicator, equal on all ranks (its lower 16 bits count). False when another rank sent more
/// than this one expects.
///
/// # Safety
/// The memory that the operation names must be as the standard asks of the buffers of the call.
///
/// # Panics
/// When the call cannot go over a board.
pub unsafe fn execute(
    operation: &Operation,
    board: &mut Board,
    limits: &Limits,
    call: u32,
    patience: &mut dyn Patience,
) -> bool {
    let mut session = Session { board, crowd: limits.crowd, call: call as u16, patience, truncated: false };
    // SAFETY: the buffers are as the standard asks: they have the elements that are named, live
    // until the call returns, do not overlap, and nobody else uses them meanwhile.
    unsafe {
        match operation {
            Operation::Barrier => session.barrier(),
            Operation::Bcast { root, data } => session.bcast(*root, data),
            Operation::Gather(arguments) => session.gather(arguments),
            Operation::Scatter(arguments) => session.scatter(arguments),
            Operation::Allgather(arguments) => session.allgather(arguments),
            Operation::Alltoall(arguments) => session.alltoall(arguments),
            Operation::Reduce { root, operand, receive } => session.reduce(*root, operand, *receive),
            Operation::Allreduce { operand, receive } => session.allreduce(operand, *receive),
            Operation::ReduceScatter { operand, counts, receive } => session.reduce_scatter(operand, counts, *receive),
            Operation::Scan { operand, receive, exclusive } => session.scan(operand, *receive, *exclusive),
            Operation::Gatherv(_) | Operation::Scatterv(_) => panic!("only the root knows the sizes of this call"),
        }
    }
    !session.truncated
}

/// One call on a board.
struct Session<'a> {
    board: &'a mut Board,
    crowd: Crowd,
    /// Stamp of all lines of this call.
    call: u16,
    patience: &'a mut dyn Patience,
    /// Another rank sent more than this one expected.
    truncated: bool,
}

impl Session<'_> {
    /// Largest message of a round in which some write and others read.
    fn chunk(&self) -> usize {
        chunk(self.board.largest(), self.crowd, CHUNK)
    }

    /// Largest message of a round in which all write and read.
    fn chunk_of_all(&self) -> usize {
        chunk(self.board.largest(), self.crowd, CHUNK_OF_ALL)
    }

    /// Posts `length` bytes as soon as there is room for them.
    #[inline]
    fn post(&mut self, length: usize, fill: impl FnOnce(Room<'_>)) {
        if let Err(member) = self.board.has_room(length) {
            self.wait_for_room(length, member);
        }
        self.board.post(self.call, length, fill);
    }

    #[cold]
    fn wait_for_room(&mut self, length: usize, mut slowest: usize) {
        // Who is the slowest may change meanwhile, so the loop is asked anew.
        loop {
            self.board.want(Want::End(slowest));
            let board = &mut *self.board;
            let mut found = Ok(());
            self.patience.wait(&mut || {
                found = board.has_room(length);
                found != Err(slowest)
            });
            match found {
                Ok(()) => return,
                Err(member) => slowest = member,
            }
        }
    }

    /// What a member posts in this round.
    #[inline]
    fn expect(&mut self, member: usize) -> Posted {
        if let Some(posted) = self.board.look(member) {
            // The member is ahead: its next lines are there too.
            self.board.prefetch(member);
            return self.checked(posted, member);
        }
        let hint = self.board.prefetch_hint(member);
        let looks = if self.crowd == Crowd::Crowded { 0 } else { LOOKS };
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
            self.patience.out_of_step(member);
        }
        posted
    }

    #[cold]
    fn expect_slowly(&mut self, member: usize, hint: PrefetchHint) -> Posted {
        self.board.want(Want::Line(member));
        let (board, mut found) = (&*self.board, None);
        self.patience.wait(&mut || {
            hint.prefetch();
            found = board.look(member);
            found.is_some()
        });
        let posted = found.expect("the waiting loop ends when the line is written");
        self.checked(posted, member)
    }

    /// Waits, where ranks share cores, until all members have posted in this round: only the last
    /// of them wakes me. Where each has a core, whatever is there can be worked on while others
    /// post.
    fn expect_all(&mut self) {
        if self.crowd == Crowd::Crowded {
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
        self.patience.wait(&mut || see_all(board, call, &mut seen));
        if seen < board.size() {
            self.patience.out_of_step(seen);
        }
    }

    /// The other members, beginning behind me so that not all look at the same one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (own, size) = (self.board.own(), self.board.size());
        (own + 1..size).chain(0..own)
    }
}

/// Whether all members have posted, beginning with member `seen`, which moves on. A line of another
/// call ends the look.
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

/// Cursors over the blocks of all ranks. A call of one round needs none beyond the round, and makes
/// no list.
struct Cursors<T> {
    kept: Vec<T>,
}

impl<T> Cursors<T> {
    fn new(rounds: usize, blocks: usize, make: impl FnMut(usize) -> T) -> Cursors<T> {
        Cursors { kept: if rounds > 1 { (0..blocks).map(make).collect() } else { Vec::new() } }
    }

    fn with<R>(&mut self, block: usize, make: impl FnOnce(usize) -> T, using: impl FnOnce(&mut T) -> R) -> R {
        match self.kept.get_mut(block) {
            Some(cursor) => using(cursor),
            None => using(&mut make(block)),
        }
    }
}

/// Gives posted bytes to a target; false when it has no room for all.
///
/// # Safety
/// The memory behind the target must live.
unsafe fn drain(target: &mut Target, posted: Posted) -> bool {
    let fits = posted.length <= target.length();
    // SAFETY: what was posted stays readable during the round.
    unsafe { target.drain_all(posted.pointer, posted.length) };
    fits
}
