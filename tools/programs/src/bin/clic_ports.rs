//! Measures CLIC's ports, without its protocol, between two hosts, which are network namespaces of
//! this process joined by a veth pair: latency of small frames, and bandwidth of bulk that the
//! receiver requests in blocks, for each carrier.
//!
//! ```text
//! cargo run --release -p towpath-programs --bin clic_ports -- [MTU [ROUNDS]]
//! ```
//!
//! Two threads, pinned to processors 0 and 1, poll for frames without sleeping. Every figure is the
//! median of ROUNDS rounds (5), in which all carriers take turns. Needs permission to create
//! network namespaces: root, or prefix the command with `unshare --user --map-root-user`.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use towpath_base::sync::{AtomicU32, Ordering};
use towpath_clic::frame::{FrameHeader, HEADER_BYTES, Kind};
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{
    Address, Arrivals, Carrier, OutgoingFrame, Places, Port, RawSide, Way, interfaces,
};

const KEY: FrameKey = FrameKey([1, 2]);
/// Round trips per latency figure.
const TURNS: u32 = 5_000;
/// Bytes moved per bandwidth figure, length of a message, and limit of bytes in flight.
const TOTAL: usize = 64 << 20;
const MESSAGE: usize = 1 << 20;
const UNDER_WAY: usize = 512 << 10;
/// Number of chunks of a block.
const CHUNKS: usize = 64;
/// If a measurement makes no progress for this long, frames were lost.
const LOST: Duration = Duration::from_secs(2);

/// The next task of both sides.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// A cache line back and forth. Its latency shows changes in the state of the machine.
    Line,
    Turns {
        small: Carrier,
        bytes: usize,
    },
    Stream {
        bulk: Carrier,
        predicts: bool,
    },
}

fn tasks() -> Vec<Task> {
    let mut tasks = vec![Task::Line];
    for small in [Carrier::Raw, Carrier::Udp] {
        tasks.extend([1, 64, 1024].map(|bytes| Task::Turns { small, bytes }));
    }
    for bulk in [Carrier::Raw, Carrier::Udp, Carrier::Crafted] {
        tasks.extend([true, false].map(|predicts| Task::Stream { bulk, predicts }));
    }
    tasks
}

fn header(kind: Kind, endpoint: u16, length: usize, words: [u32; 2]) -> [u8; HEADER_BYTES] {
    let (length, rail, flags, session) = (length as u16, 0, 0, 0);
    FrameHeader {
        sequence: 0,
        source: 0,
        endpoint,
        length,
        kind,
        rail,
        flags,
        session,
        acknowledged: 0,
        words,
    }
    .encode(&KEY, &[])
}

/// One end of the veth pair.
struct Side {
    port: Port,
    peer: Address,
    peer_endpoint: u16,
    memory: Vec<u8>,
}

impl Side {
    fn send(&mut self, way: &Way, kind: Kind, bytes: usize, words: [u32; 2]) {
        self.post(way, &header(kind, self.peer_endpoint, bytes, words), bytes);
    }

    fn post(&mut self, way: &Way, header: &[u8; HEADER_BYTES], bytes: usize) {
        // SAFETY: `memory` holds at least `bytes` bytes.
        while !unsafe { self.port.output().send(way, header, self.memory.as_ptr(), bytes) } {}
    }

    /// Waits for one small frame; returns its words.
    fn receive(&mut self) -> Option<[u32; 2]> {
        let mut words = None;
        let mut looks = 0u32;
        let mut start = None;
        loop {
            self.port.receive(1, &mut |frame| {
                let word = |at: usize| {
                    u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
                };
                words = Some([word(24), word(28)]);
            });
            if words.is_some() {
                return words;
            }
            looks += 1;
            // Reading the clock on every poll would delay the next frame.
            if looks.is_multiple_of(1 << 16)
                && start.get_or_insert_with(Instant::now).elapsed() > LOST
            {
                return None;
            }
        }
    }

