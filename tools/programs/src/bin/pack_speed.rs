//! Times packing and unpacking of common layouts against handwritten loops.
//!
//! `cargo run --release -p towpath-programs --bin pack_speed [name part]`
//!
//! Columns are GB of payload per second, the best of several batches: a plain copy, the handwritten
//! loop, the whole message in one call, and the message in pieces of 32 KiB. The last three have a
//! figure for packing and one for unpacking.

use std::hint::black_box;
use std::time::Instant;
use towpath_datatype::{Basic, Datatype, Form, pack, unpack};

const PIECE: usize = 32 * 1024;

/// A handwritten loop between user memory and packed doubles.
type Hand = Box<dyn Fn(*mut f64, *mut f64)>;

struct Case {
    name: String,
    datatype: Datatype,
    count: i64,
    /// Number of doubles that the layout spans.
    span: usize,
    hand_pack: Hand,
    hand_unpack: Hand,
}

fn double() -> Datatype {
    Datatype::named(Basic::Double)
}

/// Rows of `LENGTH` doubles, `stride` doubles apart.
fn rows<const LENGTH: usize, const PACK: bool>(count: usize, stride: usize) -> Hand {
    Box::new(move |user, packed| {
        for row in 0..count {
            for index in 0..LENGTH {
                // SAFETY: the element is inside the layout, which both buffers hold.
                unsafe {
                    let (user, packed) =
                        (user.add(row * stride + index), packed.add(row * LENGTH + index));
                    if PACK { *packed = *user } else { *user = *packed }
                }
            }
        }
    })
}

fn vector<const LENGTH: usize>(cases: &mut Vec<Case>, gap: usize, bytes: usize) {
    let (count, stride) = (bytes / 8 / LENGTH, gap * LENGTH);
    let datatype =
        Datatype::vector(count as i64, LENGTH as i64, stride as i64, &double(), Form::Small);
    cases.push(Case {
        name: format!("vec_b{LENGTH}_x{gap} {} KB", bytes / 1024),
        datatype: datatype.expect("a valid vector"),
        count: 1,
        span: count * stride,
        hand_pack: rows::<LENGTH, true>(count, stride),
        hand_unpack: rows::<LENGTH, false>(count, stride),
    });
}

/// A face of a cube of doubles with edge length `side`: one or two loops over rows of doubles.
fn face(cases: &mut Vec<Case>, side: usize, axis: usize) {
    let all = side as i64;
    let (mut subsizes, starts) = ([all; 3], [0; 3]);
    subsizes[axis] = 1;
    let datatype = Datatype::subarray(&[all; 3], &subsizes, &starts, 12, &double(), Form::Small);
    let (outer, stride, length) =
        if axis == 1 { (side, side * side, side) } else { (side * side, side, 1) };
    let copy = move |pack: bool| -> Hand {
        Box::new(move |user, packed| {
            for row in 0..outer {
                for index in 0..length {
                    // SAFETY: the element is inside the cube and its packed face.
                    unsafe {
                        let (user, packed) =
                            (user.add(row * stride + index), packed.add(row * length + index));
                        if pack { *packed = *user } else { *user = *packed }
                    }
                }
            }
        })
    };
    cases.push(Case {
        name: format!("face{side}_{}", if axis == 1 { "rows" } else { "single" }),
        datatype: datatype.expect("a valid face"),
        count: 1,
        span: side * side * side,
        hand_pack: copy(true),
        hand_unpack: copy(false),
    });
}

/// A linear congruential generator; it makes the layouts reproducible.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Blocks of the given lengths at the given offsets, both in doubles.
fn listed(name: String, blocks: Vec<(usize, usize)>) -> Case {
    let lengths: Vec<i64> = blocks.iter().map(|block| block.0 as i64).collect();
    let offsets: Vec<i64> = blocks.iter().map(|block| block.1 as i64).collect();
    let last = blocks[blocks.len() - 1];
    let hand = |pack: bool, blocks: Vec<(usize, usize)>| -> Hand {
        let even = blocks.iter().all(|block| block.0 == blocks[0].0).then_some(blocks[0].0);
        Box::new(move |user, packed| {
            let mut at = 0;
            for &(length, offset) in &blocks {
                for index in 0..even.unwrap_or(length) {
                    // SAFETY: the element is inside the layout, which both buffers hold.
                    unsafe {
                        let (user, packed) = (user.add(offset + index), packed.add(at + index));
                        if pack { *packed = *user } else { *user = *packed }
                    }
                }
                at += length;
            }
        })
    };
    Case {
        name,
        datatype: Datatype::indexed(&lengths, &offsets, &double(), Form::Small)
            .expect("a valid list"),
        count: 1,
        span: last.0 + last.1,
        hand_pack: hand(true, blocks.clone()),
        hand_unpack: hand(false, blocks),
    }
}

