//! Calls over several hosts in phases: random lists of nonblocking and persistent calls, on hosts
//! with a board and without, on the engine and the board of real wires.

mod support;

use std::sync::{Arc, Mutex};

use towpath_collective::board::BoardQueue;
use towpath_collective::hierarchy::phases::phases;
use towpath_collective::reduce::Operand;
use towpath_collective::{
    Buffer, Call, CollectiveRun, Element, HostCopies, Operation, PhaseQueue, PhasedCall, Reducer,
    Selection,
};

use support::{Caller, Counted, Offered, complete, team};

/// The host of each rank: no consecutive ranks, and one rank alone.
const HOSTS: [u32; 6] = [0, 1, 0, 1, 2, 1];
const RANKS: usize = HOSTS.len();
/// Calls that are under way at a time.
const CALLS: usize = 16;
/// Numbers in a vector, by call: on lines, on areas, and too many for a board.
const LENGTHS: [usize; 3] = [3, 2000, 200_000];
/// Broadcasts of more than a chunk stream through all levels instead.
const LONGEST_BROADCAST: usize = 2000;

/// A call, and its memory.
struct Job {
    root: usize,
    length: usize,
    own: Vec<u32>,
    result: Vec<u32>,
}

fn value(number: usize, rank: usize, index: usize) -> u32 {
    (number * 31 + rank * 1_000_003 + index) as u32
}

fn sum() -> Reducer {
    unsafe fn add(input: *const u8, inout: *mut u8, count: usize) {
        for index in 0..count {
            // SAFETY: both vectors have `count` numbers, at any address.
            unsafe {
                let input = input.cast::<u32>().add(index).read_unaligned();
                let inout = inout.cast::<u32>().add(index);
                inout.write_unaligned(inout.read_unaligned().wrapping_add(input));
            }
        }
    }
    Reducer::predefined(add)
}

impl Job {
    /// Barrier, broadcast, reduction and allreduction in turn, every second reduction in place.
    fn operation(number: usize, rank: usize) -> (Job, Operation) {
        let (root, length) = (number * 7 % RANKS, LENGTHS[number / 4 % LENGTHS.len()]);
        let length = if number % 4 == 1 { length.min(LONGEST_BROADCAST) } else { length };
        let own: Vec<u32> = (0..length).map(|index| value(number, rank, index)).collect();
        let mut job = Job { root, length, result: own.clone(), own };
        let element = Element::dense(4);
        let (own, receive) = (job.own.as_mut_ptr().cast(), job.result.as_mut_ptr().cast());
        let receives = number % 4 == 3 || rank == root;
        let in_place = receives && number % 8 > 3;
        let (send, count) = ((!in_place).then_some(own), length as i64);
        let operand = Operand { send, count, element: element.clone(), reducer: sum() };
        let data = Buffer { pointer: receive, count, element };
        let operation = match number % 4 {
            0 => Operation::Barrier,
            1 => Operation::Bcast { root, data },
            2 => Operation::Reduce { root, operand, receive },
            _ => Operation::Allreduce { operand, receive },
        };
        (job, operation)
    }

    /// Makes the memory what it was before the call.
    fn rewind(&mut self) {
        self.result.copy_from_slice(&self.own);
    }

    fn check(&self, number: usize, rank: usize) {
        let of = |rank: usize, index: usize| value(number, rank, index);
        let all =
            |index: usize| (0..RANKS).fold(0u32, |sum, rank| sum.wrapping_add(of(rank, index)));
        let expected = |index: usize| match number % 4 {
            1 => of(self.root, index),
            2 if rank == self.root => all(index),
            3 => all(index),
            _ => of(rank, index),
        };
        let right = (0..self.length).all(|index| self.result[index] == expected(index));
        assert!(right, "call {number} on rank {rank}");
    }
}

/// The call in phases, held, as a member of the ranks on this host.
fn hold(
    rank: usize,
    operation: &Operation,
    on_host: &Caller,
    queue: PhaseQueue<'_>,
    sequence: usize,
) -> CollectiveRun<Caller> {
    let whole = team(rank, &HOSTS);
    let call = Call { team: &whole, selection: &on_host.selection };
    let phases = phases(&call, operation).unwrap().expect("there are several hosts");
    let copies = HostCopies::default();
    let call = PhasedCall::hold(on_host, phases, copies, queue, sequence as u32).unwrap();
    Box::new(call).into()
}

/// All calls at once in the queue of a host.
fn nonblocking(rank: usize, on_host: &Caller, counted: &mut Counted) {
    let queue = Arc::new(Mutex::new(BoardQueue::default()));
    let (mut jobs, mut runs) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        let (job, operation) = Job::operation(number, rank);
        runs.push(hold(rank, &operation, on_host, PhaseQueue::Shared(&queue), number));
        jobs.push(job);
        // SAFETY: the vectors of the job do not move, and live until the call is over.
        unsafe { runs[number].start_again() };
    }
    complete(&mut runs, counted, rank);
    jobs.iter().enumerate().for_each(|(number, job)| job.check(number, rank));
}

/// All calls as persistent operations, which each rank starts in another order, three times.
fn persistent(rank: usize, on_host: &Caller, counted: &mut Counted) {
    let (mut jobs, mut runs) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        let (job, operation) = Job::operation(number, rank);
        runs.push(hold(rank, &operation, on_host, PhaseQueue::Own, number));
        jobs.push(job);
    }
    for round in 0..3 {
        for step in 0..CALLS {
            let number = (step + rank * 5 + round) % CALLS;
            jobs[number].rewind();
            // SAFETY: the vectors of the job do not move, and live until the call is over.
            unsafe { runs[number].start_again() };
        }
        complete(&mut runs, counted, rank);
        jobs.iter().enumerate().for_each(|(number, job)| job.check(number, rank));
    }
}

/// Runs `calls` on all ranks; `offered` by host. Returns the number of messages of all.
fn run(offered: [Offered; 3], calls: fn(usize, &Caller, &mut Counted)) -> usize {
    let selection = Arc::new(Selection::default());
    support::run(RANKS, |rank, counted| {
        let offered = offered[HOSTS[rank] as usize];
        let (selection, team) = (selection.clone(), team(rank, &HOSTS).on_my_host());
        calls(rank, &Caller { offered, selection, team }, counted);
    })
}

#[test]
fn calls_use_boards_on_hosts_that_have_one() {
    use Offered::{Board, Nothing};
    let by_messages = run([Nothing; 3], nonblocking);
    let on_one_host = run([Nothing, Board, Nothing], nonblocking);
    let on_all = run([Board; 3], nonblocking);
    assert!(
        on_all < on_one_host && on_one_host < by_messages,
        "{on_all}, {on_one_host}, {by_messages}"
    );
}

#[test]
fn persistent_operations_use_boards_on_hosts_that_have_one() {
    use Offered::{Board, Nothing, Uncertain};
    let by_messages = run([Nothing; 3], persistent);
    let on_boards = run([Board, Uncertain, Nothing], persistent);
    assert!(on_boards < by_messages, "{on_boards}, {by_messages}");
}
