//! Tests random datatypes against the naive interpreter: bounds, packing, unpacking and copying, in
//! pieces of any size. `PROPTEST_CASES` scales the number of cases.

mod support;

use proptest::prelude::*;
use support::{Map, any_tree};
use towpath_base::transfer::{Drain, Fill, Source, Step};
use towpath_datatype::{Cursor, Datatype, copy, pack, source, target, unpack};

const LIMIT: i64 = 3000;

/// Memory spanned by the data of `count` elements, and the position of displacement 0 in it.
struct Memory {
    bytes: Vec<u8>,
    origin: i64,
    /// Displacement of every byte of data, in packed order.
    map: Vec<i64>,
}

impl Memory {
    fn new(map: &Map, count: i64, seed: u8) -> Memory {
        let element = map.bytes();
        let extent = map.extent();
        let map: Vec<i64> = (0..count).flat_map(|copy| element.iter().map(move |byte| byte + copy * extent)).collect();
        let low = map.iter().copied().min().unwrap_or(0).min(0);
        let high = map.iter().copied().max().unwrap_or(0).max(0);
        let bytes = (0..=high - low).map(|byte| (byte as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        Memory { bytes, origin: -low, map }
    }

    fn pointer(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(self.origin as usize)
    }

    fn packed(&self) -> Vec<u8> {
        self.map.iter().map(|byte| self.bytes[(byte + self.origin) as usize]).collect()
    }

    fn put(&mut self, packed: &[u8]) {
        for (byte, value) in self.map.iter().zip(packed) {
            self.bytes[(byte + self.origin) as usize] = *value;
        }
    }

    fn overlaps(&self) -> bool {
        let mut sorted = self.map.clone();
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// Divides `total` bytes into pieces of the given sizes, cyclically.
fn pieces(total: usize, sizes: &[usize]) -> Vec<usize> {
    let (mut pieces, mut left) = (Vec::new(), total);
    for &size in sizes.iter().cycle() {
        if left == 0 {
            break;
        }
        pieces.push(size.min(left));
        left -= size.min(left);
    }
    pieces
}

fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1..12usize, 1..400usize, Just(100_000usize)], 1..6)
}

fn fill_all(fill: &mut dyn Fill, total: usize, sizes: &[usize]) -> Vec<u8> {
    let mut packed = vec![0u8; total];
    let mut done = 0;
    for piece in pieces(total, sizes) {
        // SAFETY: `piece` bytes of `packed` are left after `done`, and the packer's memory outlives
        // it.
        let step = unsafe { fill.fill(packed.as_mut_ptr().add(done), piece) };
        assert_eq!(step, Step::Done(piece));
        done += piece;
    }
    packed
}

fn check_bounds(datatype: &Datatype, map: &Map) {
    let bytes = map.bytes();
    let (lb, ub) = map.bounds.unwrap_or((0, 0));
    let true_lb = bytes.iter().copied().min().unwrap_or(0);
    let true_ub = bytes.iter().copied().max().map_or(0, |last| last + 1);
    assert_eq!(datatype.size(), bytes.len() as i64, "size");
    assert_eq!((datatype.lb(), datatype.ub()), (lb, ub), "bounds");
    assert_eq!((datatype.true_lb(), datatype.true_ub()), (true_lb, true_ub), "true bounds");
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: u32::MAX, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_are_those_of_the_type_map(tree in any_tree(LIMIT)) {
        check_bounds(&tree.datatype(), &tree.map());
    }

    #[test]
    fn packs_in_type_map_order(tree in any_tree(LIMIT), count in 0..4i64, sizes in any_sizes()) {
        let datatype = tree.datatype();
        let mut memory = Memory::new(&tree.map(), count, 1);
        let expected = memory.packed();
        let total = expected.len();
        let mut packed = vec![0u8; total + 1];
        // SAFETY: `memory` spans the elements, and `packed` has room for all bytes.
        let done = unsafe { pack(&datatype, memory.pointer(), count, 0, packed.as_mut_ptr(), total + 1) };
        prop_assert_eq!(done, total);
        prop_assert_eq!(&packed[..total], &expected[..]);
        prop_assert_eq!(packed[total], 0);
        // SAFETY: `memory` outlives the cursor.
        let mut cursor = unsafe { Cursor::new(&datatype, memory.pointer(), count) };
        prop_assert_eq!(&fill_all(&mut cursor, total, &sizes), &expected);
        // SAFETY: `memory` outlives the source.
        match unsafe { source(&datatype, memory.pointer(), count) } {
            Source::Bytes { pointer, length } => {
                prop_assert_eq!(length, total);
                // SAFETY: `Source::Bytes` describes `length` contiguous readable bytes.
                let row = unsafe { std::slice::from_raw_parts(pointer, length) };
                prop_assert_eq!(row, &expected[..]);
            }
            Source::Packer { mut fill, length } => {
                prop_assert_eq!(length, total);
                prop_assert_eq!(&fill_all(&mut *fill, total, &sizes), &expected);
            }
        }
    }

    #[test]
    fn unpacks_where_the_type_map_says(tree in any_tree(LIMIT), count in 0..4i64, sizes in any_sizes()) {
        let datatype = tree.datatype();
        let mut memory = Memory::new(&tree.map(), count, 2);
        prop_assume!(!memory.overlaps());
        let packed: Vec<u8> = (0..memory.map.len()).map(|byte| (byte * 7 + 3) as u8).collect();
        let mut expected = Memory::new(&tree.map(), count, 2);
        expected.put(&packed);
        // SAFETY: `memory` spans the elements, and `packed` is readable.
        let done = unsafe { unpack(&datatype, memory.pointer(), count, 0, packed.as_ptr(), packed.len()) };
        prop_assert_eq!(done, packed.len());
        prop_assert_eq!(&memory.bytes, &expected.bytes);
        let mut memory = Memory::new(&tree.map(), count, 2);
        // SAFETY: `memory` outlives the target.
        let mut target = unsafe { target(&datatype, memory.pointer(), count) };
        prop_assert_eq!(target.length(), packed.len());
        let mut done = 0;
        for piece in pieces(packed.len(), &sizes) {
            // SAFETY: `piece` bytes of `packed` are left after `done`.
            let step = unsafe { target.drain(packed.as_ptr().add(done), piece) };
            prop_assert_eq!(step, Step::Done(piece));
            done += piece;
        }
        // SAFETY: the bytes of `packed` are readable; bytes beyond the end of the target are
        // dropped.
        prop_assert_eq!(unsafe { target.drain(packed.as_ptr(), packed.len().min(5)) }, Step::Done(packed.len().min(5)));
        prop_assert_eq!(&memory.bytes, &expected.bytes);
    }

    #[test]
    fn copies_between_layouts(from in any_tree(LIMIT), to in any_tree(LIMIT), counts in (0..4i64, 0..4i64)) {
        let mut source = Memory::new(&from.map(), counts.0, 1);
        let mut target = Memory::new(&to.map(), counts.1, 2);
        prop_assume!(!target.overlaps());
        let mut expected = Memory::new(&to.map(), counts.1, 2);
        expected.put(&source.packed());
        let (from, to) = (from.datatype(), to.datatype());
        // SAFETY: both memories span their elements and do not overlap.
        let done = unsafe { copy(&from, source.pointer(), counts.0, &to, target.pointer(), counts.1) };
        prop_assert_eq!(done, source.map.len().min(target.map.len()));
        prop_assert_eq!(&target.bytes, &expected.bytes);
    }

    #[test]
    fn copies_to_the_same_layout(tree in any_tree(LIMIT), count in 0..4i64) {
        let mut source = Memory::new(&tree.map(), count, 1);
        let mut target = Memory::new(&tree.map(), count, 2);
        prop_assume!(!target.overlaps());
        let mut expected = Memory::new(&tree.map(), count, 2);
        expected.put(&source.packed());
        let datatype = tree.datatype();
        // SAFETY: both memories span their elements and do not overlap.
        unsafe { copy(&datatype, source.pointer(), count, &datatype, target.pointer(), count) };
        prop_assert_eq!(&target.bytes, &expected.bytes);
    }
}

#[test]
fn cursors_unpack_after_seeking() {
    let column =
        Datatype::vector(8, 1, 2, &Datatype::named(towpath_datatype::Basic::Int), towpath_datatype::Form::Small)
            .expect("a valid vector");
    let mut memory = [0i32; 16];
    let packed: Vec<i32> = (1..=8).collect();
    // SAFETY: the vector spans 15 integers, which hold the column, and outlives the cursor.
    let mut cursor = unsafe { Cursor::new(&column, memory.as_mut_ptr().cast(), 1) };
    for start in [20usize, 0, 13] {
        cursor.seek(start);
        // SAFETY: `packed` holds the 32 bytes, of which those from `start` on are passed.
        unsafe { cursor.drain(packed.as_ptr().cast::<u8>().add(start), 32 - start) };
        assert_eq!(cursor.position(), cursor.total());
    }
    assert!(
        memory.iter().enumerate().all(|(index, &value)| value == if index % 2 == 0 { index as i32 / 2 + 1 } else { 0 })
    );
}

fn vector(stride: i64, length: i64) -> Datatype {
    let int = Datatype::named(towpath_datatype::Basic::Int);
    Datatype::vector(8 / length, length, stride, &int, towpath_datatype::Form::Small).expect("a valid vector")
}

#[test]
fn cursors_take_from_each_other_where_both_are_nests() {
    let mut from: [i32; 24] = std::array::from_fn(|index| index as i32);
    let mut to = [-1i32; 24];
    let (narrow, wide) = (vector(2, 1), vector(3, 1));
    let int = Datatype::named(towpath_datatype::Basic::Int);
    let list = Datatype::indexed_block(2, &[0, 3, 4], &int, towpath_datatype::Form::Small).expect("a valid list");
    // SAFETY: each array holds the at most 22 integers that a datatype spans, and outlives the
    // cursors.
    let (mut source, mut target, mut other) = unsafe {
        let cursor = |kind: &Datatype, memory: &mut [i32]| Cursor::new(kind, memory.as_mut_ptr().cast(), 1);
        (cursor(&narrow, &mut from), cursor(&wide, &mut to), cursor(&list, &mut to))
    };
    // SAFETY: the memory of all cursors is still valid.
    unsafe {
        assert_eq!(other.take(&mut source), None, "a list");
        source.seek(4);
        assert_eq!(target.take(&mut source), None, "a source that has begun");
        source.seek(0);
        assert_eq!(target.take(&mut source), Some(Step::Done(32)));
    }
    assert_eq!((source.position(), target.position()), (32, 32));
    let expected = |index: usize| if index.is_multiple_of(3) { index as i32 / 3 * 2 } else { -1 };
    assert!(to.iter().enumerate().all(|(index, &value)| value == expected(index)), "{to:?}");
}