fn lists(cases: &mut Vec<Case>, bytes: usize) {
    let mut state = 1;
    for length in [1usize, 8] {
        let mut at = 0;
        let mut next = || {
            let offset = at;
            at += length * (1 + random(&mut state) % 4);
            (length, offset)
        };
        let blocks = (0..bytes / 8 / length).map(|_| next()).collect();
        cases.push(listed(format!("idxblk_b{length} {} KB", bytes / 1024), blocks));
    }
    let (mut at, mut doubles, mut blocks) = (0, 0, Vec::new());
    while doubles < bytes / 8 {
        let length = (1 + random(&mut state) % 8).min(bytes / 8 - doubles);
        blocks.push((length, at));
        at += length + 1 + random(&mut state) % 8;
        doubles += length;
    }
    cases.push(listed(format!("indexed_1to8 {} KB", bytes / 1024), blocks));
}

/// Records of a double and an integer, in 16 bytes each: the integer last, so that both form one
/// block, or first.
fn structure(cases: &mut Vec<Case>, bytes: usize, integer_first: bool) {
    let types = [Basic::Double, Basic::Int].map(Datatype::named);
    let offsets: [usize; 2] = if integer_first { [8, 0] } else { [0, 8] };
    let count = bytes / 12;
    let hand = move |pack: bool| -> Hand {
        Box::new(move |user, packed| {
            let (user, packed) = (user.cast::<u8>(), packed.cast::<u8>());
            for index in 0..count {
                // SAFETY: record `index` is inside the array, as are its 12 packed bytes.
                unsafe {
                    let (double, integer) =
                        (user.add(index * 16 + offsets[0]), user.add(index * 16 + offsets[1]));
                    let packed = packed.add(index * 12);
                    if pack {
                        packed.cast::<f64>().write_unaligned(double.cast::<f64>().read());
                        packed.add(8).cast::<i32>().write_unaligned(integer.cast::<i32>().read());
                    } else {
                        double.cast::<f64>().write(packed.cast::<f64>().read_unaligned());
                        integer.cast::<i32>().write(packed.add(8).cast::<i32>().read_unaligned());
                    }
                }
            }
        })
    };
    let displacements = offsets.map(|offset| offset as i64);
    cases.push(Case {
        name: format!("struct_{} {} KB", if integer_first { "i_d" } else { "di" }, bytes / 1024),
        datatype: Datatype::structure(&[1, 1], &displacements, &types, Form::Small)
            .expect("a valid structure"),
        count: count as i64,
        span: count * 2,
        hand_pack: hand(true),
        hand_unpack: hand(false),
    });
}

fn nested(cases: &mut Vec<Case>, bytes: usize) {
    let inner = Datatype::vector(32, 2, 4, &double(), Form::Small).expect("a valid vector");
    let count = bytes / 512;
    let stride = 160usize;
    let datatype = Datatype::hvector(count as i64, 1, stride as i64 * 8, &inner, Form::Small);
    let hand = move |pack: bool| -> Hand {
        Box::new(move |user, packed| {
            for outer in 0..count {
                for row in 0..32 {
                    for index in 0..2 {
                        // SAFETY: the element is inside the layout, which both buffers hold.
                        unsafe {
                            let user = user.add(outer * stride + row * 4 + index);
                            let packed = packed.add(outer * 64 + row * 2 + index);
                            if pack { *packed = *user } else { *user = *packed }
                        }
                    }
                }
            }
        })
    };
    cases.push(Case {
        name: format!("hvec_of_vec {} KB", bytes / 1024),
        datatype: datatype.expect("a valid vector"),
        count: 1,
        span: count * stride,
        hand_pack: hand(true),
        hand_unpack: hand(false),
    });
}

/// Best of many batches of about 0.2 ms, in GB per second. Batches are short so that some run
/// undisturbed on a busy machine.
fn speed(bytes: usize, mut work: impl FnMut()) -> f64 {
    work();
    let start = Instant::now();
    work();
    let once = start.elapsed().as_secs_f64().max(1e-8);
    let repetitions = (0.0002 / once).ceil() as usize;
    let batch = |_| {
        let start = Instant::now();
        (0..repetitions).for_each(|_| work());
        start.elapsed().as_secs_f64() / repetitions as f64
    };
    bytes as f64 / (0..40).map(batch).fold(f64::INFINITY, f64::min) / 1e9
}

