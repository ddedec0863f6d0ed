//! Collectives on a board of ranks that run concurrently, each in its own thread: data without and
//! with gaps, and in the memory of a device, in blocking and nonblocking calls, on each rank
//! independently.

use std::sync::Barrier;

use towpath_base::ids::PeerIndex;
use towpath_base::sync::{AtomicUsize, Ordering};
use towpath_collective::allgather::Allgather;
use towpath_collective::alltoall::Alltoall;
use towpath_collective::board::{
    BoardOutcome, CallState, Member, Need, NumberedCall, PendingCall, TeamBoard, WaitLoop,
};
use towpath_collective::gather::Gather;
use towpath_collective::scatter::Scatter;
use towpath_collective::select::Subscription;
use towpath_collective::{Blocks, Buffer, CallSignature, Element, Operation, Selection};
use towpath_datatype::device::simulated::SimulatedDevice;
use towpath_datatype::{Basic, Datatype, Form};
use towpath_machine::memory;
use towpath_shm::Segment;
use towpath_wires::Wires;

const RANKS: usize = 4;
/// Bytes between two values in memory.
const STRIDE: usize = 12;

/// Yields until the others have posted, and counts how often it has waited for a device.
#[derive(Default)]
struct Yielding {
    waits: usize,
}

impl Member for Yielding {
    fn out_of_step(&mut self, member: usize) -> ! {
        panic!("member {member} is in another call")
    }

    fn progress(&mut self) {
        self.waits += 1;
    }
}

impl WaitLoop for Yielding {
    fn wait(&mut self, ready: &mut dyn FnMut(bool) -> bool) {
        while !ready(false) {
            std::thread::yield_now();
        }
    }
}

/// Does not wait.
struct Impatient;

impl Member for Impatient {
    fn out_of_step(&mut self, member: usize) -> ! {
        panic!("member {member} is in another call")
    }

    fn progress(&mut self) {}
}

impl WaitLoop for Impatient {
    fn wait(&mut self, _ready: &mut dyn FnMut(bool) -> bool) {
        panic!("a call without data waits")
    }
}

/// Layout and memory space of a rank's values.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Dense,
    Gaps,
    Device,
}

impl Memory {
    fn element(self) -> Element {
        let value = Datatype::named(Basic::Int32);
        let spaced = Datatype::resized(0, STRIDE as i64, &value, Form::Small).unwrap();
        match self {
            Memory::Dense => Element::of(&value),
            Memory::Gaps => Element::of(&spaced),
            Memory::Device => Element::on_device(&spaced, &SimulatedDevice),
        }
    }
}

/// An array of values in a rank's memory.
struct Values {
    memory: Memory,
    bytes: Vec<u8>,
}

impl Values {
    fn new(memory: Memory, values: impl IntoIterator<Item = i32>) -> Values {
        let step = if memory == Memory::Dense { 4 } else { STRIDE };
        let mut bytes = Vec::new();
        for value in values {
            bytes.extend(value.to_ne_bytes());
            bytes.resize(bytes.len() + step - 4, 0);
        }
        Values { memory, bytes }
    }

    fn blank(memory: Memory, count: usize) -> Values {
        Values::new(memory, std::iter::repeat_n(-1, count))
    }

    fn get(&self) -> Vec<i32> {
        let step = if self.memory == Memory::Dense { 4 } else { STRIDE };
        self.bytes.chunks(step).map(|at| i32::from_ne_bytes(at[..4].try_into().unwrap())).collect()
    }

    fn buffer(&mut self, count: usize) -> Buffer {
        let pointer = self.bytes.as_mut_ptr();
        Buffer { pointer, count: count as i64, element: self.memory.element() }
    }

    fn blocks(&mut self, count: usize) -> Blocks {
        let Buffer { pointer, count, element } = self.buffer(count);
        Blocks::Equal { pointer, count, element }
    }

    /// Consecutive blocks with these counts.
    fn varying(&mut self, counts: [usize; RANKS]) -> Blocks {
        let Buffer { pointer, element, .. } = self.buffer(0);
        let first = |rank| counts[..rank].iter().sum::<usize>() as i64;
        let displacements = (0..RANKS).map(first).collect();
        let counts = counts.iter().map(|&count| count as i64).collect();
        Blocks::Varying { pointer, counts, displacements, element }
    }
}

