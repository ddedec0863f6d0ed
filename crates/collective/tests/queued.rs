//! Nonblocking and persistent calls in the queue of a board, on the engine and the board of real
//! wires; each rank is a thread, and polls its calls in an order of its own.

use std::sync::{Arc, Mutex};

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_collective::allgather::Allgather;
use towpath_collective::board::{
    BoardOffer, BoardQueue, Member, QueueOwner, QueuedCall, TeamBoard,
};
use towpath_collective::select::Subscription;
use towpath_collective::{
    Blocks, Buffer, Call, Element, HostCopies, Operation, Placement, Progress, Run, Selection, Team,
};
use towpath_engine::messages::{Messages, Outcome, Ticket};
use towpath_engine::{Engine, Limits};
use towpath_machine::memory;
use towpath_shm::Segment;
use towpath_wires::Wires;

const RANKS: usize = 3;
/// Calls that are under way at a time.
const CALLS: usize = 12;
/// Numbers in a block, by call: on lines, on areas, and too many for the board of a full host.
const LENGTHS: [usize; 4] = [1, 2000, 5, 300_000];

/// What member 0 offers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Offered {
    Board,
    /// A board, but the members must meet before they know whether they share cores.
    Uncertain,
    Nothing,
}

/// The engine of a rank, with the number of its messages.
struct Counted {
    engine: Engine<Wires>,
    sends: usize,
}

impl Messages for Counted {
    unsafe fn start_send(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        rank: usize,
        source: Source,
    ) -> Ticket {
        self.sends += 1;
        // SAFETY: as this function's contract says.
        unsafe { self.engine.start_send(to, context, tag, rank, source) }
    }

    unsafe fn start_receive(
        &mut self,
        from: PeerIndex,
        context: ContextId,
        tag: i32,
        target: Target,
    ) -> Ticket {
        // SAFETY: as this function's contract says.
        unsafe { self.engine.start_receive(from, context, tag, target) }
    }

    fn poll(&mut self, ticket: Ticket) -> Option<Outcome> {
        self.engine.poll(ticket)
    }
}

#[derive(Clone)]
struct Caller {
    rank: usize,
    offered: Offered,
    selection: Arc<Selection>,
}

impl Caller {
    fn peers() -> Vec<PeerIndex> {
        (0..RANKS as u32).map(PeerIndex).collect()
    }
}

impl Member for Caller {
    fn out_of_step(&mut self, member: usize) -> ! {
        panic!("member {member} is in another call")
    }

    fn progress(&mut self) {}
}

impl QueueOwner for Caller {
    type Engine = Counted;

    fn team(&self) -> Team {
        let placement = Placement::on_one_host(RANKS).into();
        let context = ContextId::new(1, 1);
        Team { context, rank: self.rank, peers: Caller::peers().into(), placement }
    }

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn offer(&self, counted: &mut Counted, is_small: bool) -> BoardOffer {
        if self.rank > 0 || self.offered == Offered::Nothing {
            return BoardOffer::NOTHING;
        }
        let made = counted.engine.wire_mut().make_board(&Caller::peers(), is_small);
        let location = made.expect("memory for a board");
        BoardOffer::new(location, Subscription::Over, self.offered == Offered::Board)
    }

    fn look_again(&self, offer: BoardOffer) -> BoardOffer {
        if self.rank > 0 {
            return BoardOffer::NOTHING;
        }
        BoardOffer::new(offer.location(), Subscription::Full, true)
    }

    fn join(&self, counted: &Counted, offer: BoardOffer) -> TeamBoard {
        let board = counted.engine.wire().join_board(offer.location(), &Caller::peers(), self.rank);
        TeamBoard::new(board, &self.selection, offer.subscription())
    }
}

/// A call, and its memory.
struct Job {
    state: State,
    length: usize,
    root: usize,
    own: Vec<i32>,
    all: Vec<i32>,
}

enum State {
    Queued(Box<QueuedCall<Caller>>),
    ByMessages(Box<Run>),
    Over,
}

fn value(number: usize, rank: usize, index: usize) -> i32 {
    (number * 1_000_000 + rank * 300_000 + index) as i32
}

