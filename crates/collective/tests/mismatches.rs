//! Calls that do not fit together on one host: each rank learns it, whether it waits on the board
//! or by messages, in blocking, nonblocking and persistent calls.

#[path = "support/blocking.rs"]
mod blocking;
#[path = "support/failure.rs"]
mod failure;
#[allow(dead_code, reason = "calls that fail are completed otherwise")]
mod support;

use std::sync::{Arc, Mutex, OnceLock};

use towpath_collective::board::{Begun, BoardQueue, QueuedCall, number_of};
use towpath_collective::numbers::{self, CallForm};
use towpath_collective::{
    Buffer, Call, CallSignature, CollectiveRun, Element, Failure, HostCopies, Operation, Run,
    Selection,
};

use blocking::Watchful;
use failure::{LONG, failure_of};
use support::{Caller, Counted, Offered, team};

const RANKS: usize = 3;
/// Numbers of a broadcast on the board, and of one by messages.
const SHORT: usize = 2;
const TOO_LONG: usize = 4 << 20;

/// What a rank calls.
#[derive(Clone, Copy, PartialEq)]
enum Job {
    Barrier,
    Bcast(usize, usize),
}

impl Job {
    /// The operation. Its memory is never freed: a call that has failed may still be read.
    fn operation(self) -> Operation {
        match self {
            Job::Barrier => Operation::Barrier,
            Job::Bcast(root, count) => {
                let pointer = Box::leak(vec![0u32; count].into_boxed_slice()).as_mut_ptr().cast();
                let data = Buffer { pointer, count: count as i64, element: Element::dense(4) };
                Operation::Bcast { root, data }
            }
        }
    }

    fn name(self) -> String {
        CallSignature::of(&self.operation()).to_string()
    }
}

/// The queue of a communicator's nonblocking calls.
type Queue = Arc<Mutex<BoardQueue>>;

/// Begins the nonblocking call with this sequence number; `None` if it is over at once.
fn begin(caller: &Caller, queue: &Queue, job: Job, sequence: u64) -> Option<CollectiveRun<Caller>> {
    let work = (job.operation(), HostCopies::default());
    // SAFETY: the memory of the operations lives for ever.
    let begun =
        unsafe { QueuedCall::begin(&mut Watchful, || caller.clone(), queue, work, sequence) };
    match begun {
        Begun::Over { .. } => None,
        Begun::Waiting(call) => Some(CollectiveRun::Queued(call)),
        Begun::ByMessages((operation, _)) => {
            let call = Call { team: &caller.team, selection: &caller.selection };
            let plan = operation.plan(&call).unwrap();
            // SAFETY: as above.
            let mut run = Box::new(unsafe { Run::start(plan, sequence) });
            queue.lock().unwrap().attend(&mut run, number_of(sequence, 0));
            Some(run.into())
        }
    }
}

/// Calls the jobs of a rank by requests, and returns the first failure.
fn by_requests(caller: &Caller, counted: &mut Counted, jobs: &[Job]) -> Option<Failure> {
    let queue = Queue::default();
    let all: Vec<Job> = [&[Job::Barrier], jobs].concat();
    let mut runs = Vec::new();
    for (index, job) in all.iter().enumerate() {
        let Some(mut run) = begin(caller, &queue, *job, index as u64) else { continue };
        if index == 0 {
            // The members find their board.
            assert_eq!(failure_of(&mut run, counted), None);
        } else {
            runs.push(run);
        }
    }
    let failures = runs.iter_mut().filter_map(|run| failure_of(run, counted));
    let first = { failures }.next();
    // What is under way may not be dropped while others use it.
    std::mem::forget(runs);
    first
}

