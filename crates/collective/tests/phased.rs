//! Calls over several hosts in phases: random lists of nonblocking and persistent calls, on hosts
//! with a board and without, on the engine and the board of real wires.

mod support;

use std::sync::{Arc, Mutex};

use towpath_collective::allgather::Allgather;
use towpath_collective::board::BoardQueue;
use towpath_collective::gather::Gather;
use towpath_collective::hierarchy::phases::phases;
use towpath_collective::reduce::Operand;
use towpath_collective::scatter::Scatter;
use towpath_collective::{
    Blocks, Buffer, Call, CollectiveRun, Element, HostCopies, KeptCalls, Operation, PhasedCall,
    Reducer, Selection,
};

use support::{Caller, Counted, Offered, complete, team};

/// The host of each rank: in a row or not, with one rank alone.
const MAPPINGS: [[u32; RANKS]; 2] = [[0, 0, 1, 1, 1, 2], [0, 1, 0, 1, 2, 1]];
const RANKS: usize = 6;
/// Calls that are under way at a time.
const CALLS: usize = 28;
/// Kinds of calls.
const KINDS: usize = 7;
/// Numbers in a vector, by call: on lines, on areas, and too many for a board.
const LENGTHS: [usize; 3] = [3, 2000, 200_000];
/// Longer messages that are not reduced stream through all levels instead.
const LONGEST_MOVED: usize = 2000;

/// A call, and its memory.
struct Job {
    root: usize,
    length: usize,
    own: Vec<u32>,
    result: Vec<u32>,
    /// What was in `result` before the call.
    before: Vec<u32>,
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
    /// The memory of a call; there is one of each kind in turn.
    fn new(number: usize, rank: usize) -> Job {
        let (kind, root) = (number % KINDS, number * 5 % RANKS);
        let length = LENGTHS[number / KINDS % LENGTHS.len()];
        let length = if is_reduction(kind) { length } else { length.min(LONGEST_MOVED) };
        let own: Vec<u32> = (0..length).map(|index| value(number, rank, index)).collect();
        let all = || (0..RANKS).flat_map(|block| vec![value(number, block + rank, 0); length]);
        let result = if kind < 4 { own.clone() } else { all().collect() };
        let mut job = Job { root, length, own, before: result.clone(), result };
        if job.is_in_place(number, rank) && (kind == 4 || kind == 6) {
            job.before[rank * length..][..length].copy_from_slice(&job.own);
            job.rewind();
        }
        job
    }

    /// Whether the call is in place; every second one is.
    fn is_in_place(&self, number: usize, rank: usize) -> bool {
        let at_all = [3, 6].contains(&(number % KINDS));
        number / KINDS % 2 == 1 && (at_all || rank == self.root)
    }

    /// The call.
    fn operation(&mut self, number: usize, rank: usize) -> Operation {
        let (kind, root, in_place) = (number % KINDS, self.root, self.is_in_place(number, rank));
        let (element, count) = (Element::dense(4), self.length as i64);
        let (own, receive) = (self.own.as_mut_ptr().cast(), self.result.as_mut_ptr().cast());
        let buffer = |pointer| Buffer { pointer, count, element: element.clone() };
        let blocks = Blocks::Equal { pointer: receive, count, element: element.clone() };
        let send = (!in_place).then(|| buffer(own));
        let vector = (!in_place).then_some(own);
        let operand = Operand { send: vector, count, element: element.clone(), reducer: sum() };
        let at_root = Some(blocks.clone()).filter(|_| rank == root);
        match kind {
            0 => Operation::Barrier,
            1 => Operation::Bcast { root, data: buffer(receive) },
            2 => Operation::Reduce { root, operand, receive },
            3 => Operation::Allreduce { operand, receive },
            4 => Operation::Gather(Gather { root, send, receive: at_root }),
            5 => Operation::Scatter(Scatter { root, send: at_root, receive: send }),
            _ => Operation::Allgather(Allgather { send, receive: blocks }),
        }
    }

    /// Makes the memory what it was before the call.
    fn rewind(&mut self) {
        self.result.copy_from_slice(&self.before);
    }

    fn check(&self, number: usize, rank: usize) {
        let of = |rank: usize, index: usize| value(number, rank, index);
        let sum =
            |index: usize| (0..RANKS).fold(0u32, |sum, rank| sum.wrapping_add(of(rank, index)));
        let gathered = |index: usize| of(index / self.length, index % self.length);
        let (kind, is_root) = (number % KINDS, rank == self.root);
        let right = match kind {
            1 => (0..self.length).all(|index| self.result[index] == of(self.root, index)),
            2 if is_root => (0..self.length).all(|index| self.result[index] == sum(index)),
            3 => (0..self.length).all(|index| self.result[index] == sum(index)),
            4 if !is_root => self.result == self.before,
            4 | 6 => (0..self.result.len()).all(|index| self.result[index] == gathered(index)),
            5 if is_root && number / KINDS % 2 == 1 => self.result == self.before,
            5 => self
                .own
                .iter()
                .all(|&number_there| number_there == value(number, rank + self.root, 0)),
            _ => self.result == self.before,
        };
        assert!(right, "call {number} on rank {rank}");
    }
}

