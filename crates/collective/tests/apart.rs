//! Gathers and scatters of which only the root knows all lengths, on a board: blocks of any length,
//! some of which are sent apart, ranks that disagree about lengths, and ranks that are lost.

#[path = "support/blocking.rs"]
mod blocking;
#[path = "support/failure.rs"]
mod failure;
mod support;

use std::sync::{Arc, Mutex, OnceLock};

use towpath_base::ids::PeerIndex;
use towpath_collective::board::{Begun, BoardOffer, BoardQueue, QueuedCall, TeamBoard};
use towpath_collective::gather::Gather;
use towpath_collective::scatter::Scatter;
use towpath_collective::{
    Blocks, Buffer, CallSignature, CollectiveRun, Element, Failure, HostCopies, Operation,
    Progress, Selection,
};

use towpath_datatype::device::simulated::SimulatedDevice;
use towpath_datatype::{Basic, Datatype};
use towpath_transport::Wire;

use failure::failure_of;
use support::{Caller, Counted, Offered, team};

const RANKS: usize = 4;
const CALLS: usize = 60;
/// Bytes of blocks: on lines, on areas, and apart.
const LENGTHS: [usize; 8] = [0, 1, 40, 45, 3000, 20_000, 200_000, 600_000];
/// How much longer a block is than the rank expects that gets it, by call, if they disagree.
const DISAGREEMENTS: [i64; 4] = [1, -1, 300_000, -300_000];
/// Bytes behind each block that a rank has, and their value: no call may write them.
const BEHIND: usize = 64;
const UNTOUCHED: u8 = 0xA5;
/// A call in which only the block of rank 0 is sent apart, to or from rank 1.
const ONE_APART: usize = 3;

/// A call: its root, and the bytes of the block of each rank.
#[derive(Clone, Copy)]
struct Job {
    number: usize,
    scatters: bool,
}

impl Job {
    fn root(self) -> usize {
        self.number / 2 % RANKS
    }

    /// Bytes of the block of a rank.
    fn bytes(self, rank: usize) -> usize {
        LENGTHS[(self.number * 5 + rank * (1 + self.number / 8)) % LENGTHS.len()]
    }

    fn value(self, rank: usize, index: usize) -> u8 {
        (self.number * 31 + rank * 7 + index) as u8
    }

    fn block(self, rank: usize) -> impl Iterator<Item = u8> {
        (0..self.bytes(rank)).map(move |index| self.value(rank, index))
    }
}

/// What a rank has in memory: its own block, with the bytes behind it once it has called, and at
/// the root those of all.
struct Memory {
    own: Vec<u8>,
    all: Vec<u8>,
}

impl Memory {
    fn new(job: Job, rank: usize) -> Memory {
        let bytes = (0..RANKS).map(|rank| job.bytes(rank)).sum();
        match (job.scatters, rank == job.root()) {
            (true, true) => Memory {
                own: vec![0; job.bytes(rank)],
                all: (0..RANKS).flat_map(|rank| job.block(rank)).collect(),
            },
            (true, false) => Memory { own: vec![0; job.bytes(rank)], all: Vec::new() },
            (false, true) => Memory { own: job.block(rank).collect(), all: vec![0; bytes] },
            (false, false) => Memory { own: job.block(rank).collect(), all: Vec::new() },
        }
    }

    /// The call, in which this rank's block is `more` bytes longer for it than for the root.
    fn operation(&mut self, job: Job, rank: usize, more: i64) -> Operation {
        let (root, element) = (job.root(), Element::dense(1));
        let count = (job.bytes(rank) as i64 + more).max(0);
        self.own.resize(count as usize, 0);
        self.own.extend([UNTOUCHED; BEHIND]);
        let own = Some(Buffer { pointer: self.own.as_mut_ptr(), count, element: element.clone() });
        let counts: Box<[i64]> = (0..RANKS).map(|rank| job.bytes(rank) as i64).collect();
        let first = |rank: usize| counts[..rank].iter().sum();
        let displacements = (0..RANKS).map(first).collect();
        let pointer = self.all.as_mut_ptr();
        let all =
            (rank == root).then_some(Blocks::Varying { pointer, counts, displacements, element });
        match job.scatters {
            true => Operation::Scatterv(Scatter { root, send: all, receive: own }),
            false => Operation::Gatherv(Gather { root, send: own, receive: all }),
        }
    }

    /// Checks what this rank has got, but for the block of an odd rank, if there is one, which
    /// disagrees about its length.
    fn check(&self, job: Job, rank: usize, odd: Option<usize>) {
        let (own, behind) = self.own.split_at(self.own.len() - BEHIND);
        let mut all = &self.all[..];
        let is_right = match job.scatters {
            true => odd == Some(rank) || own.iter().copied().eq(job.block(rank)),
            false => {
                rank != job.root()
                    || (0..RANKS).all(|rank| {
                        let (block, rest) = all.split_at(job.bytes(rank));
                        all = rest;
                        odd == Some(rank) || block.iter().copied().eq(job.block(rank))
                    })
            }
        };
        assert!(is_right, "call {} on rank {rank}", job.number);
        assert_eq!(behind, [UNTOUCHED; BEHIND], "call {} on rank {rank}", job.number);
    }
}

