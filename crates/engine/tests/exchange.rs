//! Exchanges between neighbours: rings and multiple edges between a pair, mixed with other
//! messages, with every rank running at its own pace.

mod support;

use support::{CONTEXT, World, bytes, pattern, peer, room};
use towpath_base::ids::ContextId;
use towpath_engine::testing::{Manners, Random, TestNetwork};
use towpath_engine::{Engine, Exchange, ExchangeMessage, Limits, Mode};

const LIMITS: Limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 8 << 10 };

/// Context of the exchanges.
const OURS: ContextId = ContextId(0x20);

/// Number of messages to the right, and also to the left.
const EDGES: usize = 2;

/// A rank that performs one exchange after another.
struct Rank {
    me: usize,
    size: usize,
    round: usize,
    out: Vec<Vec<u8>>,
    parts: Option<(Vec<ExchangeMessage>, Vec<ExchangeMessage>)>,
    got: Vec<Vec<u8>>,
    /// Exchanges that completed immediately.
    prompt: usize,
}

fn content(from: usize, round: usize, edge: usize) -> Vec<u8> {
    let length = [8, 0, 40, 41, 700, 3, 8, 3000][(round * 3 + edge) % 8];
    pattern((from * 1000 + round * 10 + edge) as u64, length)
}

impl Rank {
    fn new(me: usize, size: usize) -> Rank {
        Rank { me, size, round: 0, out: Vec::new(), parts: None, got: Vec::new(), prompt: 0 }
    }

    /// The peer of edge `edge`. The first half of the edges leads to the right (comes from the
    /// left).
    fn other(&self, edge: usize, sends: bool) -> usize {
        (if (edge < EDGES) == sends { self.me + 1 } else { self.me + self.size - 1 }) % self.size
    }

    fn tag(&self, edge: usize) -> i32 {
        (self.round * 16 + edge) as i32
    }

    /// One step: begins the next exchange, or checks whether the current one is complete. True if
    /// it is.
    fn step(&mut self, engine: &mut Engine<impl towpath_transport::JobWire>, rounds: u32) -> bool {
        let done = match self.parts.take() {
            None => {
                self.out = (0..2 * EDGES).map(|edge| content(self.me, self.round, edge)).collect();
                let expected = |edge| content(self.other(edge, false), self.round, edge);
                self.got = (0..2 * EDGES).map(|edge| vec![0xee; expected(edge).len()]).collect();
                let mut sends: Vec<ExchangeMessage> = Vec::new();
                let mut receives: Vec<ExchangeMessage> = Vec::new();
                for edge in 0..2 * EDGES {
                    let (to, from, tag) =
                        (self.other(edge, true), self.other(edge, false), self.tag(edge));
                    let (out, got) = (&self.out[edge], &mut self.got[edge]);
                    sends.push(ExchangeMessage::new(
                        peer(to),
                        tag,
                        out.as_ptr().cast_mut(),
                        out.len(),
                    ));
                    receives.insert(
                        0,
                        ExchangeMessage::new(peer(from), tag, got.as_mut_ptr(), got.len()),
                    );
                }
                let mut exchange = exchange(&mut sends, &mut receives);
                // SAFETY: `out` and `got` are not touched until the exchange is complete.
                let done = unsafe { exchange.begin(engine, rounds) };
                assert!(!exchange.truncated && exchange.lost.is_none());
                self.prompt += usize::from(done);
                self.parts = Some((sends, receives));
                done
            }
            Some((mut sends, mut receives)) => {
                let mut exchange = exchange(&mut sends, &mut receives);
                let done = exchange.take_completed(engine);
                assert!(!exchange.truncated && exchange.lost.is_none());
                self.parts = Some((sends, receives));
                done
            }
        };
        if done {
            for edge in 0..2 * EDGES {
                let from = self.other(edge, false);
                assert_eq!(
                    self.got[edge],
                    content(from, self.round, edge),
                    "{} of {} from {from}",
                    edge,
                    self.round
                );
            }
            self.parts = None;
            self.round += 1;
        }
        done
    }
}

fn exchange<'a>(
    sends: &'a mut [ExchangeMessage],
    receives: &'a mut [ExchangeMessage],
) -> Exchange<'a> {
    Exchange { context: OURS, sends, receives, truncated: false, lost: None }
}

#[test]
fn ranks_exchange_at_their_own_pace_amid_other_messages() {
    const ROUNDS: usize = 300;
    for (seed, size) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 5), (6, 8)] {
        let rough = World::new(size, Manners { seed, ..Manners::ROUGH }, LIMITS);
        let mut world = if seed == 3 { World::plain(size) } else { rough };
        let mut ranks: Vec<Rank> = (0..size).map(|me| Rank::new(me, size)).collect();
        let mut random = Random(seed);
        let mut others = Vec::new();
        for step in 0.. {
            assert!(step < 3_000_000, "the exchanges do not end");
            let me = random.below(size as u64) as usize;
            if ranks[me].round < ROUNDS {
                let rounds = random.below(4) as u32;
                ranks[me].step(&mut world.engines[me], rounds);
            }
            if random.chance(30) {
                world.engines[me].progress();
            }
            // Unrelated messages to the right, received much later by wildcards.
            if random.chance(10) && others.len() < 200 {
                let data = pattern(others.len() as u64, 5 + others.len() * 9);
                let to = (me + 1) % size;
                let send = world.send(me, to, others.len() as i32, bytes(&data), Mode::Standard);
                others.push((me, to, data, send));
            }
            if ranks.iter().all(|rank| rank.round == ROUNDS) {
                break;
            }
        }
        if seed == 3 {
            let prompt: usize = ranks.iter().map(|rank| rank.prompt).sum();
            assert!(prompt > ROUNDS / 4, "hardly an exchange took the direct way: {prompt}");
        }
        for (tag, (me, to, data, send)) in others.iter().enumerate() {
            let mut got = vec![0; data.len()];
            let receive = world.receive(*to, None, Some(tag as i32), room(&mut got));
            assert_eq!(world.wait(*to, receive).source_rank as usize, *me);
            world.wait(*me, *send);
            assert_eq!(&got, data);
        }
        world.run_until_idle();
    }
}