impl Job {
    /// Every third call is a broadcast, every third a barrier; the others are allgathers.
    fn operation(number: usize, rank: usize) -> (Job, Operation) {
        let (length, root) = (LENGTHS[number % LENGTHS.len()], number % RANKS);
        let mut job = Job {
            state: State::Over,
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

    /// Goes on with the call; true if it is over.
    fn advance(&mut self, counted: &mut Counted) -> bool {
        let progress = match &mut self.state {
            State::Queued(call) => call.post(counted).0,
            State::ByMessages(run) => run.post(counted),
            State::Over => return true,
        };
        match (progress, &mut self.state) {
            (Progress::Compute, State::Queued(call)) => call.compute(),
            (Progress::Compute, State::ByMessages(run)) => run.compute(),
            (Progress::Failed(failure), _) => panic!("{failure}"),
            _ => {}
        }
        progress == Progress::Done
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

/// Completes calls that were started.
fn complete(jobs: &mut [Job], counted: &mut Counted, own: usize) {
    let mut left: Vec<usize> = (0..jobs.len()).collect();
    left.rotate_left(own * 5 % CALLS);
    while !left.is_empty() {
        counted.engine.progress();
        left.retain(|&number| !jobs[number].advance(counted));
        std::thread::yield_now();
    }
}

/// All calls at once in the queue of a team. Returns the number of messages.
fn nonblocking(caller: &Caller, counted: &mut Counted) -> usize {
    let queue = Arc::new(Mutex::new(BoardQueue::default()));
    let mut jobs = Vec::new();
    for number in 0..CALLS {
        let (mut job, operation) = Job::operation(number, caller.rank);
        let turn = queue.lock().unwrap().enter(&operation, &caller.selection, RANKS);
        // SAFETY: the vectors of `job` do not move, and live until the call is over.
        job.state = unsafe {
            match turn {
                Some(turn) => State::Queued(Box::new(QueuedCall::new(
                    caller.clone(),
                    queue.clone(),
                    (operation, HostCopies::default()),
                    (turn, number as u32),
                ))),
                None => {
                    let call = Call { team: &caller.team(), selection: &caller.selection };
                    let plan = operation.plan(&call).unwrap();
                    State::ByMessages(Box::new(Run::start(plan, number as u32)))
                }
            }
        };
        jobs.push(job);
    }
    complete(&mut jobs, counted, caller.rank);
    jobs.iter().enumerate().for_each(|(number, job)| job.check(number));
    counted.sends
}

/// All calls as persistent operations, which each rank starts in another order, three times.
fn persistent(caller: &Caller, counted: &mut Counted) -> usize {
    let mut jobs: Vec<Job> = (0..CALLS)
        .map(|number| {
            let (mut job, operation) = Job::operation(number, caller.rank);
            let work = (operation, HostCopies::default());
            let call = QueuedCall::hold(caller.clone(), work, number as u32);
            job.state = State::Queued(Box::new(call));
            job
        })
        .collect();
    for round in 0..3 {
        for step in 0..CALLS {
            let number = (step + caller.rank * 5 + round) % CALLS;
            let State::Queued(call) = &mut jobs[number].state else { unreachable!() };
            // SAFETY: the vectors of the job do not move, and live until the call is over.
            unsafe { call.start_again() };
            jobs[number].all.fill(-1);
        }
        complete(&mut jobs, counted, caller.rank);
        jobs.iter().enumerate().for_each(|(number, job)| job.check(number));
    }
    counted.sends
}

/// Runs `calls` on all ranks. Returns the number of messages of all.
fn run(offered: Offered, calls: fn(&Caller, &mut Counted) -> usize) -> usize {
    let file = memory::create_file("towpath-queued").unwrap();
    let engines = (0..RANKS).map(|own| {
        let segment = Segment::map(&file, RANKS, own).expect("memory for a segment");
        Engine::new(Wires::single_host(segment), Limits::from_settings(), RANKS)
    });
    let engines: Vec<Engine<Wires>> = engines.collect();
    let selection = Arc::new(Selection::default());
    let left = &std::sync::Barrier::new(RANKS);
    std::thread::scope(|scope| {
        let ranks: Vec<_> = engines
            .into_iter()
            .enumerate()
            .map(|(rank, engine)| {
                let caller = Caller { rank, offered, selection: selection.clone() };
                scope.spawn(move || {
                    let mut counted = Counted { engine, sends: 0 };
                    let sends = calls(&caller, &mut counted);
                    left.wait();
                    sends
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).sum()
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
fn persistent_operations_go_by_messages_if_there_is_no_board() {
    assert!(run(Offered::Nothing, persistent) > 3 * CALLS * (RANKS - 1));
}