/// Begins a nonblocking call, or starts a persistent one. An error if it is over at once.
fn start(
    caller: &Caller,
    queue: &Arc<Mutex<BoardQueue>>,
    work: (Operation, HostCopies),
    (sequence, is_persistent): (usize, bool),
) -> Result<CollectiveRun<Caller>, Option<Failure>> {
    let sequence = sequence as u64;
    if is_persistent {
        let queue = Arc::default();
        let call = QueuedCall::hold(caller.clone(), queue, work, (None, sequence));
        let mut run = CollectiveRun::Queued(Box::new(call));
        // SAFETY: the memory of the call lives until it is over.
        unsafe { run.start_again() };
        return Ok(run);
    }
    // SAFETY: as above.
    let begun =
        unsafe { QueuedCall::begin(&mut caller.clone(), || caller.clone(), queue, work, sequence) };
    match begun {
        Begun::Over { is_truncated } => Err(is_truncated.then_some(Failure::Truncated)),
        Begun::Waiting(call) => Ok(CollectiveRun::Queued(call)),
        Begun::ByMessages(_) => panic!("a call of any length may use the board"),
    }
}

/// Runs a function on all ranks.
fn on_all(offered: Offered, run: impl Fn(&Caller, &mut Counted) + Sync) -> usize {
    let selection = Arc::new(Selection::default());
    support::run(RANKS, |rank, counted| {
        let (selection, team) = (selection.clone(), team(rank, &[0; RANKS]));
        run(&Caller { offered, selection, team }, counted);
    })
}

#[test]
fn blocks_of_any_length_reach_their_places() {
    for offered in [Offered::Board, Offered::Uncertain] {
        on_all(offered, |caller, counted| {
            let (rank, queue) = (caller.team.rank, Arc::default());
            for first in (0..CALLS).step_by(6) {
                let (mut memories, mut runs) = (Vec::new(), Vec::new());
                for number in first..first + 6 {
                    let job = Job { number, scatters: number % 2 > 0 };
                    memories.push((job, Memory::new(job, rank)));
                    let (job, memory) = memories.last_mut().unwrap();
                    let work = (memory.operation(*job, rank, 0), HostCopies::default());
                    match start(caller, &queue, work, (number, number % 5 == 0)) {
                        Ok(run) => runs.push(run),
                        Err(failure) => assert_eq!(failure, None),
                    }
                }
                support::complete(&mut runs, counted, rank);
                memories.iter().for_each(|(job, memory)| memory.check(*job, rank, None));
            }
        });
    }
}

/// How a rank makes its calls on a board: blocking ones, or nonblocking ones in a queue.
struct Calls<'a> {
    caller: &'a Caller,
    board: Option<TeamBoard>,
    queue: Arc<Mutex<BoardQueue>>,
    number: usize,
}

impl Calls<'_> {
    fn new<'a>(
        caller: &'a Caller,
        counted: &mut Counted,
        blocking: Option<&OnceLock<BoardOffer>>,
    ) -> Calls<'a> {
        let board = blocking.map(|told| blocking::join(caller, counted, told));
        Calls { caller, board, queue: Arc::default(), number: 0 }
    }

    /// Begins a call, which only has messages left if it is a blocking one. An error if it is over.
    fn begin(&mut self, operation: Operation) -> Result<CollectiveRun<Caller>, Option<Failure>> {
        self.number += 1;
        match &mut self.board {
            // SAFETY: the memory of the call lives until it is over.
            Some(board) => unsafe { blocking::call(board, self.caller, &operation) },
            None => {
                let work = (operation, HostCopies::default());
                start(self.caller, &self.queue, work, (self.number, false))
            }
        }
    }

    /// Calls. Returns the failure, if the call fails.
    fn call(&mut self, counted: &mut Counted, operation: Operation) -> Option<Failure> {
        match self.begin(operation) {
            Ok(mut run) => failure_of(&mut run, counted),
            Err(failure) => failure,
        }
    }
}

#[test]
fn ranks_that_disagree_about_a_length_all_end() {
    for told in [None, Some(OnceLock::new())] {
        on_all(Offered::Board, |caller, counted| {
            let rank = caller.team.rank;
            let mut calls = Calls::new(caller, counted, told.as_ref());
            for number in 0..CALLS {
                let job = Job { number, scatters: number % 2 > 0 };
                let odd = (job.root() + 1) % RANKS;
                let wanted = DISAGREEMENTS[number / 2 % DISAGREEMENTS.len()];
                let more = wanted.max(-(job.bytes(odd) as i64));
                let mut memory = Memory::new(job, rank);
                let operation = memory.operation(job, rank, if rank == odd { more } else { 0 });
                let failure = calls.call(counted, operation);
                // What is sent is longer than what the receiver expects.
                let is_cut = match job.scatters {
                    true => rank == odd && more < 0,
                    false => rank == job.root() && more > 0,
                };
                let expected = is_cut.then_some(Failure::Truncated);
                assert_eq!(failure, expected, "call {number} on {rank}");
                memory.check(job, rank, Some(odd));
            }
        });
    }
}