#[test]
fn what_came_early_for_a_later_exchange_stays_in_its_stream() {
    let mut world = World::plain(2);
    let (one, two, mut first, mut second) = ([1u8; 8], [2u8; 8], [0u8; 8], [0u8; 8]);
    for (tag, data) in [(1, &one), (2, &two)] {
        let mut send = [ExchangeMessage::new(peer(1), tag, data.as_ptr().cast_mut(), 8)];
        // SAFETY: `data` outlives the exchange, which is complete on return.
        assert!(unsafe { exchange(&mut send, &mut []).begin(&mut world.engines[0], 1) });
    }
    for (tag, data) in [(1, &mut first), (2, &mut second)] {
        let mut receive = [ExchangeMessage::new(peer(0), tag, data.as_mut_ptr(), 8)];
        // SAFETY: `data` outlives the exchange, which is complete on return.
        assert!(unsafe { exchange(&mut [], &mut receive).begin(&mut world.engines[1], 1) });
        assert!(
            world.engines[1].iprobe(None, OURS, None).is_none(),
            "a message was taken out of its stream"
        );
    }
    assert_eq!((first, second), (one, two));
    world.run_until_idle();
}

#[test]
fn a_message_that_is_too_long_fills_the_room_and_is_told() {
    // The message is at the head of the stream, in the unexpected queue, or announced.
    for (length, early) in [(8, false), (8, true), (100_000, false), (100_000, true)] {
        let mut world = World::plain(2);
        let data = pattern(3, length);
        let mut got = vec![0u8; length / 2 + 1];
        let mut send = [ExchangeMessage::new(peer(1), 4, data.as_ptr().cast_mut(), length)];
        let mut receive = [ExchangeMessage::new(peer(0), 4, got.as_mut_ptr(), length / 2)];
        let (mut giver, mut taker) =
            (exchange(&mut send, &mut []), exchange(&mut [], &mut receive));
        // SAFETY: `data` outlives the exchange.
        let mut sent = unsafe { giver.begin(&mut world.engines[0], 1) };
        if early {
            world.progress();
        }
        // SAFETY: `got` outlives the exchange and has more than `length / 2` bytes.
        let mut received = unsafe { taker.begin(&mut world.engines[1], 1) };
        for _ in 0..1000 {
            world.progress();
            sent = sent || giver.take_completed(&mut world.engines[0]);
            received = received || taker.take_completed(&mut world.engines[1]);
        }
        assert!(sent && received && taker.truncated && !giver.truncated);
        assert_eq!(got[..length / 2], data[..length / 2]);
        assert_eq!(got[length / 2], 0);
        world.run_until_idle();
    }
}

#[test]
fn a_lost_neighbour_ends_the_exchange() {
    let network = TestNetwork::new(2, Manners::PLAIN);
    let mut engine = Engine::new(network.wire(1), LIMITS, 2);
    let mut got = [0u8; 8];
    let mut receive = [ExchangeMessage::new(peer(0), 4, got.as_mut_ptr(), 8)];
    let mut exchange = exchange(&mut [], &mut receive);
    // SAFETY: `got` outlives the exchange.
    assert!(!unsafe { exchange.begin(&mut engine, 3) });
    network.lose(0);
    engine.progress();
    assert!(exchange.take_completed(&mut engine) && exchange.lost.is_some());
}

#[test]
fn a_flood_of_exchanges_gives_credit_back() {
    let mut world = World::new(2, Manners::PLAIN, LIMITS);
    let data = [7u8; 32];
    for round in 0..1000 {
        let mut got = [0u8; 32];
        let mut send = [ExchangeMessage::new(peer(1), round, data.as_ptr().cast_mut(), 32)];
        let mut receive = [ExchangeMessage::new(peer(0), round, got.as_mut_ptr(), 32)];
        // SAFETY: `data` outlives the exchange, which is complete on return.
        let sent = unsafe { exchange(&mut send, &mut []).begin(&mut world.engines[0], 1) };
        assert!(sent, "round {round} was not sent at once: the credit did not come back");
        // SAFETY: `got` outlives the exchange, which is complete on return.
        assert!(unsafe { exchange(&mut [], &mut receive).begin(&mut world.engines[1], 1) });
        assert_eq!(got, data);
        world.engines[0].progress();
    }
    assert!(world.engines[1].iprobe(None, CONTEXT, None).is_none());
    world.run_until_idle();
}
