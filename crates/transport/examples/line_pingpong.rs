//! The state of the machine: how long one cache line takes from core to core.
//!
//! Two pinned threads write a line in turn. Every comparison of speeds prints this figure before and after, because a
//! virtual machine's cores may move nearer or farther at any time.

use std::sync::Arc;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_setaffinity};
use towpath_base::sync::{AtomicU64, Ordering};

const ROUNDS: u64 = 200_000;

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

fn main() {
    let line = Arc::new(Line(AtomicU64::new(0)));
    let answering = {
        let line = line.clone();
        std::thread::spawn(move || {
            pin(1);
            for round in 0..ROUNDS * 5 {
                wait_for(&line, 2 * round + 1);
                line.0.store(2 * round + 2, Ordering::Release);
            }
        })
    };
    pin(0);
    let mut figures: Vec<f64> = (0..5)
        .map(|block| {
            let begin = Instant::now();
            for round in block * ROUNDS..(block + 1) * ROUNDS {
                line.0.store(2 * round + 1, Ordering::Release);
                wait_for(&line, 2 * round + 2);
            }
            begin.elapsed().as_nanos() as f64 / (2 * ROUNDS) as f64
        })
        .collect();
    answering.join().expect("the answering thread does not panic");
    figures.sort_by(f64::total_cmp);
    println!("line ping-pong, one way: {:.1} ns (least {:.1}, most {:.1})", figures[2], figures[0], figures[4]);
}