    /// Exchanges frames back and forth; returns the one-way time in microseconds.
    fn turns(&mut self, begins: bool, small: Carrier, bytes: usize) -> f64 {
        let way = self.port.way_by(&self.peer, small, Carrier::Udp);
        let mut start = Instant::now();
        let warm = TURNS / 2;
        let header = header(Kind::Eager, self.peer_endpoint, bytes, [0; 2]);
        for turn in 0..TURNS + warm {
            if turn == warm {
                start = Instant::now();
            }
            if begins {
                self.post(&way, &header, bytes);
            }
            if self.receive().is_none() {
                return f64::NAN;
            }
            if !begins {
                self.post(&way, &header, bytes);
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(TURNS) / 2.0
    }

    /// Answers requests for blocks until the peer is done.
    fn serve(&mut self, bulk: Carrier) {
        let way = self.port.way_by(&self.peer, Carrier::Raw, bulk);
        let chunk = usize::from(way.payload()) & !63;
        let mut frames = Vec::new();
        while let Some([block, length]) = self.receive() {
            if length == 0 {
                return;
            }
            let (from, length) = (block as usize * CHUNKS * chunk, length as usize);
            let mut sent = 0;
            frames.clear();
            for at in (0..length).step_by(chunk) {
                let bytes = chunk.min(length - at);
                let body = self.memory[(from + at) % MESSAGE..].as_ptr();
                let words = [block, (at / chunk) as u32];
                frames.push(OutgoingFrame {
                    header: header(Kind::Data, self.peer_endpoint, bytes, words),
                    body,
                    length: bytes,
                });
            }
            while sent < frames.len() {
                // SAFETY: `memory` is longer than a message by a block, so every body is inside it.
                sent += unsafe { self.port.output().send_bulk(&way, &frames[sent..]) };
            }
        }
    }

    /// Requests the blocks of messages; returns bytes per nanosecond.
    fn stream(&mut self, bulk: Carrier, predicts: bool) -> f64 {
        let way = self.port.way_by(&self.peer, Carrier::Raw, bulk);
        let chunk = usize::from(way.payload()) & !63;
        let block = chunk * CHUNKS;
        let mut memory = std::mem::take(&mut self.memory);
        let mut blocks =
            Blocks { memory: &mut memory, chunk, next: 0, got: 0, misses: 0, predicts };
        let total = TOTAL.next_multiple_of(block);
        let (mut asked, mut start, mut moved) = (0, Instant::now(), 0);
        let mut seen = Instant::now();
        while blocks.got * chunk < total {
            while (asked + 1) * block <= blocks.got * chunk + UNDER_WAY.max(block)
                && asked * block < total
            {
                self.send(&way, Kind::Ask, 0, [asked as u32, block as u32]);
                asked += 1;
            }
            if self.port.receive_bulk(1, &mut blocks) {
                seen = Instant::now();
            } else if seen.elapsed() > LOST {
                break;
            }
            if moved == 0 && blocks.got * chunk > total / 10 {
                (start, moved) = (Instant::now(), blocks.got * chunk);
            }
        }
        let (done, misses) = (blocks.got * chunk, blocks.misses);
        let rate = (done - moved) as f64 / start.elapsed().as_nanos() as f64;
        self.memory = memory;
        self.send(&way, Kind::Ask, 0, [0; 2]);
        if done < total || predicts && misses * 10 > done / chunk {
            println!(
                "  {bulk:?}: {done} of {total} bytes came, {misses} chunks elsewhere; {:?}",
                self.port.counters()
            );
        }
        if done < total { f64::NAN } else { rate }
    }
}

/// Receives the chunks of the blocks; expects them in the order of the requests if `predicts` is
/// set.
struct Blocks<'a> {
    memory: &'a mut [u8],
    chunk: usize,
    next: usize,
    got: usize,
    misses: usize,
    predicts: bool,
}

impl Blocks<'_> {
    fn place(&mut self, number: usize) -> *mut u8 {
        self.memory[number * self.chunk % MESSAGE..].as_mut_ptr()
    }
}

impl Arrivals for Blocks<'_> {
    fn predict(&mut self, places: &mut Places) {
        for number in self.next..if self.predicts { self.next + CHUNKS } else { 0 } {
            let words = [(number / CHUNKS) as u32, (number % CHUNKS) as u32];
            let place = self.place(number);
            // SAFETY: `memory` is longer than a message by a block, so a chunk fits at `place`, and
            // `self` holds the only reference to it.
            if !unsafe { places.expect(place, self.chunk, words) } {
                break;
            }
        }
    }

    fn take(&mut self, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) {
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
                as usize
        };
        let number = word(24) * CHUNKS + word(28);
        let place = self.place(number);
        if place.cast_const() != body {
            self.misses += 1;
            // SAFETY: `body` is readable for `length` bytes (contract of `Arrivals::take`), and a
            // chunk fits at `place`, which it does not overlap.
            unsafe { std::ptr::copy_nonoverlapping(body, place, length.min(self.chunk)) };
        }
        self.got += 1;
        self.next = number + 1;
    }
}