/// Value `index` of the block that rank `from` has for rank `to`.
fn value(from: usize, to: usize, index: usize) -> i32 {
    (from * 1_000_000 + to * 100_000 + index) as i32
}

fn block(from: usize, to: usize, count: usize) -> impl Iterator<Item = i32> {
    (0..count).map(move |index| value(from, to, index))
}

/// Each collective once, with `count` values a block. `send` and `receive` are the kinds of memory
/// of this rank's data.
fn each_collective(
    own: usize,
    count: usize,
    [send, receive]: [Memory; 2],
    call: &mut dyn FnMut(Operation),
) {
    let root = 1;
    let all = |to: usize| (0..RANKS).flat_map(move |from| block(from, to, count));

    let mut data = match own == root {
        true => Values::new(send, block(root, 0, count)),
        false => Values::blank(receive, count),
    };
    call(Operation::Bcast { root, data: data.buffer(count) });
    assert!(data.get().into_iter().eq(block(root, 0, count)), "broadcast to {own}");

    let mut mine = Values::new(send, block(own, root, count));
    let mut into = Values::blank(receive, count * RANKS);
    let arguments = Gather {
        root,
        send: Some(mine.buffer(count)),
        receive: (own == root).then(|| into.blocks(count)),
    };
    call(Operation::Gather(arguments));
    assert!(own != root || into.get().into_iter().eq(all(root)), "gather");

    // Only the root knows how long the blocks are; that of rank 0 is empty.
    let counts: [usize; RANKS] = std::array::from_fn(|rank| count * rank);
    let mut mine = Values::new(send, block(own, root, counts[own]));
    let mut into = Values::blank(receive, counts.iter().sum());
    let arguments = Gather {
        root,
        send: Some(mine.buffer(counts[own])),
        receive: (own == root).then(|| into.varying(counts)),
    };
    call(Operation::Gatherv(arguments));
    let mut expected = (0..RANKS).flat_map(|from| block(from, root, counts[from]));
    assert!(own != root || into.get().into_iter().eq(expected.by_ref()), "gatherv");

    let mut from = Values::new(send, (0..RANKS).flat_map(|to| block(root, to, counts[to])));
    let mut into = Values::blank(receive, counts[own]);
    let arguments = Scatter {
        root,
        send: (own == root).then(|| from.varying(counts)),
        receive: Some(into.buffer(counts[own])),
    };
    call(Operation::Scatterv(arguments));
    assert!(into.get().into_iter().eq(block(root, own, counts[own])), "scatterv to {own}");

    let mut from = Values::new(send, (0..RANKS).flat_map(|to| block(root, to, count)));
    let mut into = Values::blank(receive, count);
    let arguments = Scatter {
        root,
        send: (own == root).then(|| from.blocks(count)),
        receive: Some(into.buffer(count)),
    };
    call(Operation::Scatter(arguments));
    assert!(into.get().into_iter().eq(block(root, own, count)), "scatter to {own}");

    let mut mine = Values::new(send, block(own, 0, count));
    let mut into = Values::blank(receive, count * RANKS);
    let arguments = Allgather { send: Some(mine.buffer(count)), receive: into.blocks(count) };
    call(Operation::Allgather(arguments));
    assert!(into.get().into_iter().eq(all(0)), "allgather to {own}");

    // Rank 0 has none, the last one needs more rounds than the others.
    let counts: [usize; RANKS] = std::array::from_fn(|rank| count * rank);
    let mut mine = Values::new(send, block(own, 0, counts[own]));
    let mut into = Values::blank(receive, counts.iter().sum());
    let arguments =
        Allgather { send: Some(mine.buffer(counts[own])), receive: into.varying(counts) };
    call(Operation::Allgather(arguments));
    let expected = (0..RANKS).flat_map(|from| block(from, 0, counts[from]));
    assert!(into.get().into_iter().eq(expected), "allgather of unequal blocks to {own}");

    call(Operation::Bcast { root, data: Values::blank(receive, 0).buffer(0) });

    let mut from = Values::new(send, (0..RANKS).flat_map(|to| block(own, to, count)));
    let mut into = Values::blank(receive, count * RANKS);
    let arguments = Alltoall { send: Some(from.blocks(count)), receive: into.blocks(count) };
    call(Operation::Alltoall(arguments));
    assert!(into.get().into_iter().eq(all(own)), "alltoall to {own}");
}

