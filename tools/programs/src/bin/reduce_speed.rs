//! Speed of the reduction kernels: `cargo run --release -p towpath-programs --bin reduce_speed`.
//!
//! Prints, for each operation on each type, gigabytes of input combined per second, in the L1 cache
//! (4 KiB) and beyond the L2 cache (4 MiB): the best of several rounds.

use std::hint::black_box;
use std::time::Instant;
use towpath_datatype::basic;
use towpath_datatype::reduce::{self, Kernel, Operation};

const SMALL: usize = 4 << 10;
const LARGE: usize = 4 << 20;
const ROUNDS: usize = 7;
/// Value of every byte of the buffers: yields a normal number in each floating-point format.
const NORMAL: u8 = 0xbc;
const BYTES_PER_ROUND: usize = 8 << 20;

/// Input bytes per nanosecond of a kernel on buffers of `bytes` bytes.
fn speed(kernel: Kernel, extent: usize, bytes: usize) -> f64 {
    let input = vec![NORMAL; bytes];
    let mut inout = vec![NORMAL; bytes];
    let repetitions = BYTES_PER_ROUND / bytes;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..repetitions {
            // SAFETY: both vectors hold `bytes` bytes, and so `bytes / extent` elements.
            unsafe {
                kernel(black_box(input.as_ptr()), black_box(inout.as_mut_ptr()), bytes / extent)
            };
        }
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    (repetitions * bytes) as f64 / best
}

fn main() {
    println!("{:<12} {:<28} {:>10} {:>10}", "operation", "type", "4 KiB", "4 MiB");
    let wanted = std::env::args().nth(1);
    for &operation in reduce::ALL {
        for &basic in basic::ALL.iter().filter(|&&basic| reduce::supports(operation, basic)) {
            if wanted
                .as_deref()
                .is_some_and(|name| name != operation.name() && name != basic.name())
            {
                continue;
            }
            if let Some(kernel) = reduce::kernel(operation, basic) {
                let (small, large) =
                    (speed(kernel, basic.extent(), SMALL), speed(kernel, basic.extent(), LARGE));
                println!(
                    "{:<12} {:<28} {small:>10.2} {large:>10.2}",
                    Operation::name(operation),
                    basic.name()
                );
            }
        }
    }
}
