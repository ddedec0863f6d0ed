//! CLIC's protocol in a simulator: whole processes on a seeded wire with faults, checked against a
//! model of the transport's guarantees. `TOWPATH_TEST_STEPS` sets the number of steps of each
//! random run, `TOWPATH_TEST_SEED` is added to every seed. `make stress` also runs the ignored
//! test: 10^7 steps.

mod wire;
mod world;

use towpath_clic::frame::{self, BlockRequest, Kind, Pair};
use towpath_clic::refusal::Refusal;
use towpath_clic::timer::{MICROSECOND, MILLISECOND, SECOND};
use wire::{Random, Temper};
use world::{Done, KEY, Shape, World, header};

/// Number of steps of a random run unless the environment overrides it.
const STEPS: u64 = 20_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

fn calm() -> Temper {
    Temper { delay: 5 * MICROSECOND, ..Temper::default() }
}

fn rough() -> Temper {
    Temper { lose: 10, double: 10, late: 10, jitter: 5 * MICROSECOND, ..calm() }
}

fn wild() -> Temper {
    Temper {
        lose: 100,
        double: 50,
        late: 50,
        replay: 50,
        forge: 50,
        jitter: 50 * MICROSECOND,
        ..calm()
    }
}

fn shape(ranks: usize, rails: usize, temper: Temper, seed: u64) -> Shape {
    let payloads = [1468, 8968, 1468][..rails].to_vec();
    let (pace, longest) = (20 * MICROSECOND, 200_000);
    Shape {
        ranks,
        payloads,
        temper,
        seed,
        dying: false,
        known: true,
        sleepy: false,
        ready: false,
        longest,
        pace,
    }
}

fn run(shape: Shape, steps: u64) -> Done {
    println!("{shape:?}");
    let mut world = World::new(shape);
    let done = world.run(steps);
    println!("{done:?} {:?}", world.refusals());
    assert_eq!(done.losses, 0);
    done
}

/// A world with random parameters.
fn random_shape(seed: u64) -> Shape {
    let mut random = Random(seed);
    let (ranks, rails) = (2 + random.below(3) as usize, 1 + random.below(3) as usize);
    let mut temper = [calm(), rough(), rough(), wild()][random.below(4) as usize];
    if random.chance(300) {
        // Slow links of different speeds: 8 and 4 ns per byte are 1 and 2 Gbit/s.
        temper.byte = [128, 64, 128];
        temper.queue = 2 * MILLISECOND;
    }
    if random.chance(200) {
        (temper.delay, temper.jitter) = (200 * MICROSECOND, MILLISECOND);
    }
    let mut shape = shape(ranks, rails, temper, seed);
    shape.dying = rails > 1 && random.chance(500);
    shape.known = random.chance(500);
    shape.sleepy = random.chance(500);
    shape.ready = random.chance(500);
    shape.pace = [2, 20, 200][random.below(3) as usize] * MICROSECOND;
    shape
}

fn run_random(seeds: std::ops::Range<u64>, steps: u64) -> u64 {
    let mut all = Done::default();
    for seed in seeds {
        let done = run(random_shape(seed + number("TOWPATH_TEST_SEED").unwrap_or(0)), steps);
        all.messages += done.messages;
        all.pulls += done.pulls;
        all.broadcasts += done.broadcasts;
        all.steps += done.steps;
    }
    println!("{all:?}");
    assert!(all.messages > 0 && all.pulls > 0 && all.broadcasts > 0, "too little was seen");
    all.steps
}