/// Polls a nonblocking call until it is complete. Returns its board, and how it has ended.
fn finish(call: &mut PendingCall) -> (Box<TeamBoard>, BoardOutcome) {
    let mut member = Yielding::default();
    loop {
        match call.poll(&mut member) {
            CallState::Complete(call) => return (call.board, call.outcome),
            CallState::Pending { .. } => std::thread::yield_now(),
        }
    }
}

/// Executes all collectives as rank `own`; returns how often it has waited for a device.
fn run(own: usize, mut wires: Wires, place: &AtomicUsize, together: &Barrier) -> usize {
    let team: Vec<PeerIndex> = (0..RANKS as u32).map(PeerIndex).collect();
    if own == 0 {
        place.store(wires.make_board(&team, None).expect("memory for a board"), Ordering::SeqCst);
    }
    together.wait();
    let board = wires.join_board(place.load(Ordering::SeqCst), &team, own);
    let board = TeamBoard::new(board, team.into(), &Selection::default(), Subscription::Over);
    assert!(own != 0 || board.provide_areas());
    let mut board = Some(Box::new(board));
    together.wait();
    let (mut waiter, mut calls) = (Yielding::default(), 0);
    let mut pending = PendingCall::default();
    let memories = [Memory::Dense, Memory::Gaps, Memory::Device];
    for turn in 0..3 * memories.len() {
        let memory = |shift: usize| memories[(turn / shift + own) % memories.len()];
        for count in [0, 1, 15, 1000] {
            each_collective(own, count, [memory(1), memory(3)], &mut |operation| {
                calls += 1;
                let mut on = board.take().expect("each call returns the board");
                assert!(matches!(on.need(&operation), Some(Need::Lines | Need::Areas)));
                // SAFETY: the values outlive the call, are as long as the operation says, and
                // those that are sent and received are different arrays.
                let (on, outcome) = unsafe {
                    if (calls + own).is_multiple_of(2) {
                        let outcome = on.execute(&operation, 0, &mut waiter);
                        (on, outcome)
                    } else {
                        let mark = CallSignature::of(&operation).mark();
                        let call = NumberedCall { mark, number: on.calls() };
                        pending.start(operation, call, on);
                        finish(&mut pending)
                    }
                };
                board = Some(on);
                assert_eq!(outcome, BoardOutcome::Complete, "call {calls} of rank {own}");
            });
        }
    }
    waiter.waits
}

#[test]
fn data_reaches_and_leaves_every_memory() {
    let file = memory::create_file("towpath-board").unwrap();
    let (place, together) = (AtomicUsize::new(0), Barrier::new(RANKS));
    let wires = (0..RANKS).map(|own| {
        Wires::single_host(Segment::map(&file, RANKS, own).expect("memory for a segment"))
    });
    let wires: Vec<Wires> = wires.collect();
    std::thread::scope(|scope| {
        let ranks: Vec<_> = wires
            .into_iter()
            .enumerate()
            .map(|(own, wires)| {
                let (place, together) = (&place, &together);
                scope.spawn(move || run(own, wires, place, together))
            })
            .collect();
        for rank in ranks {
            assert!(rank.join().unwrap() > 0, "no device was waited for");
        }
    });
}

#[test]
fn a_call_without_data_waits_for_nobody() {
    let file = memory::create_file("towpath-board").unwrap();
    let segment = |own| Segment::map(&file, RANKS, own).expect("memory for a segment");
    let mut wires = [0, 1].map(|own| Wires::single_host(segment(own)));
    let team: Vec<PeerIndex> = (0..RANKS as u32).map(PeerIndex).collect();
    let place = wires[0].make_board(&team, None).expect("memory for a board");
    let board = wires[1].join_board(place, &team, 1);
    let mut board = TeamBoard::new(board, team.into(), &Selection::default(), Subscription::Full);
    for root in [0, 1] {
        let data = Values::blank(Memory::Dense, 0).buffer(0);
        // SAFETY: the operation names no memory.
        let outcome = unsafe { board.execute(&Operation::Bcast { root, data }, 0, &mut Impatient) };
        assert_eq!(outcome, BoardOutcome::Complete);
    }
}
