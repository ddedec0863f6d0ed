//! Tests random datatypes against the naive interpreter: basic elements, external32, and layouts
//! larger than memory.

mod support;

use proptest::prelude::*;
use support::{Map, any_tree};
use towpath_datatype::{
    Basic, Cursor, Datatype, Form, external32_size, pack, pack_external32, unpack, unpack_external32,
};
use towpath_machine::pages::Pages;

const LIMIT: i64 = 1000;

/// The basic elements of `count` elements, with pairs split.
fn elements(map: &Map, count: i64) -> Vec<Basic> {
    let one = map.entries.iter().flat_map(|&(basic, _)| match basic.pair() {
        Some((value, index, _)) => vec![value, index],
        None => vec![basic],
    });
    let one: Vec<Basic> = one.collect();
    (0..count).flat_map(|_| one.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn partial_elements_are_counted(tree in any_tree(LIMIT), count in 0..3i64, cut in any::<prop::sample::Index>()) {
        let (datatype, elements) = (tree.datatype(), elements(&tree.map(), count));
        let cut = cut.index(datatype.bytes(count) as usize + 1);
        let (mut position, mut whole) = (0, 0);
        while position < cut {
            position += elements[whole].size();
            whole += 1;
        }
        let expected = (position == cut).then_some(whole as i64);
        prop_assert_eq!(datatype.elements_in(cut as i64), expected);
        prop_assert_eq!(datatype.elements() * count, elements.len() as i64);
    }

    #[test]
    fn runs_are_the_entries_of_the_type_map(tree in any_tree(LIMIT), count in 0..3i64) {
        let (datatype, map) = (tree.datatype(), tree.map());
        let mut found = Vec::new();
        datatype.for_each_run(count, &mut |basic, run| found.extend((0..run).map(|_| basic)));
        let expected: Vec<Basic> = (0..count).flat_map(|_| map.entries.iter().map(|entry| entry.0)).collect();
        let flat = Datatype::structure(
            &vec![1; expected.len()],
            &vec![0; expected.len()],
            &expected.iter().map(|&basic| Datatype::named(basic)).collect::<Vec<_>>(),
            Form::Small,
        ).expect("a valid structure");
        prop_assert_eq!(datatype.signature_hash(count), flat.signature_hash(1));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn external32_is_element_by_element(tree in any_tree(LIMIT), count in 0..3i64) {
        let (datatype, map) = (tree.datatype(), tree.map());
        let native: Vec<u8> = (0..datatype.bytes(count)).map(|byte| (byte * 37 + 11) as u8).collect();
        let (low, span) = datatype.span(count);
        let mut memory = vec![0u8; span as usize];
        let pointer = memory.as_mut_ptr().wrapping_offset(-low as isize);
        let size = external32_size(&datatype, count).expect("a small size") as usize;
        let (mut packed, mut back) = (vec![0u8; size], vec![0u8; span as usize]);
        // SAFETY: `memory` and `back` span the elements, and `packed` has room for their external
        // form.
        unsafe {
            unpack(&datatype, pointer, count, 0, native.as_ptr(), native.len());
            prop_assert_eq!(pack_external32(&datatype, pointer, count, packed.as_mut_ptr(), size), Ok(size));
            let pointer = back.as_mut_ptr().wrapping_offset(-low as isize);
            prop_assert_eq!(unpack_external32(&datatype, pointer, count, packed.as_ptr(), size), Ok(size));
        }
        let mut native = vec![0u8; native.len()];
        // SAFETY: `memory` spans the elements.
        unsafe { pack(&datatype, pointer, count, 0, native.as_mut_ptr(), native.len()) };
        let (mut from, mut to) = (&native[..], &packed[..]);
        for basic in elements(&map, count) {
            let plain = basic.size() == basic.external32_size() && basic.size() <= 8;
            if plain && !matches!(basic.class(), towpath_datatype::basic::Class::Complex(_)) {
                prop_assert!(from[..basic.size()].iter().eq(to[..basic.size()].iter().rev()), "{}", basic.name());
            }
            from = &from[basic.size()..];
            to = &to[basic.external32_size()..];
        }
        prop_assert!(from.is_empty() && to.is_empty());
    }
}

/// Many gigabytes, which the kernel backs with pages only where they are accessed.
fn sparse(length: usize) -> Pages {
    Pages::new(length).unwrap_or_else(|| panic!("no address space for {length} bytes"))
}

#[test]
fn extents_beyond_4_gigabytes() {
    let memory = sparse(20 << 30);
    let stride = 3 << 30;
    let int = Datatype::named(Basic::Int);
    let far = Datatype::hvector(6, 2, stride, &int, Form::Large).expect("a valid vector");
    let packed: Vec<i32> = (1..=12).collect();
    for split in [1usize, 3, 7, 16, 48] {
        // SAFETY: the memory spans 5 * 3 GiB + 8 bytes and outlives the cursor.
        let mut cursor = unsafe { Cursor::new(&far, memory.pointer(), 1) };
        let bytes = packed.as_ptr().cast::<u8>();
        for start in (0..48).step_by(split) {
            // SAFETY: the memory outlives the cursor, and the piece is inside `packed`.
            unsafe { towpath_base::transfer::Drain::drain(&mut cursor, bytes.add(start), split.min(48 - start)) };
        }
        let mut back = vec![0i32; 12];
        // SAFETY: the memory spans the data, and `back` holds 48 bytes.
        unsafe { pack(&far, memory.pointer(), 1, 0, back.as_mut_ptr().cast(), 48) };
        assert_eq!(back, packed);
    }
    // SAFETY: this is the first integer of the last block.
    assert_eq!(unsafe { memory.pointer().add(5 * stride as usize).cast::<i32>().read() }, 11);
}

#[test]
fn counts_beyond_2_to_the_31() {
    let memory = sparse(16 << 30);
    let base = memory.pointer();
    let bytes = Datatype::resized(0, 2, &Datatype::named(Basic::Byte), Form::Large).expect("a valid type");
    let count = 6 << 30;
    let position = (5usize << 30) + 5;
    let packed = *b"beyond";
    let mut back = [0u8; 6];
    // SAFETY: 6 Gi elements with extent 2 fit in 16 GiB.
    unsafe {
        assert_eq!(unpack(&bytes, base, count, position, packed.as_ptr(), 6), 6);
        assert_eq!(pack(&bytes, base, count, position, back.as_mut_ptr(), 6), 6);
        assert_eq!(base.add(2 * position + 2).read(), b'e');
        assert_eq!(pack(&bytes, base, count, (6 << 30) - 2, back.as_mut_ptr().add(3), 3), 2);
    }
    assert_eq!(&back[..3], b"bey");
}

#[test]
fn packing_reads_nothing_in_holes() {
    const PAGE: usize = 4096;
    let memory = sparse(3 * PAGE);
    let base = memory.pointer();
    // SAFETY: nothing uses the middle page of the mapping.
    let refused = unsafe { libc::mprotect(base.add(PAGE).cast(), PAGE, libc::PROT_NONE) };
    assert_eq!(refused, 0);
    let byte = Datatype::named(Basic::Byte);
    // All blocks but one end before the hole; the last one is after it.
    let lengths: Vec<i64> = (1..=40).map(|index| index % 7 + 1).chain([100]).collect();
    let mut at = PAGE as i64;
    let mut displacements: Vec<i64> = Vec::new();
    for length in lengths[..40].iter().rev() {
        at -= length;
        displacements.insert(0, at);
        at -= 3;
    }
    displacements.push(2 * PAGE as i64);
    let datatype = Datatype::hindexed(&lengths, &displacements, &byte, Form::Small).expect("a valid list");
    let bytes = datatype.size() as usize;
    let mut packed = vec![0u8; bytes];
    for start in 0..bytes {
        // SAFETY: all blocks are in the outer pages, and `packed` has room for them.
        let done = unsafe { pack(&datatype, base, 1, start, packed.as_mut_ptr(), bytes) };
        assert_eq!(done, bytes - start);
    }
}