#[test]
fn everything_arrives_once_and_in_order_on_any_wire() {
    run_random(0..16, number("TOWPATH_TEST_STEPS").unwrap_or(STEPS));
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_million_steps() {
    let (mut steps, mut seed) = (0, 1000);
    while steps < 10_000_000 {
        steps += run_random(seed..seed + 8, 50_000);
        seed += 8;
    }
    println!("{steps} steps");
}

#[test]
fn a_calm_wire_needs_nothing_twice() {
    let mut world = World::new(shape(3, 2, calm(), 1));
    world.run(STEPS);
    let refusals = world.refusals();
    assert_eq!(
        refusals.of(Refusal::Window) + refusals.of(Refusal::Forged) + refusals.of(Refusal::Stale),
        0,
        "{refusals:?}"
    );
}

#[test]
fn wild_wires_are_refused_for_every_reason_there_is() {
    let mut world = World::new(shape(3, 2, wild(), 2));
    world.run(STEPS);
    let refusals = world.refusals();
    for why in [
        Refusal::Short,
        Refusal::Version,
        Refusal::Length,
        Refusal::Forged,
        Refusal::Unknown,
        Refusal::Again,
    ] {
        assert!(refusals.of(why) > 0, "{why} was never seen: {refusals:?}");
    }
}

#[test]
fn a_rail_that_dies_in_the_middle_loses_nothing() {
    for dies in 0..2 {
        let mut shape = shape(2, 2, calm(), 3);
        (shape.temper.byte, shape.temper.queue, shape.payloads[1]) =
            ([128, 128, 0], 2 * MILLISECOND, 1468);
        let mut world = World::new(shape);
        (0..20).for_each(|_| world.publish(0, 1, 1_000_000));
        (0..500).for_each(|_| assert!(world.step(false)));
        world.wire.down[dies] = true;
        let before = world.wire.bytes;
        (0..100).for_each(|_| world.plain(0, 1, 100));
        let revive = world.wire.down;
        while world.done().pulls < 15 && world.step(false) {
            assert!(world.now < 10 * SECOND, "the other rail does not carry it");
        }
        assert_eq!(world.wire.down, revive);
        let carried = world.wire.bytes[1 - dies] - before[1 - dies];
        let wasted = world.wire.bytes[dies] - before[dies];
        assert!(
            carried > 8_000_000 && wasted < carried / 10,
            "{carried} over the one, {wasted} over the dead one"
        );
        world.finish();
        assert_eq!(world.losses(0, 1) + world.losses(1, 0), 0);
        // It comes back.
        let after = world.wire.bytes[dies];
        (0..20).for_each(|_| world.publish(0, 1, 1_000_000));
        let later = world.now + SECOND;
        while world.now < later && world.step(false) {}
        (0..20).for_each(|_| world.publish(0, 1, 1_000_000));
        world.finish();
        assert!(world.wire.bytes[dies] - after > 5_000_000, "the rail was not found again");
    }
}

/// Seconds of simulated time to transfer `bytes` bytes of bulk.
fn seconds_for(bytes: u64, shape: Shape) -> f64 {
    let mut world = World::new(shape);
    (0..bytes / 1_000_000).for_each(|_| world.publish(0, 1, 1_000_000));
    let begin = world.now;
    while world.done().releases + world.done().withdrawn < bytes / 1_000_000 {
        assert!(world.step(false));
    }
    (world.now - begin) as f64 / 1e9 * bytes as f64 / world.done().pulled_bytes as f64
}

#[test]
fn links_are_kept_busy() {
    let gigabit = |rails: usize, lose: u64, byte: [u64; 3]| {
        let temper = Temper { lose, byte, queue: 2_400 * MICROSECOND, ..calm() };
        Shape { payloads: vec![8968; rails], ..shape(2, rails, temper, 4) }
    };
    let bytes = 60_000_000;
    let one = seconds_for(bytes, gigabit(1, 0, [128, 0, 0]));
    let line = bytes as f64 * 8e-9;
    assert!(one < line / 0.97, "{one} s, the line alone takes {line}");
    let lossy = seconds_for(bytes, gigabit(1, 10, [128, 0, 0]));
    assert!(lossy < line / 0.9, "{lossy} s with one frame of a hundred lost");
    let two = seconds_for(bytes, gigabit(2, 0, [128, 128, 0]));
    assert!(two < one / 1.9, "{two} s over two links, {one} over one");
    let unequal = seconds_for(bytes, gigabit(2, 0, [128, 384, 0]));
    assert!(
        unequal < one / 1.25,
        "{unequal} s with a second link of a third of the speed, {one} without"
    );
}

#[test]
fn many_senders_share_the_credit_of_one() {
    let temper = Temper { byte: [128, 0, 0], queue: 50 * MILLISECOND, ..calm() };
    let mut world = World::new(shape(4, 1, temper, 5));
    for _ in 0..10 {
        (1..4).for_each(|from| world.publish(from, 0, 500_000));
    }
    let mut most = 0;
    while world.done().releases + world.done().withdrawn < 30 {
        assert!(world.step(false));
        most = most.max(world.endpoints[0].credits().used());
    }
    assert!(most > 128 << 10 && most <= towpath_clic::credit::CEILING);
    world.finish();
}

#[test]
fn leaving_takes_no_time_on_a_calm_wire_and_ends_on_any() {
    let mut calm = World::new(shape(4, 1, calm(), 12));
    (0..2000).for_each(|_| assert!(calm.step(true)));
    calm.finish();
    assert!(calm.leave() < MILLISECOND);
    for seed in 0..200 {
        let mut world = World::new(shape(4, 2, wild(), seed));
        (0..200).for_each(|_| assert!(world.step(true)));
        world.finish();
        world.leave();
        let lost = (0..16).map(|pair| world.losses(pair / 4, pair % 4)).sum::<usize>();
        assert_eq!(lost, 0, "nobody who leaves is lost");
    }
}

#[test]
fn leaving_takes_no_time_where_there_were_only_broadcasts() {
    for (root, ready) in [(0, false), (3, true)] {
        let mut world = World::new(Shape { ready, ..shape(4, 1, calm(), 14) });
        (0..5).for_each(|_| {
            world.broadcast(root);
            world.finish();
        });
        assert_eq!(world.done().broadcasts, 15);
        assert!(world.leave() < MILLISECOND);
    }
}

#[test]
fn what_is_still_on_its_way_is_not_asked_for() {
    // One percent of the frames are lost, while up to 40 are queued behind each of them.
    let temper = Temper { lose: 10, byte: [128; 3], queue: 20 * MILLISECOND, ..calm() };
    let mut world = World::new(Shape { ready: true, ..shape(4, 1, temper, 15) });
    let (before, mut bytes) = (world.wire.bytes[0], 0);
    while bytes < 30_000_000 {
        bytes += world.broadcast(0);
        world.finish();
    }
    // The simulated switch sends three copies of each frame.
    let sent = (world.wire.bytes[0] - before) as f64 / (3 * bytes) as f64;
    println!("each byte was sent {sent:.3} times");
    assert!(sent < 1.1, "each byte was sent {sent} times");
}

#[test]
fn a_restarted_process_begins_anew() {
    for seed in 0..20 {
        let temper = Temper { replay: 100, ..rough() };
        let mut shape = shape(2, 2, temper, seed);
        shape.known = seed % 2 == 0;
        let mut world = World::new(shape);
        (0..2000).for_each(|_| assert!(world.step(true)));
        world.restart(0);
        // Both sides have something to send, or only one of them.
        if seed % 3 != 0 {
            world.plain(0, 1, 50);
        }
        while world.losses(1, 0) == 0 {
            assert!(world.step(seed % 3 != 1), "nobody noticed");
        }
        (0..2000).for_each(|_| assert!(world.step(true)));
        world.finish();
        assert_eq!((world.losses(1, 0), world.losses(0, 1)), (1, 0), "one life was lost, once");
    }
}

#[test]
fn a_dead_process_is_lost_once_and_the_others_go_on() {
    let mut world = World::new(shape(3, 2, rough(), 6));
    (0..2000).for_each(|_| assert!(world.step(true)));
    world.wire.dead.push(2);
    (0..2).for_each(|from| world.plain(from, 2, 10));
    let before = world.now;
    while world.losses(0, 2) + world.losses(1, 2) < 2 {
        assert!(world.step(false) && world.now < before + 12 * SECOND, "the death was not noticed");
    }
    assert!(world.now >= before + 9 * SECOND, "nobody is declared dead in haste");
    let messages = world.done().messages;
    (0..5000).for_each(|_| assert!(world.step(true)));
    assert!(world.done().messages > messages + 100);
    world.finish();
    assert_eq!(
        [world.losses(0, 2), world.losses(1, 2), world.losses(0, 1), world.losses(1, 0)],
        [1, 1, 0, 0]
    );
}

#[test]
fn who_is_silent_but_alive_is_not_lost() {
    // A region stays published for half a minute; nothing else happens.
    let mut world = World::new(shape(2, 1, calm(), 7));
    let key = world.endpoints[0].publish(1, 1, 1000).unwrap();
    world.plain(0, 1, 10);
    let until = world.now + 30 * SECOND;
    while world.now < until && world.step(false) {}
    assert!(world.now >= until, "signs of life are asked for");
    assert_eq!(world.losses(0, 1) + world.losses(1, 0), 0);
    assert!(world.endpoints[0].withdraw(1, key));
}

#[test]
fn a_flood_is_refused_and_costs_no_memory() {
    let mut world = World::new(shape(3, 1, calm(), 8));
    (0..1000).for_each(|_| assert!(world.step(true)));
    let before = world.refusals().total();
    let mut random = Random(9);
    let kinds = [
        Kind::Eager,
        Kind::Release,
        Kind::Ask,
        Kind::Data,
        Kind::Acknowledge,
        Kind::Repair,
        Kind::Broadcast,
        Kind::Greeting,
    ];
    for round in 0..20_000u64 {
        let kind = kinds[random.below(8) as usize];
        let body = vec![random.next() as u8; kind.body_bytes().unwrap_or(1400)];
        let mut header = header(kind, 1, 0, body.len());
        (header.sequence, header.words) =
            (random.next() as u32, [random.next() as u32, random.next() as u32]);
        (header.acknowledged, header.session) = (random.next() as u32, random.next() as u16);
        if kind == Kind::Greeting {
            // A replayed earlier incarnation.
            header.words = [random.below(1000) as u32, 1000];
        }
        // Every other frame is from a sender that knows the job's key.
        let key = if round % 2 == 0 { KEY } else { towpath_clic::key::FrameKey([5, round]) };
        let own = if kind.body_bytes().is_some() { &body[..] } else { &[] };
        let bytes = [&header.encode(&key, own)[..], &body].concat();
        world.inject(0, 0, &bytes);
        assert!(world.endpoints[0].peer(1).unwrap().kept_bytes() <= 256 << 10);
    }
    let refused = world.refusals();
    assert!(refused.total() - before >= 19_990, "{refused:?}");
    assert!(
        refused.of(Refusal::Forged) >= 10_000 && refused.of(Refusal::Stale) >= 5_000,
        "{refused:?}"
    );
    (0..1000).for_each(|_| assert!(world.step(true)));
    world.finish();
    assert_eq!((world.losses(0, 1), world.losses(1, 0)), (0, 0));
}

#[test]
fn greetings_cannot_be_used_as_an_amplifier() {
    let mut world = World::new(shape(2, 1, calm(), 10));
    let before = world.wire.frames;
    for _ in 0..10_000 {
        let greeting = frame::FrameHeader { words: [1000, 0], ..header(Kind::Greeting, 1, 0, 0) };
        world.inject(0, 0, &greeting.encode(&KEY, &[]));
    }
    assert!(
        world.wire.frames - before <= 2,
        "{} answers in one moment",
        world.wire.frames - before
    );
    let ask = BlockRequest { slot: 0, generation: 0, offset: 0, length: 1, chunk: 1, missing: 1 };
    let frame = header(Kind::Ask, 1, 0, frame::ASK_BYTES).encode(&KEY, &ask.encode());
    world.inject(0, 0, &[&frame[..], &ask.encode()].concat());
    world.inject(0, 0, &[&frame[..], &Pair(0, 0).encode()].concat());
    assert_eq!(world.refusals().of(Refusal::Stale) + world.refusals().of(Refusal::Length), 2);
}

#[test]
fn a_sleeper_is_woken_once_for_many_messages() {
    let frames = |asleep: bool| {
        let mut world = World::new(shape(2, 1, Temper { delay: 100, ..calm() }, 11));
        world.plain(1, 0, 1);
        world.finish();
        if asleep {
            world.sleep(1);
            while world.step(false) {}
            assert!(world.endpoints[0].peer(1).unwrap().peer_sleeps());
        }
        let mut wakes = 0;
        let mut last = 0;
        for _ in 0..16 {
            world.plain(0, 1, 1);
            world.now += MICROSECOND;
            while world.wire.next().is_some_and(|at| at <= world.now) {
                let at = world.wire.next().unwrap();
                wakes += u64::from(at > last + 500);
                last = at;
                world.step(false);
            }
        }
        wakes
    };
    let (awake, asleep) = (frames(false), frames(true));
    assert!(
        awake >= 16 && asleep <= 4,
        "{awake} wake-ups for an awake receiver, {asleep} for a sleeper"
    );
}

#[test]
fn sleepers_do_not_wake_each_other_for_ever() {
    let mut world = World::new(shape(2, 1, calm(), 12));
    world.plain(0, 1, 1);
    world.plain(1, 0, 1);
    world.finish();
    let before = world.wire.frames;
    // Each process is woken up by any frame, announces that, and sleeps again.
    for round in 0..1000 {
        world.turn(round % 2);
        while world.step(false) {}
    }
    let frames = world.wire.frames - before;
    assert!((1..=8).contains(&frames), "{frames} frames about sleep for two messages");
}

/// One frame was delayed for seconds, and nothing has been sent since. The round-trip estimate must
/// ignore it.
#[test]
fn a_frame_that_comes_late_does_not_make_the_way_long() {
    let mut world = World::new(shape(2, 1, calm(), 13));
    let header = {
        world.plain(0, 1, 1);
        world.finish();
        let mut late = header(frame::Kind::Eager, 0, 1, 0);
        let session = world.endpoints[0].peer(1).unwrap().session().unwrap();
        (late.sequence, late.session) = (session.outgoing, session.number);
        late.acknowledged = session.incoming;
        late.words = [frame::stamp(world.now), 0];
        late
    };
    world.now += 20 * SECOND;
    world.plain(0, 1, 1);
    world.finish();
    let known =
        |world: &World| world.endpoints[0].peer(1).unwrap().rails().trip().smoothed().unwrap();
    let before = known(&world);
    for round in 0..100 {
        world.inject(1, 0, &header.encode(&KEY, &[]));
        world.turn(round % 2);
        while world.step(false) {}
    }
    assert!(known(&world) <= before, "{} ns", known(&world));
}

#[test]
fn a_switch_that_drops_every_broadcast_makes_it_slow_not_wrong() {
    let mut world = World::new(shape(4, 2, rough(), 12));
    world.deaf = true;
    let done = world.run(STEPS);
    assert!(done.broadcasts > 20, "{done:?}");
}

#[test]
fn acknowledgements_cost_few_frames() {
    let mut world = World::new(shape(2, 1, calm(), 13));
    world.plain(0, 1, 1);
    world.finish();
    while world.step(false) {}
    let before = world.wire.frames;
    for message in 0..200u64 {
        let seen = world.done().messages;
        world.plain(message as usize % 2, (message as usize + 1) % 2, 8);
        while world.done().messages == seen {
            assert!(world.step(false));
        }
    }
    world.finish();
    let frames = world.wire.frames - before;
    assert!(frames <= 203, "{frames} frames for 200 messages to and fro");
    let before = world.wire.frames;
    for _ in 0..20 {
        (0..100).for_each(|_| world.plain(0, 1, 8));
        world.finish();
    }
    let acknowledgements = world.wire.frames - before - 2000;
    assert!(
        acknowledgements <= 20 * 4,
        "{acknowledgements} acknowledgements for 20 rows of 100 messages"
    );
}
