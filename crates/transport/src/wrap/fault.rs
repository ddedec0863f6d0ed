//! A wrapper that injects every fault the [`Wire`] contract allows: it refuses sends, delays events
//! and reorders messages of different senders. A seeded generator decides, so that a failing run
//! can be repeated. It is for tests of the code above the wires.
//!
//! It keeps the order per sender and loses nothing: loss belongs to networks, below the transport's
//! reliability layer. A caller may sleep when `progress` has returned false, and no wire wakes it
//! for what this layer does: so `progress` is true while the layer holds anything back, and once
//! after each fault for which the caller must ask again.

use std::collections::{BTreeMap, VecDeque};

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;

use super::{Layer, Wrapped};
use crate::{Header, JobWire, Payload, Sink, Wire};

/// How a [`Faulty`] wire misbehaves; chances are in percent.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Seed of the generator; equal seeds give equal faults for equal calls.
    pub seed: u64,
    /// Chance that a send is refused although there is room.
    pub refuse: u32,
    /// Chance that an event which has arrived is held back until a later `progress`.
    pub delay: u32,
    /// Chance that a `progress` call does not poll the wire at all, if the last call found
    /// something.
    pub idle: u32,
}

enum Event {
    Arrived { header: Header, payload: Vec<u8> },
    Lost,
    Left,
}

/// Events that the inner wire has reported and the caller has not seen yet.
#[derive(Default)]
struct Kept {
    by_peer: BTreeMap<PeerIndex, VecDeque<Event>>,
    released: VecDeque<u64>,
    pulled: VecDeque<u64>,
    in_parts: usize,
}

impl Sink for Kept {
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        let mut bytes = vec![0; length];
        // SAFETY: `payload` is readable for `length` bytes (contract of `Sink::arrived`), and
        // `bytes` has `length` bytes.
        unsafe { std::ptr::copy_nonoverlapping(payload, bytes.as_mut_ptr(), length) };
        self.by_peer
            .entry(from)
            .or_default()
            .push_back(Event::Arrived { header: *header, payload: bytes });
    }
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        self.in_parts += 1;
        let length = payload.length();
        self.arrived(from, header, payload.whole(), length);
    }
    fn released(&mut self, token: u64) {
        self.released.push_back(token);
    }
    fn pulled(&mut self, token: u64) {
        self.pulled.push_back(token);
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.by_peer.entry(peer).or_default().push_back(Event::Lost);
    }
    fn left(&mut self, peer: PeerIndex) {
        self.by_peer.entry(peer).or_default().push_back(Event::Left);
    }
}

/// A wire with fault injection.
pub type Faulty<W> = Wrapped<W, FaultLayer>;

/// Decides which faults happen.
pub struct FaultLayer {
    faults: Faults,
    random: u64,
    kept: Kept,
    /// True if the last `progress` call has found something on the wire.
    found: bool,
    /// True if the caller has been told to ask again since the last `progress` call.
    put_off: bool,
}

impl<W: JobWire> Faulty<W> {
    /// Wraps a wire.
    pub fn new(wire: W, faults: Faults) -> Faulty<W> {
        Wrapped { inner: wire, layer: FaultLayer::new(faults) }
    }

    /// Number of messages that were reported by [`Sink::arriving`], that is, in parts.
    pub fn in_parts(&self) -> usize {
        self.layer.kept.in_parts
    }
}

impl FaultLayer {
    fn new(faults: Faults) -> FaultLayer {
        let random = faults.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        FaultLayer { faults, random, kept: Kept::default(), found: false, put_off: false }
    }

    /// True with a probability of `percent`.
    fn chance(&mut self, percent: u32) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) % 100 < u64::from(percent)
    }

    /// True with a probability of `percent`; the caller must then ask again.
    fn puts_off(&mut self, percent: u32) -> bool {
        let fault = self.chance(percent);
        self.put_off |= fault;
        fault
    }

    fn show_arrivals(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut by_peer = std::mem::take(&mut self.kept.by_peer);
        for (peer, events) in &mut by_peer {
            while !events.is_empty() && !self.chance(self.faults.delay) {
                moved = true;
                match events.pop_front() {
                    Some(Event::Arrived { header, payload }) => {
                        sink.arrived(*peer, &header, payload.as_ptr(), payload.len());
                    }
                    Some(Event::Lost) => {
                        self.show_all_completions(sink);
                        sink.lost(*peer);
                    }
                    Some(Event::Left) => {
                        self.show_all_completions(sink);
                        sink.left(*peer);
                    }
                    None => {}
                }
            }
        }
        by_peer.retain(|_, events| !events.is_empty());
        self.kept.by_peer = by_peer;
        moved
    }

    /// Completions that the wire has reported before a loss come before it: the loss ends all
    /// other transfers of the peer.
    fn show_all_completions(&mut self, sink: &mut impl Sink) {
        self.kept.released.drain(..).for_each(|token| sink.released(token));
        self.kept.pulled.drain(..).for_each(|token| sink.pulled(token));
    }

    fn show_completions(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        while !self.kept.released.is_empty() && !self.chance(self.faults.delay) {
            self.kept.released.pop_front().into_iter().for_each(|token| sink.released(token));
            moved = true;
        }
        while !self.kept.pulled.is_empty() && !self.chance(self.faults.delay) {
            self.kept.pulled.pop_front().into_iter().for_each(|token| sink.pulled(token));
            moved = true;
        }
        moved
    }
}

