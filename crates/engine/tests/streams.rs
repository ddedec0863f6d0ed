//! A stream is an endpoint: two processes with two endpoints each, over shared memory. Every
//! endpoint is an engine with its own wire, and the table of peers names endpoints.

mod support;

use std::collections::VecDeque;

use support::{CONTEXT, bytes, peer, room};
use towpath_engine::{Engine, Limits, Mode, RequestId};
use towpath_shm::{Segment, Settings};
use towpath_wires::Wires;

/// Credit for a few messages only.
const LIMITS: Limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 4096 };

/// Messages of each stream: more than credit and header slots hold.
const MESSAGES: u64 = 200;

/// The first process owns endpoints 0 and 1, the second 2 and 3. Each stream goes from an endpoint
/// of the first process to one of the second.
const STREAMS: [(usize, usize); 2] = [(0, 2), (1, 3)];

fn endpoints() -> Vec<Engine<Wires>> {
    let file = towpath_machine::memory::create_file("towpath-streams").expect("a memory file");
    let endpoint = |own| {
        let segment = Segment::map(&file, 4, own).expect("room for the segment");
        Engine::new(Wires::with_settings(segment, Settings::default()), LIMITS, 4)
    };
    (0..4).map(endpoint).collect()
}

/// One stream: what it has sent, and what it has received.
struct Stream {
    from: usize,
    to: usize,
    payloads: Vec<[u8; 100]>,
    got: Box<[u8; 100]>,
    sends: VecDeque<RequestId>,
    received: u64,
}

impl Stream {
    /// Starts all sends. The tag is the same for all, so only the order tells them apart.
    fn start(endpoints: &mut [Engine<Wires>], (from, to): (usize, usize)) -> Stream {
        let payloads: Vec<[u8; 100]> = (0..MESSAGES).map(|number| [number as u8; 100]).collect();
        // SAFETY: the payloads live on the heap until the stream is dropped, after its sends are
        // complete.
        let send = |payload: &[u8; 100]| unsafe {
            endpoints[from].isend(peer(to), CONTEXT, 1, from as u32, bytes(payload), Mode::Standard)
        };
        let sends = payloads.iter().map(send).collect();
        Stream { from, to, payloads, got: Box::new([0; 100]), sends, received: 0 }
    }

    /// Receives everything, in order, and completes the sends.
    fn finish(&mut self, endpoints: &mut [Engine<Wires>]) {
        for payload in &self.payloads {
            // SAFETY: `got` outlives the receive, which is complete below.
            let request = unsafe {
                endpoints[self.to].irecv(None, CONTEXT, Some(1), room(&mut self.got[..]))
            };
            let done = wait(endpoints, self.to, request);
            assert_eq!((done.peer, done.bytes), (peer(self.from), 100));
            assert_eq!(*self.got, *payload, "message {} of a stream", self.received);
            self.received += 1;
        }
        while let Some(request) = self.sends.pop_front() {
            wait(endpoints, self.from, request);
        }
    }
}

fn progress(endpoints: &mut [Engine<Wires>]) {
    for endpoint in endpoints {
        endpoint.progress();
    }
}

fn wait(
    endpoints: &mut [Engine<Wires>],
    at: usize,
    request: RequestId,
) -> towpath_engine::Completion {
    for _ in 0..support::PATIENCE {
        if let Some(done) = endpoints[at].take(request) {
            return done;
        }
        progress(endpoints);
    }
    panic!("a request of endpoint {at} does not complete");
}

#[test]
fn a_stream_without_a_receive_does_not_hold_up_the_other() {
    let mut endpoints = endpoints();
    let [mut held_up, mut other] = STREAMS.map(|stream| Stream::start(&mut endpoints, stream));
    (0..100).for_each(|_| progress(&mut endpoints));
    let is_complete = |stream: &Stream, endpoints: &[Engine<Wires>], number: usize| {
        endpoints[stream.from].is_complete(stream.sends[number])
    };
    let last = MESSAGES as usize - 1;
    assert!(!is_complete(&held_up, &endpoints, last), "there is credit for all messages");
    assert!(!is_complete(&other, &endpoints, last), "there is credit for all messages");
    assert!(endpoints[0].subscriber().postponed_sends > 0, "no message has lacked credit");

    other.finish(&mut endpoints);
    assert!(!is_complete(&held_up, &endpoints, last), "nothing was received from it");
    held_up.finish(&mut endpoints);
    assert_eq!((held_up.received, other.received), (MESSAGES, MESSAGES));
}
