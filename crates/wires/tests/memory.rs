//! How much shared memory a rank touches: at most 100 KiB after startup and an exchange with four
//! neighbours.

#[allow(dead_code)]
mod machine;

use machine::Machine;
use towpath_machine::memory::create_file;
use towpath_shm::layout::RING_AREA;
use towpath_shm::{Segment, Settings};
use towpath_wires::Wires;

const RANKS: usize = 48;
const WIDTH: usize = 8;

#[test]
fn a_rank_touches_little_of_the_segment() {
    let file = create_file("towpath-memory").unwrap();
    let touched = || rustix::fs::fstat(&file).unwrap().st_blocks as usize * 512 / RANKS / 1024;
    let settings = Settings {
        hot_sends: 4,
        ring_bytes: 64 * 1024,
        ring_lines: 32,
        arena_bytes: RING_AREA,
        bounce_buffers: true,
        staging_bytes: None,
        direct_bytes: None,
    };
    let wire = |own| Wires::with_settings(Segment::map(&file, RANKS, own).unwrap(), settings);
    let mut machine = Machine::new((0..RANKS).map(wire).collect::<Vec<_>>());
    let at_start = touched();
    for _ in 0..30 {
        for rank in 0..RANKS {
            for neighbour in [rank + 1, rank + RANKS - 1, rank + WIDTH, rank + RANKS - WIDTH] {
                machine.send(rank, neighbour % RANKS, 1024);
            }
        }
        for rank in 0..RANKS {
            machine.turn(rank);
        }
    }
    machine.finish("neighbours");
    let after_exchange = touched();
    println!(
        "{at_start} KiB per rank at the start, {after_exchange} KiB after an exchange with four neighbours"
    );
    assert!(at_start <= 16, "{at_start} KiB per rank at the start");
    assert!(
        after_exchange <= 100,
        "{after_exchange} KiB per rank after an exchange with four neighbours"
    );
}