impl Subscriber for FaultLayer {}

impl Layer for FaultLayer {
    fn refuses(&mut self) -> bool {
        self.puts_off(self.faults.refuse)
    }

    fn delays(&mut self) -> bool {
        self.puts_off(self.faults.delay)
    }

    fn progress(&mut self, wire: &mut impl Wire, sink: &mut impl Sink) -> bool {
        let idle = self.found && self.chance(self.faults.idle);
        self.found = !idle && wire.progress(&mut self.kept);
        let mut moved = std::mem::take(&mut self.put_off) || idle || self.found;
        moved |= self.show_arrivals(sink);
        moved |= self.show_completions(sink);
        moved || self.holds_back()
    }

    fn holds_back(&self) -> bool {
        !(self.kept.by_peer.is_empty()
            && self.kept.released.is_empty()
            && self.kept.pulled.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cost;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Report {
        Message,
        Released,
        Pulled,
        Lost,
        Left,
    }

    /// A wire that makes these reports, one in each call of progress, the last one first.
    struct Reporting(Vec<Report>);

    impl Wire for Reporting {
        type Peer = PeerIndex;

        fn cost(&self, _: PeerIndex) -> Cost {
            Cost { latency_ns: 0, bandwidth: 1, eager_limit: 0 }
        }
        fn mark_lost(&mut self, _: PeerIndex) {}
        fn progress(&mut self, sink: &mut impl Sink) -> bool {
            let (peer, header) = (PeerIndex(0), Header { protocol: 1, words: [0; 2] });
            match self.0.pop() {
                Some(Report::Message) => sink.arrived(peer, &header, [].as_ptr(), 0),
                Some(Report::Released) => sink.released(0),
                Some(Report::Pulled) => sink.pulled(0),
                Some(Report::Lost) => sink.lost(peer),
                Some(Report::Left) => sink.left(peer),
                None => return false,
            }
            true
        }
        fn busy(&self) -> bool {
            false
        }
    }

    /// What has been reported.
    #[derive(Default)]
    struct Reports(Vec<Report>);

    impl Sink for Reports {
        fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {
            self.0.push(Report::Message);
        }
        fn released(&mut self, _: u64) {
            self.0.push(Report::Released);
        }
        fn pulled(&mut self, _: u64) {
            self.0.push(Report::Pulled);
        }
        fn lost(&mut self, _: PeerIndex) {
            self.0.push(Report::Lost);
        }
        fn left(&mut self, _: PeerIndex) {
            self.0.push(Report::Left);
        }
    }

    #[test]
    fn a_caller_that_may_sleep_has_seen_all_messages() {
        for seed in 0..200 {
            let mut layer = FaultLayer::new(Faults { seed, refuse: 0, delay: 40, idle: 30 });
            for batch in 1..=10 {
                let mut wire = Reporting(vec![Report::Message; batch]);
                let mut seen = Reports::default();
                while layer.progress(&mut wire, &mut seen) {}
                assert_eq!(seen.0.len(), batch, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_caller_that_is_to_ask_again_may_not_sleep() {
        let always = Faults { seed: 1, refuse: 100, delay: 100, idle: 0 };
        for put_off in [FaultLayer::refuses, FaultLayer::delays] {
            let mut layer = FaultLayer::new(always);
            let (mut wire, mut seen) = (Reporting(Vec::new()), Reports::default());
            assert!(!layer.progress(&mut wire, &mut seen));
            assert!(put_off(&mut layer));
            assert!(layer.progress(&mut wire, &mut seen), "nothing else wakes the caller");
            assert!(!layer.progress(&mut wire, &mut seen));
        }
    }

    #[test]
    fn a_loss_is_the_last_report_of_what_it_ends() {
        for (seed, loss) in (0..50).flat_map(|seed| [(seed, Report::Lost), (seed, Report::Left)]) {
            let mut layer = FaultLayer::new(Faults { seed, refuse: 0, delay: 60, idle: 0 });
            let mut wire = Reporting(vec![loss, Report::Pulled, Report::Released]);
            let mut seen = Reports::default();
            while layer.progress(&mut wire, &mut seen) {}
            assert_eq!(seen.0.len(), 3, "seed {seed}");
            assert_eq!(seen.0[2], loss, "seed {seed}: {:?}", seen.0);
        }
    }
}
