//! Compares copies from layout to layout, in parts and through another mapping of the source, with
//! packing and unpacking.

use proptest::prelude::*;
use towpath_base::transfer::{Drain, Fill, Layout};
use towpath_datatype::{Basic, Cursor, Datatype, Form, copy_across, pack, unpack};

/// Loops over blocks of bytes: counts and gaps, innermost first.
#[derive(Clone, Debug)]
struct Nest {
    block: i64,
    loops: Vec<(i64, i64)>,
    backwards: bool,
}

impl Nest {
    fn bytes(&self) -> i64 {
        self.loops.iter().fold(self.block, |bytes, (count, _)| bytes * count)
    }

    fn datatype(&self) -> Datatype {
        let byte = Datatype::named(Basic::Byte);
        let mut datatype = Datatype::contiguous(self.block, &byte, Form::Small).expect("a valid row");
        let mut reach = self.block;
        for &(count, gap) in &self.loops {
            let stride = if self.backwards { -(reach + gap) } else { reach + gap };
            datatype = Datatype::hvector(count, 1, stride, &datatype, Form::Small).expect("a valid vector");
            reach = (reach + gap) * count;
        }
        datatype
    }
}

fn any_nest() -> impl Strategy<Value = Nest> {
    let block = prop_oneof![1..9i64, Just(12), Just(16), Just(24), Just(32), Just(48), Just(64), Just(96)];
    let loops = prop::collection::vec((1..7i64, 1..80i64), 1..4);
    (block, loops, any::<bool>()).prop_map(|(block, loops, backwards)| Nest { block, loops, backwards })
}

/// Memory of elements of a type, filled with a pattern.
struct Memory {
    bytes: Vec<u8>,
    origin: usize,
}

impl Memory {
    fn new(datatype: &Datatype, count: i64, seed: u8) -> Memory {
        let reach = (datatype.true_ub() - datatype.true_lb()).max(datatype.extent().abs()) as usize;
        let origin = reach * (count as usize + 1);
        let bytes = (0..2 * origin + 1).map(|byte| (byte as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        Memory { bytes, origin }
    }

    fn pointer(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(self.origin)
    }
}

/// Copies `bytes` bytes from `position` on by packing and unpacking, for comparison.
fn expected(from: (&Datatype, &mut Memory), to: (&Datatype, &mut Memory), position: usize, bytes: usize) {
    let mut packed = vec![0; bytes];
    // SAFETY: both memories span four elements, which hold the bytes.
    unsafe {
        pack(from.0, from.1.pointer(), 4, position, packed.as_mut_ptr(), bytes);
        unpack(to.0, to.1.pointer(), 4, position, packed.as_ptr(), bytes);
    }
}

fn layout(memory: &mut Memory, datatype: &Datatype) -> Option<Layout> {
    // SAFETY: the memory spans four elements and outlives the cursor.
    let cursor = unsafe { Cursor::new(datatype, memory.pointer(), 4) };
    assert_eq!(Fill::layout(&cursor), Drain::layout(&cursor));
    Fill::layout(&cursor)
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: u32::MAX, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_are_copied_as_if_packed_and_unpacked(
        from in any_nest(), to in any_nest(), cut in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let (from_type, to_type) = (from.datatype(), to.datatype());
        let total = 4 * from.bytes().min(to.bytes()) as usize;
        let (first, second) = (cut.0.index(total + 1), cut.1.index(total + 1));
        let (position, bytes) = (first.min(second), first.abs_diff(second));
        let mut source = Memory::new(&from_type, 4, 1);
        let (mut target, mut wanted) = (Memory::new(&to_type, 4, 2), Memory::new(&to_type, 4, 2));
        expected((&from_type, &mut source), (&to_type, &mut wanted), position, bytes);
        let (Some(from), Some(to)) = (layout(&mut source, &from_type), layout(&mut target, &to_type)) else {
            return Err(TestCaseError::reject("more loops than a nest has"));
        };
        // Simulate another process, which maps the source at another address.
        let offset = from.lowest as usize - source.bytes.as_ptr() as usize;
        let mut elsewhere = source.bytes[offset..offset + from.span].to_vec();
        let from = Layout { lowest: elsewhere.as_mut_ptr(), ..from };
        // SAFETY: the vectors hold all bytes of both layouts.
        unsafe { copy_across(&from, &to, position, bytes) };
        prop_assert!(target.bytes == wanted.bytes, "bytes {position} and {bytes} more");
    }

    #[test]
    fn rows_are_layouts_too(nest in any_nest(), cut in any::<prop::sample::Index>()) {
        let datatype = nest.datatype();
        let total = 4 * nest.bytes() as usize;
        let position = cut.index(total + 1);
        let mut memory = Memory::new(&datatype, 4, 1);
        let Some(strided) = layout(&mut memory, &datatype) else {
            return Err(TestCaseError::reject("more loops than a nest has"));
        };
        let (mut row, mut wanted) = (vec![0; total], vec![0; total]);
        let bytes = total - position;
        // SAFETY: the memory spans four elements, and the vectors hold their bytes.
        unsafe {
            copy_across(&strided, &Layout::contiguous(row.as_mut_ptr(), total), position, bytes);
            pack(&datatype, memory.pointer(), 4, position, wanted.as_mut_ptr().add(position), bytes);
        }
        prop_assert_eq!(&row, &wanted);
        let before = memory.bytes.clone();
        row.iter_mut().for_each(|byte| *byte ^= 0xFF);
        // SAFETY: the memory spans four elements, and `row` holds their bytes.
        unsafe { copy_across(&Layout::contiguous(row.as_mut_ptr(), total), &strided, position, bytes) };
        // SAFETY: the memory spans four elements, and `wanted` holds their bytes.
        unsafe { unpack(&datatype, memory.pointer(), 4, position, wanted.as_ptr().add(position), bytes) };
        prop_assert_eq!(&memory.bytes, &before);
    }
}

#[test]
fn a_layout_that_leaves_its_bounds_is_refused() {
    let datatype = Datatype::vector(100, 1, 4, &Datatype::named(Basic::Int), Form::Small).expect("a valid vector");
    let mut memory = Memory::new(&datatype, 4, 1);
    let good = layout(&mut memory, &datatype).expect("a nest");
    let mut row = [0; 1600];
    for (word, value) in [(0, 0), (0, 400), (1, 1 << 40), (2, u64::MAX)] {
        let mut bad = good;
        bad.strides.0[word] = value;
        let to = Layout::contiguous(row.as_mut_ptr(), row.len());
        // SAFETY: the layout is rejected before any memory is read.
        let copied = std::panic::catch_unwind(|| unsafe { copy_across(&bad, &to, 0, 1600) });
        assert!(copied.is_err(), "word {word} = {value}");
    }
}
