//! Nonblocking and persistent calls in the queue of a board, on the engine and the board of real
//! wires; each rank is a thread, and polls its calls in an order of its own.

mod support;

use std::sync::{Arc, Mutex};

use towpath_collective::allgather::Allgather;
use towpath_collective::board::{Begun, BoardQueue, QueuedCall};
use towpath_collective::reduce::Operand;
use towpath_collective::{
    Blocks, Buffer, Call, CollectiveRun, Element, HostCopies, Operation, Reducer, Run, Selection,
};

use support::{Caller, Counted, Offered, complete, team};

const RANKS: usize = 3;
/// Calls that are under way at a time.
const CALLS: usize = 12;
/// Numbers in a block, by call: on lines, on areas, and too many for the board of a full host.
const LENGTHS: [usize; 4] = [1, 2000, 5, 300_000];

/// A call, and its memory.
struct Job {
    length: usize,
    root: usize,
    own: Vec<i32>,
    all: Vec<i32>,
}

fn value(number: usize, rank: usize, index: usize) -> i32 {
    (number * 1_000_000 + rank * 300_000 + index) as i32
}

impl Job {
    /// Every third call is a broadcast, every third a barrier; the others are allgathers.
    fn operation(number: usize, rank: usize) -> (Job, Operation) {
        let (length, root) = (LENGTHS[number % LENGTHS.len()], number % RANKS);
        let mut job = Job {
            length,
            root,
            own: (0..length).map(|index| value(number, rank, index)).collect(),
            all: vec![-1; length * RANKS],
        };
        let element = Element::dense(4);
        let buffer = |values: &mut Vec<i32>, count| Buffer {
            pointer: values.as_mut_ptr().cast(),
            count: count as i64,
            element: element.clone(),
        };
        let operation = match number % 3 {
            0 => Operation::Bcast { root, data: buffer(&mut job.own, length) },
            1 => Operation::Barrier,
            _ => Operation::Allgather(Allgather {
                send: Some(buffer(&mut job.own, length)),
                receive: Blocks::Equal {
                    pointer: job.all.as_mut_ptr().cast(),
                    count: length as i64,
                    element: element.clone(),
                },
            }),
        };
        (job, operation)
    }

    fn check(&self, number: usize) {
        let expected = |rank: usize| (0..self.length).map(move |index| value(number, rank, index));
        match number % 3 {
            0 => assert!(self.own.iter().copied().eq(expected(self.root)), "broadcast {number}"),
            1 => {}
            _ => {
                let all = (0..RANKS).flat_map(expected);
                assert!(self.all.iter().copied().eq(all), "allgather {number}");
            }
        }
    }
}

/// All calls at once in the queue of a team, and then again: a call that finds the board idle
/// begins on it.
fn nonblocking(caller: &Caller, counted: &mut Counted) {
    let queue = Arc::new(Mutex::new(BoardQueue::default()));
    for round in 0..3 {
        let (mut jobs, mut runs) = (Vec::new(), Vec::new());
        for number in 0..CALLS {
            let (job, operation) = Job::operation(number, caller.team.rank);
            jobs.push(job);
            // SAFETY: the vectors of `job` do not move, and live until the call is over.
            runs.extend(unsafe {
                begin(caller, &queue, operation, (round * CALLS + number) as u64)
            });
        }
        complete(&mut runs, counted, caller.team.rank);
        jobs.iter().enumerate().for_each(|(number, job)| job.check(number));
    }
}

/// Adds `count` numbers to others.
///
/// # Safety
/// Both vectors must have so many, at any address.
unsafe fn add(input: *const u8, inout: *mut u8, count: usize) {
    for index in 0..count {
        // SAFETY: both vectors have `count` numbers (this function's contract).
        unsafe {
            let (input, inout) = (input.cast::<i32>().add(index), inout.cast::<i32>().add(index));
            inout.write_unaligned(inout.read_unaligned() + input.read_unaligned());
        }
    }
}

#[test]
fn a_long_reduction_is_not_folded_as_it_begins() {
    const COUNT: usize = 512 << 10;
    let (selection, meeting) = (Arc::new(Selection::default()), std::sync::Barrier::new(2));
    support::run(2, |rank, counted| {
        let (selection, team) = (selection.clone(), team(rank, &[0; 2]));
        let caller = Caller { offered: Offered::Board, selection, team };
        let queue = Arc::new(Mutex::new(BoardQueue::default()));
        let allreduce = |vector: &mut [i32], result: &mut [i32], sequence| {
            let send = Some(vector.as_mut_ptr().cast());
            let (count, element) = (vector.len() as i64, Element::dense(4));
            let operand = Operand { send, count, element, reducer: Reducer::predefined(add) };
            let receive = result.as_mut_ptr().cast();
            // SAFETY: both vectors live until the call is over.
            unsafe { begin(&caller, &queue, Operation::Allreduce { operand, receive }, sequence) }
        };
        // The first call makes the board, and the second one its areas.
        for (sequence, count) in [(0, 1), (1, COUNT), (2, COUNT)] {
            let (mut vector, mut result) = (vec![1i32; count], vec![0i32; count]);
            if rank == 1 && sequence == 2 {
                // The other one has posted.
                meeting.wait();
            }
            let mut run = allreduce(&mut vector, &mut result, sequence);
            if sequence == 2 {
                assert!(run.is_some() && result.iter().all(|&sum| sum == 0), "rank {rank}");
            }
            if rank == 0 && sequence == 2 {
                meeting.wait();
            }
            complete(run.as_mut_slice(), counted, rank);
            assert!(result.iter().all(|&sum| sum == 2));
        }
    });
}