#[test]
fn a_rank_that_is_lost_ends_the_calls_that_exchange_blocks_with_it() {
    for (scatters, gone) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        for told in [None, Some(OnceLock::new())] {
            on_all(Offered::Board, |caller, counted| {
                let (rank, peer) = (caller.team.rank, PeerIndex(gone as u32));
                let mut calls = Calls::new(caller, counted, told.as_ref());
                for number in [ONE_APART - 1, ONE_APART] {
                    let job = Job { number, scatters };
                    // What is under way is read until the end of the test.
                    let memory = Box::leak(Box::new(Memory::new(job, rank)));
                    let operation = memory.operation(job, rank, 0);
                    if number != ONE_APART || rank > 1 {
                        assert_eq!(calls.call(counted, operation), None);
                        continue;
                    }
                    let mut run = calls.begin(operation).expect("a block is sent apart");
                    while run.is_on_board() {
                        assert_eq!(run.post(counted).0, Progress::Running);
                        std::thread::yield_now();
                    }
                    if rank == gone {
                        return std::mem::forget(run);
                    }
                    counted.engine.wire_mut().mark_lost(peer);
                    assert_eq!(failure_of(&mut run, counted), Some(Failure::Lost { peer }));
                }
            });
        }
    }
}

/// A barrier in place of a gather or scatter whose messages another rank waits for, while that rank
/// is `ahead` broadcasts further.
fn another_call(scatters: bool, ahead: usize, told: Option<&OnceLock<BoardOffer>>) {
    let waits = usize::from(scatters);
    let odd = PeerIndex(1 - waits as u32);
    on_all(Offered::Board, |caller, counted| {
        let rank = caller.team.rank;
        let mut calls = Calls::new(caller, counted, told);
        for number in [ONE_APART - 1, ONE_APART] {
            let job = Job { number, scatters };
            // What is under way is read until the end of the test.
            let memory = Box::leak(Box::new(Memory::new(job, rank)));
            let operation = memory.operation(job, rank, 0);
            let is_last = number == ONE_APART;
            if is_last && rank == odd.slot() {
                let failure = calls.call(counted, Operation::Barrier);
                assert!(matches!(failure, Some(Failure::Mismatch { .. })), "{failure:?}");
                continue;
            }
            let pointer = memory.own.as_mut_ptr();
            let bcast = || {
                let data = Buffer { pointer, count: 1, element: Element::dense(1) };
                Operation::Bcast { root: waits, data }
            };
            let before = std::iter::repeat_with(bcast).take(if is_last { ahead } else { 0 });
            let mut all = before.chain(Some(operation));
            let failure = all.find_map(|operation| calls.call(counted, operation));
            let Some(Failure::Mismatch { peer, own, theirs }) = failure else {
                assert!(failure.is_none() && (!is_last || rank != waits), "{rank}: {failure:?}");
                continue;
            };
            // The others may notice it, if they wait long.
            assert!(is_last, "rank {rank} fails in the right call");
            assert_eq!((peer, theirs), (odd, CallSignature::of(&Operation::Barrier)));
            let first = if ahead > 0 { "MPI_Bcast" } else { "MPI_" };
            assert!(own.to_string().starts_with(first), "{own}");
            if calls.board.is_none() {
                let mut queue = calls.queue.lock().unwrap();
                assert_eq!(queue.enter(&Operation::Barrier, &caller.selection, RANKS), None);
            }
        }
    });
}

#[test]
fn a_rank_that_waits_for_a_block_finds_another_one_in_another_call() {
    for scatters in [false, true] {
        for ahead in [0, 1, 60] {
            another_call(scatters, ahead, None);
            another_call(scatters, ahead, Some(&OnceLock::new()));
        }
    }
}

#[test]
fn a_host_copy_of_a_result_is_copied_after_the_last_message() {
    on_all(Offered::Board, |caller, counted| {
        let (rank, queue) = (caller.team.rank, Arc::default());
        let job = Job { number: ONE_APART, scatters: true };
        let mut memory = Memory::new(job, rank);
        let mut operation = memory.operation(job, rank, 0);
        let (mut there, mut copies) = (vec![0u8; job.bytes(rank)], HostCopies::default());
        let (pointer, bytes) = (there.as_mut_ptr(), there.len() as i64);
        let byte = Datatype::named(Basic::Byte);
        if let Operation::Scatterv(Scatter { receive: Some(receive), .. }) = &mut operation {
            receive.pointer = copies.add(pointer, 0, bytes, &byte, &SimulatedDevice).unwrap();
        }
        let failure = match start(caller, &queue, (operation, copies), (0, false)) {
            Ok(mut run) => failure_of(&mut run, counted),
            Err(failure) => failure,
        };
        assert_eq!(failure, None);
        assert!(there.into_iter().eq(job.block(rank)), "rank {rank}");
    });
}
