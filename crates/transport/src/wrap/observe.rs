//! A wrapper that reports every message and every operation on a region to a subscriber, in order.
//!
//! The subscriber sees an arrival before the engine does.

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::PeerIndex;

use super::{Layer, Wrapped};
use crate::{Header, JobWire, Payload, Sink, Wire};

/// A wire that is observed by a subscriber.
pub type Observed<W, S> = Wrapped<W, ObservingLayer<S>>;

/// Hands all events to a subscriber.
pub struct ObservingLayer<S>(S);

impl<W: JobWire, S: Subscriber> Observed<W, S> {
    /// Reports what happens on `wire` to `subscriber`.
    pub fn new(wire: W, subscriber: S) -> Observed<W, S> {
        Wrapped { inner: wire, layer: ObservingLayer(subscriber) }
    }

    /// The subscriber.
    pub fn subscriber(&mut self) -> &mut S {
        &mut self.layer.0
    }
}

impl<S: Subscriber> Subscriber for ObservingLayer<S> {
    fn event(&mut self, event: Event) {
        self.0.event(event);
    }
}

impl<S: Subscriber> Layer for ObservingLayer<S> {
    fn progress(&mut self, wire: &mut impl Wire, sink: &mut impl Sink) -> bool {
        wire.progress(&mut ObservedSink { subscriber: &mut self.0, sink })
    }
}

/// Reports what goes to a sink.
struct ObservedSink<'a, S, K> {
    subscriber: &'a mut S,
    sink: &'a mut K,
}

impl<S: Subscriber, K> ObservedSink<'_, S, K> {
    fn report(&mut self, from: PeerIndex, header: &Header, bytes: usize) {
        let Header { protocol, words } = *header;
        self.subscriber.event(Event::MessageArrived { from, protocol, words, bytes });
    }
}

impl<S: Subscriber, K: Sink> Sink for ObservedSink<'_, S, K> {
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        self.report(from, header, length);
        self.sink.arrived(from, header, payload, length);
    }
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        self.report(from, header, payload.length());
        self.sink.arriving(from, header, payload);
    }
    fn released(&mut self, token: u64) {
        self.subscriber.event(Event::RegionReleased { token });
        self.sink.released(token);
    }
    fn pulled(&mut self, token: u64) {
        self.subscriber.event(Event::PullCompleted { token });
        self.sink.pulled(token);
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.subscriber.event(Event::PeerLost { peer, in_order: false });
        self.sink.lost(peer);
    }
    fn left(&mut self, peer: PeerIndex) {
        self.subscriber.event(Event::PeerLost { peer, in_order: true });
        self.sink.left(peer);
    }
}
