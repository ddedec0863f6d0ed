//! The order model on test wires of every temper. `TOWPATH_TEST_MESSAGES` sets how many messages each run sends.

mod support;

use support::order_model::Model;
use towpath_base::config;
use towpath_engine::testing::{Logged, Manners, Network};
use towpath_engine::{Engine, Limits};

/// Messages of one run unless the environment says otherwise.
const MESSAGES: usize = 3000;

fn messages() -> usize {
    config::environment("TOWPATH_TEST_MESSAGES").and_then(|text| text.parse().ok()).unwrap_or(MESSAGES)
}

fn run(size: usize, manners: Manners, limits: Limits) {
    let network = Network::new(size, manners);
    let engine = |me| Engine::new(Logged::new(network.wire(me)), limits, size);
    let mut model = Model::new((0..size).map(engine).collect(), manners.seed);
    while model.messages < messages() {
        model.step();
    }
    model.finish();
    if messages() >= MESSAGES {
        assert!(model.seen.iter().all(|count| *count > 10), "the run saw too little: {:?}", model.seen);
    }
}

const ROOMY: Limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 };

#[test]
fn prompt_wires() {
    for seed in 1..4 {
        run(2, Manners { seed, ..Manners::PLAIN }, ROOMY);
    }
}

#[test]
fn rough_wires() {
    for seed in 10..14 {
        run(3, Manners { seed, ..Manners::ROUGH }, ROOMY);
    }
}

#[test]
fn many_ranks_on_rough_wires() {
    run(7, Manners { seed: 20, ..Manners::ROUGH }, ROOMY);
}

#[test]
fn little_credit() {
    for (seed, unexpected_bytes) in [(30, 0), (31, 1000), (32, 20_000)] {
        run(3, Manners { seed, ..Manners::ROUGH }, Limits { eager_bytes: usize::MAX, unexpected_bytes });
    }
}

#[test]
fn everything_announced_or_only_short_messages_eager() {
    for (seed, eager_bytes) in [(40, 0), (41, 40)] {
        run(3, Manners { seed, ..Manners::PLAIN }, Limits { eager_bytes, unexpected_bytes: 1 << 20 });
    }
    run(3, Manners { seed: 42, copied_limit: 0, ..Manners::ROUGH }, ROOMY);
}
