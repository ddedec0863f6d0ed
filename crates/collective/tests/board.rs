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
use towpath_shm::{Heap, Segment};
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
                        let outcome = on.execute(&operation, (0, 0), &mut waiter);
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
        let outcome =
            unsafe { board.execute(&Operation::Bcast { root, data }, (0, 0), &mut Impatient) };
        assert_eq!(outcome, BoardOutcome::Complete);
    }
}

/// Gathers to rank 1, which has a buffer in a heap that all ranks have mapped.
struct GatherToHeap {
    wires: Vec<Wires>,
    place: usize,
    /// Blocks of so many values, of each rank and in the buffer.
    counts: [usize; 2],
    into: *mut u8,
    mine: Vec<Values>,
}

impl GatherToHeap {
    const ROOT: usize = 1;
    /// Values behind the buffer, which nobody writes.
    const BEHIND: usize = 50_000;
    /// What the buffer holds before.
    const BEFORE: i32 = -7;

    fn new(counts: [usize; 2]) -> GatherToHeap {
        let file = memory::create_file("towpath-board").unwrap();
        let segment = |own| Segment::map(&file, RANKS, own).expect("memory for a segment");
        let mut wires: Vec<Wires> =
            (0..RANKS).map(|own| Wires::single_host(segment(own))).collect();
        let mut heap = Heap::new(wires[Self::ROOT].segment().clone());
        let values = RANKS * counts[1] + Self::BEHIND;
        let into = heap.allocate(values * 4, 64).expect("memory in the heap");
        for index in 0..values {
            // SAFETY: the heap has lent so many values to this thread alone.
            unsafe { into.cast::<i32>().add(index).write(Self::BEFORE) };
        }
        let place = wires[0].make_board(&Self::team(), None).expect("memory for a board");
        let block = |own| Values::new(Memory::Dense, block(own, Self::ROOT, counts[0]));
        GatherToHeap { wires, place, counts, into, mine: (0..RANKS).map(block).collect() }
    }

    fn team() -> Vec<PeerIndex> {
        (0..RANKS as u32).map(PeerIndex).collect()
    }

    fn gather(&mut self, own: usize) -> Operation {
        let (count, expected) = (self.mine[own].bytes.len() / 4, self.counts[1]);
        let receive = Blocks::Equal {
            pointer: self.into,
            count: expected as i64,
            element: Memory::Dense.element(),
        };
        Operation::Gather(Gather {
            root: Self::ROOT,
            send: Some(self.mine[own].buffer(count)),
            receive: (own == Self::ROOT).then_some(receive),
        })
    }

    fn start(&mut self, own: usize, operation: Operation) -> PendingCall {
        let (team, selection) = (Self::team(), Selection::default());
        let board = self.wires[own].join_board(self.place, &team, own);
        let board = TeamBoard::new(board, team.into(), &selection, Subscription::Over);
        assert!(own != 0 || board.provide_areas());
        let call = NumberedCall { mark: CallSignature::of(&operation).mark(), number: 0 };
        let mut pending = PendingCall::default();
        // SAFETY: the buffers live until the calls are complete, and nothing else accesses them.
        unsafe { pending.start(operation, call, Box::new(board)) };
        pending
    }

    /// Starts the gather at a rank, and tells whether it is complete at once.
    fn start_gather(&mut self, own: usize) -> (PendingCall, bool) {
        let operation = self.gather(own);
        let mut call = self.start(own, operation);
        let is_complete = matches!(call.poll(&mut Impatient), CallState::Complete(_));
        (call, is_complete)
    }

    /// Values in the buffer from one on.
    fn values(&self, first: usize, number: usize) -> impl Iterator<Item = i32> {
        let into = self.into.cast::<i32>();
        // SAFETY: the heap has lent so many values, and all that write to them are in this thread.
        (first..first + number).map(move |index| unsafe { into.add(index).read() })
    }

    fn has_block_of(&self, rank: usize) -> bool {
        let count = self.counts[1];
        self.values(rank * count, count).eq(block(rank, Self::ROOT, count))
    }

    /// True if nobody has written to the place of a rank's block.
    fn is_untouched(&self, rank: usize) -> bool {
        let count = self.counts[1];
        self.values(rank * count, count).all(|value| value == Self::BEFORE)
    }
}

/// Members that come after the root write into its buffer, which the root does not touch then;
/// those that come earlier post.
#[test]
fn members_write_into_the_buffer_that_the_root_exposes() {
    let mut gather = GatherToHeap::new([100_000; 2]);
    let (mut first, is_complete) = gather.start_gather(0);
    assert!(!is_complete, "the block is longer than the area");
    let (mut root, is_complete) = gather.start_gather(1);
    assert!(!is_complete);
    for late in [2, 3] {
        assert!(gather.start_gather(late).1, "rank {late}");
        assert!(gather.has_block_of(late), "rank {late}");
    }
    assert!(!gather.has_block_of(0));
    for _ in 0..2 {
        for call in [&mut root, &mut first] {
            if let CallState::Complete(call) = call.poll(&mut Impatient) {
                assert_eq!(call.outcome, BoardOutcome::Complete);
            }
        }
    }
    assert!((0..RANKS).all(|rank| gather.has_block_of(rank)));
}

/// The place of a block follows from the length that the root expects, so only blocks of this
/// length are written there.
#[test]
fn blocks_of_another_length_are_not_written_into_the_buffer_of_the_root() {
    for (count, expected) in [(20_000, 10_000), (10_000, 20_000), (0, 20_000)] {
        let mut gather = GatherToHeap::new([count, expected]);
        gather.mine[1] = Values::new(Memory::Dense, block(1, 1, expected));
        gather.mine[3] = Values::new(Memory::Dense, block(3, 1, expected));
        let _calls = [1, 0, 2, 3].map(|rank| gather.start_gather(rank).0);
        assert!(gather.has_block_of(3), "{expected}: the root exposes its buffer");
        assert!(gather.is_untouched(0) && gather.is_untouched(2), "{count} for {expected}");
        let behind = gather.values(RANKS * expected, GatherToHeap::BEHIND);
        assert!(behind.eq(std::iter::repeat_n(GatherToHeap::BEFORE, GatherToHeap::BEHIND)));
    }
}

/// A root that sends itself a block of another length than it expects exposes nothing.
#[test]
fn a_root_that_contradicts_itself_does_not_expose_its_buffer() {
    let mut gather = GatherToHeap::new([20_000, 10_000]);
    let _calls = [1, 0, 2, 3].map(|rank| gather.start_gather(rank).0);
    assert!([0, 2, 3].into_iter().all(|rank| gather.is_untouched(rank)));
}

#[test]
fn nobody_writes_into_the_buffer_of_a_root_whose_call_has_ended() {
    let mut gather = GatherToHeap::new([100_000; 2]);
    let mut root = gather.start_gather(1).0;
    let _other = gather.start(0, Operation::Barrier).poll(&mut Impatient);
    root.look_for_mismatch();
    let CallState::Complete(root) = root.poll(&mut Impatient) else {
        panic!("rank 0 is in a barrier")
    };
    assert_eq!(root.outcome, BoardOutcome::OutOfStep);
    let _late = gather.start_gather(2);
    assert!(gather.is_untouched(2));
}