fn run(side: &mut Side, begins: bool, task: Task, peer: (&Sender<()>, &Receiver<()>)) -> f64 {
    // Both sides start together, when nothing of the previous task is in flight.
    let meet = || {
        peer.0.send(()).expect("the other side lives");
        peer.1.recv().expect("the other side lives");
    };
    meet();
    side.port.receive(usize::MAX, &mut |_| ());
    meet();
    match task {
        Task::Line => line(begins),
        Task::Turns { small, bytes } => side.turns(begins, small, bytes),
        Task::Stream { bulk, predicts } if begins => side.stream(bulk, predicts),
        Task::Stream { bulk, .. } => {
            side.serve(bulk);
            0.0
        }
    }
}

static LINE: AtomicU32 = AtomicU32::new(0);

/// Exchanges a cache line back and forth; returns the one-way time in nanoseconds.
fn line(begins: bool) -> f64 {
    let start = Instant::now();
    for turn in (u32::from(!begins)..2 * TURNS).step_by(2) {
        while LINE.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
        LINE.store((turn + 1) % (2 * TURNS), Ordering::Release);
    }
    start.elapsed().as_nanos() as f64 / f64::from(TURNS) / 2.0
}

fn pin(processor: usize) {
    // SAFETY: an all-zero `cpu_set_t` is empty, and `processor` is within its range.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// Creates a network namespace and moves this thread into it.
fn namespace() -> File {
    // SAFETY: unsharing the network namespace affects this thread alone, and no memory.
    let status = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    assert_eq!(status, 0, "no right to make network namespaces");
    File::open("/proc/thread-self/ns/net").expect("a thread has a network")
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split_whitespace()).status();
    assert!(status.is_ok_and(|status| status.success()), "ip {words} failed");
}

/// Moves this thread into a network namespace.
fn enter(namespace: &File) {
    // SAFETY: entering a network namespace affects this thread alone, and no memory.
    let status = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    assert_eq!(status, 0, "a namespace of our own");
}

/// Ports on both ends of a veth pair.
fn ports(mtu: usize) -> [Port; 2] {
    let (one, other) = (namespace(), namespace());
    let path = format!("/proc/{}/fd/{}", std::process::id(), one.as_raw_fd());
    ip(&format!("link add eth mtu {mtu} type veth peer name eth mtu {mtu} netns {path}"));
    let open = |namespace: &File, host: usize| {
        enter(namespace);
        ip(&format!("address add 10.77.0.{host}/24 dev eth"));
        ip("link set eth up");
        host
    };
    let hosts = [open(&other, 2), open(&one, 1)];
    std::thread::sleep(Duration::from_secs(2));
    [(&other, hosts[0]), (&one, hosts[1])].map(|(namespace, _)| {
        enter(namespace);
        let interface = interfaces(None).into_iter().next().expect("the cable has an address");
        let port = Port::open(&interface, None, RawSide::Whole).expect("a port can be opened");
        if let Some(reason) = port.without_raw() {
            println!("without a raw side: {reason}");
        }
        port
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .map(|word| word.parse::<usize>().expect("MTU and ROUNDS are numbers"));
    let (mtu, rounds) = (words.next().unwrap_or(1500), words.next().unwrap_or(5));
    let [one, other] = ports(mtu);
    let cards = [(one.address(), one.endpoint()), (other.address(), other.endpoint())];
    let side = |port, (peer, peer_endpoint)| Side {
        port,
        peer,
        peer_endpoint,
        memory: vec![7; 4 * MESSAGE],
    };
    let (mut one, mut other) = (side(one, cards[1]), side(other, cards[0]));
    let ((to_other, from_one), (to_one, from_other)) = (channel(), channel());
    let helper = std::thread::spawn(move || {
        pin(1);
        for _ in 0..rounds {
            for task in tasks() {
                run(&mut other, false, task, (&to_one, &from_one));
            }
        }
    });
    pin(0);
    let mut figures: Vec<Vec<f64>> = vec![Vec::new(); tasks().len()];
    for _ in 0..rounds {
        for (task, figures) in tasks().into_iter().zip(&mut figures) {
            figures.push(run(&mut one, true, task, (&to_other, &from_other)));
        }
    }
    helper.join().expect("the other side ends too");
    println!("MTU {mtu}");
    for (task, figures) in tasks().into_iter().zip(figures) {
        match task {
            Task::Line => println!("a line of memory: {:.0} ns", median(figures)),
            Task::Turns { small, bytes } => {
                println!("{small:?} {bytes} B: {:.2} us", median(figures))
            }
            Task::Stream { bulk, predicts } => {
                let copies = if predicts { "0 copies" } else { "1 copy" };
                println!("{bulk:?} 1 MB, {copies}: {:.2} GB/s", median(figures));
            }
        }
    }
}
