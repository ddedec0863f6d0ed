//! Gathers and scatters of which only the root knows all lengths, in the queue of a board: blocks
//! of any length, some of which are sent apart, and ranks that disagree about lengths.

#[path = "support/failure.rs"]
mod failure;
mod support;

use std::sync::{Arc, Mutex};

use towpath_collective::board::{Begun, BoardQueue, QueuedCall};
use towpath_collective::gather::Gather;
use towpath_collective::scatter::Scatter;
use towpath_collective::{
    Blocks, Buffer, CollectiveRun, Element, Failure, HostCopies, Operation, Selection,
};

use failure::failure_of;
use support::{Caller, Counted, Offered, team};

const RANKS: usize = 4;
const CALLS: usize = 60;
/// Bytes of blocks: on lines, on areas, and apart.
const LENGTHS: [usize; 8] = [0, 1, 40, 45, 3000, 20_000, 200_000, 600_000];
/// How much longer a block is than the rank expects that gets it, by call, if they disagree.
const DISAGREEMENTS: [i64; 4] = [1, -1, 300_000, -300_000];

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

/// What a rank has in memory: its own block, and at the root those of all.
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
        self.own.resize((self.own.len() as i64 + more).max(0) as usize, 0);
        let own = Some(Buffer {
            pointer: self.own.as_mut_ptr(),
            count: self.own.len() as i64,
            element: element.clone(),
        });
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

    fn check(&self, job: Job, rank: usize) {
        let is_right = match job.scatters {
            true => self.own.iter().copied().eq(job.block(rank)),
            false => {
                let all = (0..RANKS).flat_map(|rank| job.block(rank));
                rank != job.root() || self.all.iter().copied().eq(all)
            }
        };
        assert!(is_right, "call {} on rank {rank}", job.number);
    }
}

/// Begins a nonblocking call, or starts a persistent one. An error if it is over at once.
fn start(
    caller: &Caller,
    queue: &Arc<Mutex<BoardQueue>>,
    operation: Operation,
    (sequence, is_persistent): (usize, bool),
) -> Result<CollectiveRun<Caller>, Option<Failure>> {
    let (work, sequence) = ((operation, HostCopies::default()), sequence as u64);
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
                    let operation = memory.operation(*job, rank, 0);
                    match start(caller, &queue, operation, (number, number % 5 == 0)) {
                        Ok(run) => runs.push(run),
                        Err(failure) => assert_eq!(failure, None),
                    }
                }
                support::complete(&mut runs, counted, rank);
                memories.iter().for_each(|(job, memory)| memory.check(*job, rank));
            }
        });
    }
}

#[test]
fn ranks_that_disagree_about_a_length_all_end() {
    on_all(Offered::Board, |caller, counted| {
        let (rank, queue) = (caller.team.rank, Arc::default());
        for number in 0..CALLS {
            let job = Job { number, scatters: number % 2 > 0 };
            let odd = (job.root() + 1) % RANKS;
            let wanted = DISAGREEMENTS[number / 2 % DISAGREEMENTS.len()];
            let more = wanted.max(-(job.bytes(odd) as i64));
            let mut memory = Memory::new(job, rank);
            let operation = memory.operation(job, rank, if rank == odd { more } else { 0 });
            let failure = match start(caller, &queue, operation, (number, false)) {
                Ok(mut run) => failure_of(&mut run, counted),
                Err(failure) => failure,
            };
            // What is sent is longer than what the receiver expects.
            let is_cut = match job.scatters {
                true => rank == odd && more < 0,
                false => rank == job.root() && more > 0,
            };
            assert_eq!(failure, is_cut.then_some(Failure::Truncated), "call {number} on {rank}");
        }
    });
}