/// The same by persistent operations in one queue.
fn by_persistent(caller: &Caller, counted: &mut Counted, jobs: &[Job]) -> Option<Failure> {
    let queue = Queue::default();
    let hold = |(number, job): (usize, &Job)| {
        let work = (job.operation(), HostCopies::default());
        let turns = (None, number as u64);
        let call = QueuedCall::hold(caller.clone(), queue.clone(), work, turns).among_others();
        CollectiveRun::Queued(Box::new(call))
    };
    let all: Vec<Job> = [&[Job::Barrier], jobs].concat();
    let mut runs: Vec<_> = all.iter().enumerate().map(hold).collect();
    // SAFETY: the memory of the operations lives for ever.
    unsafe { runs[0].start_again() };
    assert_eq!(failure_of(&mut runs[0], counted), None);
    // SAFETY: as above.
    runs[1..].iter_mut().for_each(|run| unsafe { run.start_again() });
    let first = { runs[1..].iter_mut().filter_map(|run| failure_of(run, counted)) }.next();
    std::mem::forget(runs);
    first
}

/// What all ranks say when rank r calls `jobs(r)`, which do not fit together.
fn sentences(
    call: impl Fn(&Caller, &mut Counted, &[Job]) -> Option<Failure> + Sync,
    jobs: impl Fn(usize) -> Vec<Job> + Sync,
) -> Vec<(usize, String)> {
    let said = failures(call, jobs);
    let silent = (0..RANKS).find(|rank| said.iter().all(|(other, _)| rank != other));
    assert!(silent.is_none(), "rank {silent:?} notices nothing");
    said
}

/// What those ranks say that notice it.
fn failures(
    call: impl Fn(&Caller, &mut Counted, &[Job]) -> Option<Failure> + Sync,
    jobs: impl Fn(usize) -> Vec<Job> + Sync,
) -> Vec<(usize, String)> {
    let selection = Arc::new(Selection::default());
    let said = Mutex::new(Vec::new());
    support::run(RANKS, |rank, counted| {
        let (selection, team) = (selection.clone(), team(rank, &[0; RANKS]));
        let caller = Caller { offered: Offered::Uncertain, selection, team };
        let Some(failure) = call(&caller, counted, &jobs(rank)) else { return };
        assert!(matches!(failure, Failure::Mismatch { .. }), "{failure}");
        said.lock().unwrap().push((rank, failure.to_string()));
    });
    said.into_inner().unwrap()
}

/// Checks that each rank names its own call and another one.
fn all_name(said: &[(usize, String)], calls: impl Fn(usize) -> [Vec<Job>; 2]) {
    assert_eq!(said.len(), RANKS);
    for (rank, sentence) in said {
        let [own, theirs] = calls(*rank);
        let fits = own.iter().any(|own| {
            let begin = format!("this rank calls {}, but another rank calls ", own.name());
            let rest = sentence.strip_prefix(&begin);
            rest.is_some_and(|rest| theirs.iter().any(|job| rest.starts_with(&job.name())))
        });
        assert!(fits, "rank {rank}: {sentence}");
    }
}

const BCAST: Job = Job::Bcast(0, SHORT);

#[test]
fn different_collectives() {
    for call in [by_requests, by_persistent] {
        for odd in 0..RANKS {
            let job = |rank: usize| if rank == odd { Job::Barrier } else { BCAST };
            // Rank 0 broadcasts without waiting for anybody.
            let jobs = |rank: usize| vec![job(rank), Job::Bcast(1, SHORT), Job::Barrier];
            let said = sentences(call, jobs);
            let all = vec![Job::Barrier, BCAST, Job::Bcast(1, SHORT)];
            all_name(&said, |_| [all.clone(), all.clone()]);
        }
    }
}

#[test]
fn different_roots_where_nobody_writes() {
    for call in [by_requests, by_persistent] {
        let job = |rank: usize| Job::Bcast((rank + 1) % RANKS, SHORT);
        let said = sentences(call, |rank| vec![job(rank)]);
        let others = |rank: usize| (0..RANKS).filter(move |&other| other != rank).map(job);
        all_name(&said, |rank| [vec![job(rank)], others(rank).collect()]);
    }
}

#[test]
fn another_order() {
    for call in [by_requests, by_persistent] {
        let last = Job::Bcast(RANKS - 1, SHORT);
        let jobs = |rank: usize| match rank {
            0 => vec![Job::Barrier, last],
            _ => vec![last, Job::Barrier],
        };
        let said = sentences(call, jobs);
        all_name(&said, |_| [vec![Job::Barrier, last], vec![Job::Barrier, last]]);
    }
}

