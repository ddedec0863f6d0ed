//! Large messages that are not contiguous: copied between strided layouts if both sides can access
//! the memory, and packed otherwise.

use std::cell::Cell;
use std::rc::Rc;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Drain, Fill, Layout, STRIDES_WORDS, Source, Step, Strides, Target};
use towpath_machine::memory::create_file;
use towpath_shm::{Heap, Segment, Settings};
use towpath_transport::{Header, RegionKey, RegionWire, Sink, Wire};
use towpath_wires::Wires;

/// Bytes of a block, and the distance from one block to the next.
const BLOCK: usize = 48;
const STRIDE: usize = 80;
const BLOCKS: usize = 9001;
const LENGTH: usize = BLOCK * BLOCKS;
const SPAN: usize = STRIDE * (BLOCKS - 1) + BLOCK;

/// Layout of one side's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Contiguous,
    Strided,
    /// Strided, but not declared as such.
    Secret,
}

/// Offset of packed byte `index`.
fn place(kind: Kind, index: usize) -> usize {
    if kind == Kind::Contiguous { index } else { index / BLOCK * STRIDE + index % BLOCK }
}

/// One side of a message; `calls` counts how often it was asked to pack or unpack.
struct Blocks {
    memory: *mut u8,
    kind: Kind,
    at: usize,
    calls: Rc<Cell<usize>>,
}

impl Blocks {
    fn layout(&self) -> Option<Layout> {
        let mut words = [0; STRIDES_WORDS];
        words[0] = 1;
        (self.kind == Kind::Strided).then_some(Layout {
            lowest: self.memory,
            span: SPAN,
            strides: Strides(words),
        })
    }

    fn next(&mut self) -> *mut u8 {
        self.at += 1;
        self.memory.wrapping_add(place(self.kind, self.at - 1))
    }
}

// SAFETY: writes at most `capacity` bytes, and reads only bytes of the blocks.
unsafe impl Fill for Blocks {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        self.calls.set(self.calls.get() + 1);
        let piece = capacity.min(LENGTH - self.at);
        // SAFETY: `into` has room for `piece` bytes, and the blocks live until the end of the test.
        (0..piece).for_each(|byte| unsafe { *into.add(byte) = *self.next() });
        Step::Done(piece)
    }

    fn layout(&self) -> Option<Layout> {
        Blocks::layout(self)
    }
}

// SAFETY: writes only bytes of the blocks.
unsafe impl Drain for Blocks {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        self.calls.set(self.calls.get() + 1);
        // SAFETY: `from` is readable for `length` bytes, and the blocks live until the end of the
        // test.
        (0..length.min(LENGTH - self.at))
            .for_each(|byte| unsafe { *self.next() = *from.add(byte) });
        Step::Done(length)
    }

    fn layout(&self) -> Option<Layout> {
        Blocks::layout(self)
    }
}

/// Does what the datatype library does, byte by byte.
///
/// # Safety
/// Same as for [`CopyAcross`](towpath_base::transfer::CopyAcross).
unsafe fn across(from: &Layout, to: &Layout, position: usize, length: usize) {
    let kind = |layout: &Layout| {
        if layout.strides == Strides::CONTIGUOUS { Kind::Contiguous } else { Kind::Strided }
    };
    for byte in position..position + length {
        // SAFETY: both layouts hold all bytes of the message.
        unsafe {
            *to.lowest.add(place(kind(to), byte)) = *from.lowest.add(place(kind(from), byte))
        };
    }
}

#[derive(Default)]
struct Ends {
    released: usize,
    pulled: usize,
}

impl Sink for Ends {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {}
    fn released(&mut self, token: u64) {
        assert_eq!(token, 1);
        self.released += 1;
    }
    fn pulled(&mut self, token: u64) {
        assert_eq!(token, 2);
        self.pulled += 1;
    }
    fn lost(&mut self, peer: PeerIndex) {
        panic!("{peer:?} lost");
    }
}

/// Memory of one side: a block of the heap, or private.
struct Memory {
    own: Vec<u8>,
    block: Option<(Heap, *mut u8)>,
}

impl Memory {
    fn new(segment: &Segment, in_heap: bool) -> Memory {
        let block = in_heap.then(|| {
            let mut heap = Heap::new(segment.clone());
            let block = heap.allocate(SPAN, 1).expect("room in the heap");
            (heap, block)
        });
        Memory { own: vec![0; SPAN], block }
    }

    fn pointer(&mut self) -> *mut u8 {
        self.block.as_ref().map_or(self.own.as_mut_ptr(), |(_, block)| *block)
    }
}