/// Begins a nonblocking call; `None` if it is over at once.
///
/// # Safety
/// The memory that the operation names must live until the call is over.
unsafe fn begin(
    caller: &Caller,
    queue: &Arc<Mutex<BoardQueue>>,
    operation: Operation,
    sequence: u64,
) -> Option<CollectiveRun<Caller>> {
    let work = (operation, HostCopies::default());
    // SAFETY: this function has the same contract.
    let begun =
        unsafe { QueuedCall::begin(&mut caller.clone(), || caller.clone(), queue, work, sequence) };
    match begun {
        Begun::Over { is_truncated } => {
            assert!(!is_truncated);
            None
        }
        Begun::Waiting(call) => Some(CollectiveRun::Queued(call)),
        Begun::ByMessages((operation, _)) => {
            let call = Call { team: &caller.team, selection: &caller.selection };
            let plan = operation.plan(&call).unwrap();
            // SAFETY: this function has the same contract.
            Some(Box::new(unsafe { Run::start(plan, sequence) }).into())
        }
    }
}

/// All calls as persistent operations, which each rank starts in another order, three times.
fn persistent(caller: &Caller, counted: &mut Counted) {
    start_thrice(caller, counted, None);
}

/// The same in one queue, and in the same order on all ranks.
fn ordered(caller: &Caller, counted: &mut Counted) {
    start_thrice(caller, counted, Some(Arc::default()));
}

fn start_thrice(caller: &Caller, counted: &mut Counted, shared: Option<Arc<Mutex<BoardQueue>>>) {
    let rank = caller.team.rank;
    let (mut jobs, mut runs): (Vec<Job>, Vec<CollectiveRun<Caller>>) = (0..CALLS)
        .map(|number| {
            let (job, operation) = Job::operation(number, rank);
            let work = (operation, HostCopies::default());
            let queue = shared.clone().unwrap_or_default();
            let call = QueuedCall::hold(caller.clone(), queue, work, (None, number as u64));
            let call = if shared.is_some() { call.among_others() } else { call };
            (job, CollectiveRun::Queued(Box::new(call)))
        })
        .unzip();
    for round in 0..3 {
        for step in 0..CALLS {
            let shift = if shared.is_some() { 0 } else { rank * 5 };
            let number = (step + shift + round) % CALLS;
            // SAFETY: the vectors of the job do not move, and live until the call is over.
            unsafe { runs[number].start_again() };
            jobs[number].all.fill(-1);
        }
        complete(&mut runs, counted, rank);
        jobs.iter().enumerate().for_each(|(number, job)| job.check(number));
    }
}

/// Runs `calls` on all ranks. Returns the number of messages of all.
fn run(offered: Offered, calls: fn(&Caller, &mut Counted)) -> usize {
    let selection = Arc::new(Selection::default());
    support::run(RANKS, |rank, counted| {
        let (selection, team) = (selection.clone(), team(rank, &[0; RANKS]));
        calls(&Caller { offered, selection, team }, counted);
    })
}

/// Messages that find a board and its areas: a broadcast of one word each.
const FINDING: usize = 2 * (RANKS - 1);

#[test]
fn nonblocking_calls_use_one_board_in_turn() {
    assert_eq!(run(Offered::Board, nonblocking), FINDING);
}

#[test]
fn nonblocking_calls_meet_if_the_offer_is_uncertain() {
    // The barrier takes two messages of each rank. Ranks with a core each use the board for shorter
    // messages only.
    assert!(run(Offered::Uncertain, nonblocking) > FINDING + 2 * RANKS);
}

#[test]
fn nonblocking_calls_go_by_messages_if_there_is_no_board() {
    assert!(run(Offered::Nothing, nonblocking) > CALLS * (RANKS - 1));
}

#[test]
fn persistent_operations_have_a_board_each() {
    // Each finds its board; those that do not fit into a line (48 bytes) also its areas.
    let is_long = |number: &usize| number % 3 != 1 && LENGTHS[number % LENGTHS.len()] > 12;
    let exchanges = CALLS + (0..CALLS).filter(is_long).count();
    assert_eq!(run(Offered::Board, persistent), exchanges * (RANKS - 1));
}

#[test]
fn persistent_operations_that_are_started_in_order_use_one_board() {
    assert_eq!(run(Offered::Board, ordered), FINDING);
}

#[test]
fn persistent_operations_go_by_messages_if_there_is_no_board() {
    assert!(run(Offered::Nothing, persistent) > 3 * CALLS * (RANKS - 1));
}
