//! Counts the instructions of the small-message path: two engines in one process send 8 bytes back
//! and forth over the real shared-memory wire. The instructions per message are the difference of
//! two runs, divided by the difference of their message counts:
//!
//! ```text
//! cargo build --release -p towpath-programs --bin small_path
//! valgrind --tool=callgrind target/release/small_path ping 1000
//! ```
//!
//! Modes: `ping` (immediate send, posted receive, as in a blocking ping-pong), `eager` (a request
//! on both sides), `unexpected` (the receiver polls without posting a receive), `window` (64 posted
//! receives, then 64 sends).

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_engine::{Engine, Limits, Mode};
use towpath_shm::layout::RING_AREA;
use towpath_shm::{Segment, Settings};
use towpath_wires::Wires;

const CONTEXT: ContextId = ContextId(4);

fn engines() -> [Engine<Wires>; 2] {
    let file = tempfile::tempfile().expect("a temporary file");
    let settings = Settings {
        hot_sends: 4,
        ring_bytes: 16 * 1024,
        ring_lines: 64,
        arena_bytes: RING_AREA,
        bounce_buffers: true,
        staging_bytes: None,
        direct_bytes: None,
    };
    [0, 1].map(|me| {
        let segment = Segment::map(&file, 2, me).expect("room for the segment");
        let limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 };
        Engine::new(Wires::with_settings(segment, settings), limits, 2)
    })
}

#[inline(never)]
fn send_now(engine: &mut Engine<Wires>, to: PeerIndex, value: &u64) -> bool {
    // SAFETY: `value` is readable for eight bytes.
    unsafe { engine.try_send_now(to, CONTEXT, 1, 0, std::ptr::from_ref(value).cast(), 8).is_some() }
}

#[inline(never)]
fn send_request(engine: &mut Engine<Wires>, to: PeerIndex, value: &u64) -> bool {
    let source = Source::Bytes { pointer: std::ptr::from_ref(value).cast(), length: 8 };
    // SAFETY: `value` is readable for eight bytes. The caller's local outlives the request, which
    // `main` completes by receiving each message before the next send.
    let request = unsafe { engine.isend(to, CONTEXT, 1, 0, source, Mode::Standard) };
    if engine.take(request).is_none() {
        engine.free_when_done(request);
    }
    true
}

#[inline(never)]
fn receive_posted(
    engine: &mut Engine<Wires>,
    other: &mut Engine<Wires>,
    from: PeerIndex,
    value: &mut u64,
) {
    let target = Target::Bytes { pointer: std::ptr::from_mut(value).cast(), length: 8 };
    // SAFETY: `value` is writable for eight bytes until this function returns, which is after
    // completion.
    let request = unsafe { engine.irecv(Some(from), CONTEXT, Some(1), target) };
    loop {
        engine.progress();
        if let Some(done) = engine.take(request) {
            assert!(done.bytes == 8);
            return;
        }
        other.progress();
    }
}

#[inline(never)]
fn receive_now(
    engine: &mut Engine<Wires>,
    other: &mut Engine<Wires>,
    from: PeerIndex,
    value: &mut u64,
) {
    loop {
        // SAFETY: `value` is writable for eight bytes.
        let done = unsafe {
            engine.try_receive_now(
                Some(from),
                CONTEXT,
                Some(1),
                std::ptr::from_mut(value).cast(),
                8,
            )
        };
        if done.is_some() {
            return;
        }
        if !engine.progress() {
            other.progress();
        }
    }
}

/// Sends windows of 64 messages to receives that are already posted.
#[inline(never)]
fn windows(a: &mut Engine<Wires>, b: &mut Engine<Wires>, count: u64) {
    let mut got = [0u64; 64];
    for round in 0..count / 64 {
        let receives = got.each_mut().map(|value| {
            let target = Target::Bytes { pointer: std::ptr::from_mut(value).cast(), length: 8 };
            // SAFETY: `value` is an element of `got`, writable for eight bytes until all receives
            // are complete below.
            unsafe { b.irecv(Some(PeerIndex(0)), CONTEXT, Some(1), target) }
        });
        for value in 0..64 {
            while !send_now(a, PeerIndex(1), &(round + value)) {
                b.progress();
                a.progress();
            }
        }
        for receive in receives {
            while b.take(receive).is_none() {
                b.progress();
            }
        }
        assert_eq!(got[63], round + 63);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "ping".to_owned());
    let count: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let [mut a, mut b] = engines();
    let (one, two) = (PeerIndex(0), PeerIndex(1));
    let mut got = 0;
    if mode == "window" {
        windows(&mut a, &mut b, count);
    }
    let count = if mode == "window" { 0 } else { count };
    let send = if mode == "eager" { send_request } else { send_now };
    let receive = if mode == "unexpected" { receive_now } else { receive_posted };
    for number in 0..count / 2 {
        while !send(&mut a, two, &number) {
            b.progress();
        }
        receive(&mut b, &mut a, one, &mut got);
        assert_eq!(got, number);
        while !send(&mut b, one, &number) {
            a.progress();
        }
        receive(&mut a, &mut b, two, &mut got);
    }
    println!("{mode}: {count} messages");
}