/// A message from rank 0 to rank 1.
struct Message {
    kinds: [Kind; 2],
    in_heaps: [bool; 2],
    /// Whether each side has a function that copies between strided layouts.
    knows: [bool; 2],
}

impl Message {
    /// Transfers it, with or without turns of the sender. Returns how often bytes were packed and
    /// unpacked.
    fn travels(&self, sender_helps: bool) -> [usize; 2] {
        let file = create_file("towpath-strided").unwrap();
        let settings = Settings {
            arena_bytes: 1 << 20,
            bounce_buffers: true,
            direct_bytes: Some(1),
            ..Settings::default()
        };
        let mut wires =
            [0, 1].map(|own| Wires::with_settings(Segment::map(&file, 2, own).unwrap(), settings));
        wires
            .iter_mut()
            .zip(self.knows)
            .filter(|(_, knows)| *knows)
            .for_each(|(wire, _)| wire.set_across(across));
        let mut memory = [0, 1].map(|rank| Memory::new(wires[rank].segment(), self.in_heaps[rank]));
        let calls = [0, 1].map(|_| Rc::new(Cell::new(0)));
        let blocks = |rank: usize, memory: *mut u8| {
            Box::new(Blocks { memory, kind: self.kinds[rank], at: 0, calls: calls[rank].clone() })
        };
        let (from, to) = (memory[0].pointer(), memory[1].pointer());
        for byte in 0..LENGTH {
            // SAFETY: the memory has room for all blocks.
            unsafe { *from.add(place(self.kinds[0], byte)) = (byte * 7 + byte / 251) as u8 };
        }
        let source = match self.kinds[0] {
            Kind::Contiguous => Source::Bytes { pointer: from, length: LENGTH },
            _ => Source::Packer { fill: blocks(0, from), length: LENGTH },
        };
        let target = match self.kinds[1] {
            Kind::Contiguous => Target::Bytes { pointer: to, length: LENGTH },
            _ => Target::Unpacker { drain: blocks(1, to), length: LENGTH },
        };
        let [sender, receiver] = &mut wires;
        let mut ends = Ends::default();
        // SAFETY: both memories live until the message is released and pulled.
        unsafe {
            let key: RegionKey = sender.publish(PeerIndex(1), 1, source);
            receiver.pull(PeerIndex(0), key, 2, target);
        }
        for turn in 0..100_000 {
            receiver.progress(&mut ends);
            if ends.pulled == 1 && ends.released == 1 {
                break;
            }
            if sender_helps || ends.pulled == 1 || turn > 1000 {
                sender.progress(&mut ends);
            }
        }
        assert_eq!((ends.pulled, ends.released), (1, 1));
        for byte in 0..LENGTH {
            // SAFETY: the memory has room for all blocks, and all its bytes are initialized.
            let got = unsafe { *to.add(place(self.kinds[1], byte)) };
            assert_eq!(got, (byte * 7 + byte / 251) as u8, "byte {byte}");
        }
        calls.map(|calls| calls.get())
    }
}

#[test]
fn strides_are_followed_where_both_see_the_memory() {
    for kinds in [
        [Kind::Strided, Kind::Contiguous],
        [Kind::Contiguous, Kind::Strided],
        [Kind::Strided, Kind::Strided],
    ] {
        for sender_helps in [false, true] {
            let calls =
                Message { kinds, in_heaps: [true; 2], knows: [true; 2] }.travels(sender_helps);
            assert_eq!(calls, [0, 0], "{kinds:?}, sender helps: {sender_helps}");
        }
    }
}

#[test]
fn bytes_are_packed_where_strides_cannot_be_followed() {
    use Kind::{Contiguous, Secret, Strided};
    let kinds = [
        [Strided, Strided],
        [Strided, Contiguous],
        [Contiguous, Strided],
        [Strided, Secret],
        [Secret, Strided],
        [Secret, Secret],
    ];
    for kinds in kinds {
        for knows in [[true, true], [true, false], [false, true], [false, false]] {
            for in_heaps in [[true, true], [true, false], [false, true], [false, false]] {
                let calls = Message { kinds, in_heaps, knows }.travels(true);
                let follows = |rank: usize| {
                    kinds[rank] == Contiguous || (kinds[rank] == Strided && knows[0] && knows[1])
                };
                let direct = in_heaps == [true, true] && follows(0) && follows(1);
                let name = format!("{kinds:?}, knows: {knows:?}, in heaps: {in_heaps:?}");
                assert!(!direct || calls == [0, 0], "{name}: packed {calls:?}");
                let packs = kinds[0] != Contiguous && in_heaps != [true, true];
                assert!(!packs || calls[0] > 0, "{name}: nobody has packed");
            }
        }
    }
}