fn is_reduction(kind: usize) -> bool {
    kind == 2 || kind == 3
}

/// The call in phases, held, as a member of the ranks on this host.
fn hold(
    (rank, hosts): (usize, &[u32]),
    operation: &Operation,
    on_host: &Caller,
    queue: Option<&Arc<Mutex<BoardQueue>>>,
    sequence: usize,
) -> CollectiveRun<Caller> {
    let whole = team(rank, hosts);
    let call = Call { team: &whole, selection: &on_host.selection };
    let phases = phases(&call, operation).unwrap().expect("there are several hosts");
    let copies = HostCopies::default();
    let call = PhasedCall::hold(on_host, phases, copies, queue, sequence as u64).unwrap();
    Box::new(call).into()
}

/// All calls at once in the queue of a host.
fn nonblocking((rank, hosts): (usize, &[u32]), on_host: &Caller, counted: &mut Counted) {
    let queue = Arc::new(Mutex::new(BoardQueue::default()));
    let (mut jobs, mut runs) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        let mut job = Job::new(number, rank);
        let operation = job.operation(number, rank);
        runs.push(hold((rank, hosts), &operation, on_host, Some(&queue), number));
        jobs.push(job);
        // SAFETY: the vectors of the job do not move, and live until the call is over.
        unsafe { runs[number].start_again() };
    }
    complete(&mut runs, counted, rank);
    jobs.iter().enumerate().for_each(|(number, job)| job.check(number, rank));
}

/// All calls as persistent operations, which each rank starts in another order, three times.
fn persistent((rank, hosts): (usize, &[u32]), on_host: &Caller, counted: &mut Counted) {
    let (mut jobs, mut runs) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        let mut job = Job::new(number, rank);
        let operation = job.operation(number, rank);
        runs.push(hold((rank, hosts), &operation, on_host, None, number));
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

/// Calls that repeat one another, each over before the next. Rank 0 plans all of them anew.
fn repeated((rank, hosts): (usize, &[u32]), on_host: &Caller, counted: &mut Counted) {
    let queue = Arc::new(Mutex::new(BoardQueue::default()));
    let (mut kept, mut sequence) = (KeptCalls::default(), 0);
    for first in (0..CALLS).step_by(3) {
        let numbers = first..CALLS.min(first + 3);
        let mut jobs: Vec<Job> = numbers.clone().map(|number| Job::new(number, rank)).collect();
        for round in 0..3 {
            for (job, number) in jobs.iter_mut().zip(numbers.clone()) {
                job.rewind();
                let operation = job.operation(number, rank);
                let known = kept.take(&operation).filter(|_| rank > 0);
                let is_short = job.length == LENGTHS[0];
                assert!(rank == 0 || round == 0 || !is_short || known.is_some(), "call {number}");
                let mut run = match known {
                    Some(mut run) => {
                        run.renew(sequence as u64);
                        run
                    }
                    None => hold((rank, hosts), &operation, on_host, Some(&queue), sequence),
                };
                // SAFETY: the vectors of the job do not move, and live until the call is over.
                unsafe { run.start_again() };
                let mut runs = [run];
                complete(&mut runs, counted, 0);
                let [run] = runs;
                job.check(number, rank);
                kept.keep(operation, run);
                sequence += 1;
            }
        }
    }
}

/// Runs `calls` on all ranks; `offered` by host. Returns the number of messages of all.
fn run(
    hosts: [u32; RANKS],
    offered: [Offered; 3],
    calls: fn((usize, &[u32]), &Caller, &mut Counted),
) -> usize {
    let selection = Arc::new(Selection::default());
    support::run(RANKS, |rank, counted| {
        let offered = offered[hosts[rank] as usize];
        let (selection, team) = (selection.clone(), team(rank, &hosts).on_my_host());
        calls((rank, &hosts), &Caller { offered, selection, team }, counted);
    })
}

#[test]
fn calls_use_boards_on_hosts_that_have_one() {
    use Offered::{Board, Nothing};
    for hosts in MAPPINGS {
        let by_messages = run(hosts, [Nothing; 3], nonblocking);
        let on_one_host = run(hosts, [Nothing, Board, Nothing], nonblocking);
        let on_all = run(hosts, [Board; 3], nonblocking);
        let numbers = [on_all, on_one_host, by_messages];
        assert!(on_all < on_one_host && on_one_host < by_messages, "{numbers:?}");
    }
}

#[test]
fn persistent_operations_use_boards_on_hosts_that_have_one() {
    use Offered::{Board, Nothing, Uncertain};
    for hosts in MAPPINGS {
        let by_messages = run(hosts, [Nothing; 3], persistent);
        let on_boards = run(hosts, [Board, Uncertain, Nothing], persistent);
        assert!(on_boards < by_messages, "{on_boards}, {by_messages}");
    }
}

#[test]
fn a_call_that_repeats_another_need_not_be_planned() {
    use Offered::{Board, Nothing, Uncertain};
    for hosts in MAPPINGS {
        for offered in [[Nothing; 3], [Board; 3], [Uncertain, Nothing, Board]] {
            run(hosts, offered, repeated);
        }
    }
}