#[test]
fn counts_that_need_different_ways() {
    for call in [by_requests, by_persistent] {
        for odd in 0..RANKS {
            let count = |rank: usize| if rank == odd { TOO_LONG } else { SHORT };
            let jobs = |rank: usize| vec![Job::Bcast(0, count(rank)), Job::Barrier];
            for (rank, sentence) in sentences(call, jobs) {
                let same = "call MPI_Bcast with root 0 with different lengths";
                let is_right = sentence.contains(same) || sentence.contains("MPI_Barrier");
                assert!(is_right, "{odd} {rank}: {sentence}");
            }
        }
    }
}

#[test]
fn a_root_that_does_not_wait_for_those_who_expect_messages() {
    for call in [by_requests, by_persistent] {
        let count = |rank: usize| if rank == 1 { TOO_LONG } else { SHORT };
        let said = failures(call, |rank| vec![Job::Bcast(0, count(rank))]);
        let is_one = |&&(rank, _): &&(usize, String)| rank == 1;
        let (_, sentence) = said.iter().find(is_one).expect("rank 1 notices it");
        // Rank 2 may, if it waits long for the root.
        assert!(said.iter().all(|(rank, _)| *rank > 0), "{said:?}");
        assert!(sentence.contains("with different lengths"), "{sentence}");
    }
}

#[test]
fn right_calls_after_so_many_that_the_numbers_of_messages_repeat() {
    let selection = Arc::new(Selection::default());
    support::run(RANKS, |rank, counted| {
        let (selection, team) = (selection.clone(), team(rank, &[0; RANKS]));
        let caller = Caller { offered: Offered::Board, selection, team };
        let (queue, later) = (Queue::default(), 1 << 30);
        let long = Job::Bcast(0, TOO_LONG);
        for (count, job) in
            [(0, Job::Barrier), (1, BCAST), (later + 1, long), (later + 2, Job::Barrier)]
        {
            // The others wait so long that they tell their calls.
            if rank == 0 {
                std::thread::sleep(5 * LONG);
            }
            let sequence = numbers::sequence(CallForm::Nonblocking, count);
            if let Some(mut run) = begin(&caller, &queue, job, sequence) {
                assert_eq!(failure_of(&mut run, counted), None, "rank {rank}, call {count}");
            }
        }
    });
}

/// What blocking calls on a board say, by rank.
fn blocking(jobs: impl Fn(usize) -> Vec<Job> + Sync) -> Vec<(usize, String)> {
    let told = OnceLock::new();
    let by_blocking = |caller: &Caller, counted: &mut Counted, jobs: &[Job]| {
        let mut board = blocking::join(caller, counted, &told);
        let mut call = |job: &Job| {
            // SAFETY: the memory of the operations lives for ever.
            let called = unsafe { blocking::call(&mut board, caller, &job.operation()) };
            called.map_or_else(|failure| failure, |mut run| failure_of(&mut run, counted))
        };
        jobs.iter().find_map(&mut call)
    };
    sentences(by_blocking, jobs)
}

#[test]
fn blocking_calls() {
    let said =
        blocking(
            |rank| if rank == 1 { vec![Job::Barrier] } else { vec![BCAST, BCAST, Job::Barrier] },
        );
    all_name(&said, |_| [vec![Job::Barrier, BCAST], vec![Job::Barrier, BCAST]]);
}

#[test]
fn many_calls_later() {
    // The lines of 64 rounds are kept.
    for ahead in [1, 63, 64, 65, 200] {
        let calls = |rank: usize| match rank {
            0 => vec![BCAST; ahead + 1],
            2 => vec![BCAST, Job::Barrier],
            _ => vec![Job::Barrier],
        };
        // Rank 0 waits for room, or in a barrier.
        let said = blocking(|rank| [calls(rank), vec![Job::Barrier]].concat());
        all_name(&said, |_| [vec![Job::Barrier, BCAST], vec![Job::Barrier, BCAST]]);
    }
}
