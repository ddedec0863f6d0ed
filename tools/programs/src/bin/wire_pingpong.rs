//! Measures the shared-memory wire between two pinned processes: half the round-trip time, and the
//! message rate with 64 messages in flight.
//!
//! `cargo run --release -p towpath-programs --bin wire_pingpong [bytes ...]`

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::thread::{CpuSet, sched_setaffinity};
use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_base::transfer::{Source, Target};
use towpath_machine::memory::create_file;
use towpath_shm::Segment;
use towpath_transport::{
    Header, MessageWire, Payload, RegionKey, RegionWire, SHORT_BYTES, Sink, Wire,
};
use towpath_wires::Wires;

const MESSAGE: u8 = 1;
const ANNOUNCEMENT: u8 = 2;
const WINDOW: usize = 64;

/// One of the two processes: its wires, a buffer, and the events so far.
struct Side {
    wires: Wires,
    other: PeerIndex,
    events: Events,
}

struct Events {
    buffer: Vec<u8>,
    arrived: usize,
    released: usize,
    announced: Vec<[u64; 3]>,
}

impl Sink for Events {
    fn arrived(&mut self, _from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        if header.protocol == MESSAGE {
            // SAFETY: `payload` is readable for `length` bytes, and the buffer is as long as the
            // longest message.
            unsafe { std::ptr::copy_nonoverlapping(payload, self.buffer.as_mut_ptr(), length) };
            self.arrived += 1;
        } else {
            // SAFETY: the payload of an announcement is a key and a length, three words.
            self.announced.push(unsafe { payload.cast::<[u64; 3]>().read_unaligned() });
        }
    }
    fn arriving(&mut self, _from: PeerIndex, header: &Header, payload: impl Payload) {
        assert_eq!(header.protocol, MESSAGE);
        let length = payload.length();
        // SAFETY: the buffer is as long as the longest message.
        unsafe { payload.copy_to(self.buffer.as_mut_ptr(), length) };
        self.arrived += 1;
    }
    fn released(&mut self, _token: u64) {
        self.released += 1;
    }
    fn pulled(&mut self, _token: u64) {
        self.arrived += 1;
    }
    fn lost(&mut self, _peer: PeerIndex) {}
}

impl Side {
    fn progress(&mut self) {
        self.wires.progress(&mut self.events);
        while let Some([name, place, length]) = self.events.announced.pop() {
            let (key, length) = (RegionKey([name, place]), length as usize);
            let target = Target::Bytes { pointer: self.events.buffer.as_mut_ptr(), length };
            // SAFETY: the buffer is as long as the longest message, and lives as long as `self`.
            unsafe { self.wires.pull(self.other, key, 0, target) };
        }
    }

    fn send(&mut self, content: &[u8]) {
        while !self.try_send(content) {
            self.progress();
        }
    }

    fn try_send(&mut self, content: &[u8]) -> bool {
        let (to, length) = (self.other, content.len());
        let header = Header { protocol: MESSAGE, words: [length as u64, 0] };
        // SAFETY: `content` stays valid until the wire has released it.
        unsafe {
            if length <= SHORT_BYTES {
                return self.wires.short(to, &header, content.as_ptr(), length).is_ok();
            }
            if length <= self.wires.copied_limit(to) {
                return self.wires.copied_contiguous(to, &header, content.as_ptr(), length).is_ok();
            }
            let key =
                self.wires.publish(to, 0, Source::Bytes { pointer: content.as_ptr(), length });
            let header = Header { protocol: ANNOUNCEMENT, ..header };
            let announcement = [key.0[0], key.0[1], length as u64];
            let sent = self.wires.short(to, &header, announcement.as_ptr().cast(), 24).is_ok();
            if !sent {
                self.wires.withdraw(to, key);
            }
            sent
        }
    }

    fn receive(&mut self, count: usize) {
        while self.events.arrived < count {
            self.progress();
        }
        self.events.arrived -= count;
    }

    fn drain(&mut self) {
        while self.wires.busy() {
            self.progress();
        }
    }
}

fn run(file: &OwnedFd, own: usize, sizes: &[usize]) {
    let mut set = CpuSet::new();
    set.set(own);
    let _ = sched_setaffinity(None, &set);
    let segment = Segment::map(file, 2, own).expect("the segment is small");
    segment.head().attached.fetch_add(1, Ordering::AcqRel);
    while segment.head().attached.load(Ordering::Acquire) < 2 {
        std::thread::yield_now();
    }
    let longest = sizes.iter().copied().max().unwrap_or(0).max(64);
    let events =
        Events { buffer: vec![0; longest], arrived: 0, released: 0, announced: Vec::new() };
    let mut side =
        Side { wires: Wires::single_host(segment), other: PeerIndex(1 - own as u32), events };
    let content = vec![7u8; longest];
    for size in sizes {
        let content = &content[..*size];
        let rounds = (200_000_000 / (size * 20 + 2000)).clamp(50, 50_000);
        let mut halves: Vec<f64> =
            (0..7).map(|_| half_round_trip(&mut side, own, content, rounds)).collect();
        let mut streams: Vec<f64> =
            (0..5).map(|_| stream(&mut side, own, content, rounds / 16 + 1)).collect();
        halves.sort_by(f64::total_cmp);
        streams.sort_by(f64::total_cmp);
        if own == 0 {
            let rate = 1e3 / streams[2];
            let bandwidth = *size as f64 / streams[2];
            println!(
                "{size:8} B  half round trip {:8.3} us   {rate:7.3} M/s  {bandwidth:6.2} GB/s",
                halves[3] / 1e3
            );
        }
    }
    side.drain();
}

/// Half the round-trip time in nanoseconds.
fn half_round_trip(side: &mut Side, own: usize, content: &[u8], rounds: usize) -> f64 {
    let begin = Instant::now();
    for _ in 0..rounds {
        if own == 0 {
            side.send(content);
            side.receive(1);
        } else {
            side.receive(1);
            side.send(content);
        }
    }
    begin.elapsed().as_nanos() as f64 / (2 * rounds) as f64
}

/// Nanoseconds per message in one direction. The receiver acknowledges each window.
fn stream(side: &mut Side, own: usize, content: &[u8], windows: usize) -> f64 {
    let begin = Instant::now();
    for _ in 0..windows {
        if own == 0 {
            for _ in 0..WINDOW {
                side.send(content);
            }
            side.receive(1);
        } else {
            side.receive(WINDOW);
            side.send(&[0]);
        }
    }
    side.drain();
    begin.elapsed().as_nanos() as f64 / (windows * WINDOW) as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == "second") {
        let path = format!("/proc/{}/fd/{}", arguments[2], arguments[3]);
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .expect("the first process lives");
        return run(&file.into(), 1, &sizes(&arguments[4..]));
    }
    let file = create_file("towpath-pingpong").expect("shared memory");
    let (pid, descriptor) = (std::process::id().to_string(), file.as_raw_fd().to_string());
    let mut second = std::process::Command::new(&arguments[0])
        .args(["second", &pid, &descriptor])
        .args(&arguments[1..])
        .spawn()
        .expect("the same program starts again");
    run(&file, 0, &sizes(&arguments[1..]));
    second.wait().expect("the second process ends");
}

fn sizes(arguments: &[String]) -> Vec<usize> {
    if arguments.is_empty() {
        return vec![0, 8, 40, 64, 256, 1024, 4096, 8192, 16384, 65536, 262_144, 1 << 20, 4 << 20];
    }
    arguments.iter().map(|text| text.parse().expect("sizes are whole numbers")).collect()
}