fn measure(case: &Case) {
    let bytes = case.datatype.bytes(case.count) as usize;
    let mut memory = vec![1.0f64; case.span + 8];
    let (mut packed, mut other) = (vec![0.5f64; bytes / 8 + 2], vec![0.5f64; bytes / 8 + 2]);
    let (user, packed) = (memory.as_mut_ptr(), packed.as_mut_ptr());
    let (datatype, count) = (&case.datatype, case.count);
    // SAFETY: `memory` spans the layout, and `packed` and `other` hold its bytes.
    let copied = speed(bytes, || unsafe {
        std::ptr::copy_nonoverlapping(
            black_box(packed).cast::<u8>(),
            other.as_mut_ptr().cast(),
            bytes,
        );
        black_box(&mut other);
    });
    let hand_pack = speed(bytes, || (case.hand_pack)(black_box(user), packed));
    let hand_unpack = speed(bytes, || (case.hand_unpack)(black_box(user), packed));
    let (mut whole, mut pieces) = ([0.0; 2], [0.0; 2]);
    for (index, step) in [bytes, PIECE].into_iter().enumerate() {
        // SAFETY: `memory` spans the layout, and `packed` holds its bytes.
        let packing = speed(bytes, || unsafe {
            for at in (0..bytes).step_by(step) {
                pack(
                    datatype,
                    black_box(user).cast(),
                    count,
                    at,
                    packed.cast::<u8>().add(at),
                    step.min(bytes - at),
                );
            }
        });
        // SAFETY: `memory` spans the layout, and `packed` holds its bytes.
        let unpacking = speed(bytes, || unsafe {
            for at in (0..bytes).step_by(step) {
                unpack(
                    datatype,
                    black_box(user).cast(),
                    count,
                    at,
                    packed.cast::<u8>().add(at),
                    step.min(bytes - at),
                );
            }
        });
        if index == 0 { whole = [packing, unpacking] } else { pieces = [packing, unpacking] }
    }
    println!(
        "{:22} {copied:6.1} | {hand_pack:6.1} {hand_unpack:6.1} | {:6.1} {:6.1} | {:6.1} {:6.1} | {:5.2} {:5.2}",
        case.name,
        whole[0],
        whole[1],
        pieces[0],
        pieces[1],
        whole[0] / hand_pack,
        whole[1] / hand_unpack
    );
}

/// Times, in nanoseconds: making, committing and freeing a vector; packing one of 64 bytes; making
/// and freeing lists of 65536 blocks.
fn small_costs() {
    let double = double();
    let made = speed(1, || {
        let vector =
            Datatype::vector(black_box(8), 1, 2, &double, Form::Small).expect("a valid vector");
        vector.commit();
        black_box(&vector);
    });
    let vector = Datatype::vector(8, 1, 2, &double, Form::Small).expect("a valid vector");
    let (memory, mut packed) = ([1.0f64; 16], [0.0f64; 8]);
    // SAFETY: `memory` holds 8 doubles, 2 apart, and `packed` has room for them.
    let small = speed(1, || unsafe {
        pack(&vector, black_box(memory.as_ptr()).cast(), 1, 0, packed.as_mut_ptr().cast(), 64);
        black_box(&mut packed);
    });
    println!(
        "make + commit + free a vector {:.0} ns; pack 64 bytes {:.0} ns",
        made.recip(),
        small.recip()
    );
    let mut state = 1;
    let lengths: Vec<i64> = (0..65536).map(|_| 1 + random(&mut state) as i64 % 8).collect();
    let offsets: Vec<i64> =
        (0..65536).map(|index| index * 16 + random(&mut state) as i64 % 8).collect();
    let list = speed(1, || {
        black_box(
            Datatype::indexed(&lengths, &offsets, &double, Form::Small).expect("a valid list"),
        );
    });
    let blocks = speed(1, || {
        black_box(
            Datatype::indexed_block(1, &offsets, &double, Form::Small).expect("a valid list"),
        );
    });
    println!(
        "make + free an indexed of 65536 blocks {:.0} ns; indexed_block {:.0} ns",
        list.recip(),
        blocks.recip()
    );
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut cases = Vec::new();
    for bytes in [4 << 10, 64 << 10, 1 << 20, 16 << 20] {
        for gap in [2, 16] {
            vector::<1>(&mut cases, gap, bytes);
            vector::<2>(&mut cases, gap, bytes);
            vector::<4>(&mut cases, gap, bytes);
            vector::<8>(&mut cases, gap, bytes);
            vector::<64>(&mut cases, gap, bytes);
        }
        lists(&mut cases, bytes);
        structure(&mut cases, bytes, false);
        structure(&mut cases, bytes, true);
        nested(&mut cases, bytes);
    }
    vector::<1>(&mut cases, 4096, 32 << 10);
    for side in [128, 256, 512] {
        face(&mut cases, side, 1);
        face(&mut cases, side, 2);
    }
    println!(
        "{:22} {:>6} | {:^13} | {:^13} | {:^13} | whole/hand",
        "GB/s", "copy", "hand", "whole", "pieces"
    );
    cases.iter().filter(|case| case.name.contains(&wanted)).for_each(measure);
    small_costs();
}
