//! Measures the latency of a cache line from core to core, which shows the state of the machine.
//!
//! Two pinned threads exchange values, over one line that both write (it moves once per answer),
//! and over one line for each direction (it moves twice: the writer takes it back, the reader
//! fetches it, as in every ring). Speed comparisons print these figures before and after, because a
//! virtual machine's cores may move closer together or farther apart at any time.

use std::sync::Barrier;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_setaffinity};
use towpath_base::sync::{AtomicU64, Ordering};

const ROUNDS: u64 = 100_000;
const BLOCKS: u64 = 5;

#[repr(align(128))]
struct Line(AtomicU64);

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

fn wait_for(line: &Line, value: u64) {
    while line.0.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
    }
}

/// One-way time in nanoseconds, median of the blocks. Requests are odd values, answers even ones.
fn measure(there: &Line, back: &Line) -> f64 {
    let both_run = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            both_run.wait();
            for round in 0..ROUNDS * BLOCKS {
                wait_for(there, 2 * round + 1);
                back.0.store(2 * round + 2, Ordering::Release);
            }
        });
        both_run.wait();
        pin(0);
        let mut figures: Vec<f64> = (0..BLOCKS)
            .map(|block| {
                let begin = Instant::now();
                for round in block * ROUNDS..(block + 1) * ROUNDS {
                    there.0.store(2 * round + 1, Ordering::Release);
                    wait_for(back, 2 * round + 2);
                }
                begin.elapsed().as_nanos() as f64 / (2 * ROUNDS) as f64
            })
            .collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    })
}

fn main() {
    let new = || Line(AtomicU64::new(0));
    let (one, there, back) = (new(), new(), new());
    let (shared, separate) = (measure(&one, &one), measure(&there, &back));
    println!(
        "one way: {shared:.1} ns over one line, {separate:.1} ns over a line for each direction"
    );
}
