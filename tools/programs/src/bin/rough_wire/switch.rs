//! The switch: learns the port of each address, and applies its fate to each frame.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use crate::fate::{Fate, Fates, Percentages};
use crate::socket::{Socket, wait};

/// Size of the receive buffer in bytes; no frame of a device is longer.
const LONGEST: usize = 1 << 17;
/// Maximum number of successive frames from one port, so that all ports get their turn.
const TURN: usize = 64;

/// Ethertypes: IPv4, IPv6 and ARP.
const OF_IP: [u16; 3] = [0x0800, 0x86dd, 0x0806];
/// Offset of the IPv4 protocol field, and the protocol number of UDP.
const CARRIES: usize = 14 + 9;
const UDP: u8 = 17;

/// What the switch drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swallowed {
    /// Everything but IP.
    Frames,
    /// UDP over IPv4.
    Udp,
}

impl Swallowed {
    pub(crate) fn of(word: &str) -> Result<Swallowed, String> {
        match word {
            "frames" => Ok(Swallowed::Frames),
            "udp" => Ok(Swallowed::Udp),
            _ => Err(format!("--swallow is followed by frames or udp, not {word:?}")),
        }
    }

    fn takes(self, frame: &[u8]) -> bool {
        let sort = u16::from_be_bytes([frame[12], frame[13]]);
        match self {
            Swallowed::Frames => !OF_IP.contains(&sort),
            Swallowed::Udp => sort == OF_IP[0] && frame.get(CARRIES) == Some(&UDP),
        }
    }
}

type Address = [u8; 6];

struct Port {
    socket: Socket,
    fates: Fates,
}

/// A delayed frame: its time, and a number that preserves the order of frames with equal times.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    due: Instant,
    number: u64,
    from: usize,
    frame: Vec<u8>,
}

#[derive(Default)]
struct Counts {
    frames: u64,
    lost: u64,
    doubled: u64,
    late: u64,
    refused: u64,
    overflown: u64,
}

/// The switch: its ports, the port of each address, and the delayed frames.
pub(crate) struct Switch {
    ports: Vec<Port>,
    places: HashMap<Address, usize>,
    late: BinaryHeap<Reverse<Late>>,
    counts: Counts,
    swallow: Option<Swallowed>,
}

fn address(bytes: &[u8]) -> Address {
    bytes.try_into().expect("six bytes")
}

impl Switch {
    pub(crate) fn new(
        devices: &[String],
        percentages: Percentages,
        seed: u64,
        swallow: Option<Swallowed>,
    ) -> Result<Switch, String> {
        let port = |(number, device): (usize, &String)| {
            Ok(Port { socket: Socket::open(device)?, fates: Fates::new(seed, number, percentages) })
        };
        let ports = devices.iter().enumerate().map(port).collect::<Result<_, String>>()?;
        Ok(Switch {
            ports,
            places: HashMap::new(),
            late: BinaryHeap::new(),
            counts: Counts::default(),
            swallow,
        })
    }

    pub(crate) fn run_until_input_ends(&mut self) -> Result<(), String> {
        let mut room = vec![0; LONGEST];
        loop {
            self.release();
            let mut found = false;
            for from in 0..self.ports.len() {
                for _ in 0..TURN {
                    let Some(length) = self.ports[from].socket.take(&mut room) else { break };
                    found = true;
                    self.arrive(from, &room[..length]);
                }
            }
            let next = self
                .late
                .peek()
                .map(|Reverse(late)| late.due.saturating_duration_since(Instant::now()));
            let most = if found { Some(Duration::ZERO) } else { next };
            if wait(self.ports.iter().map(|port| &port.socket), most)? {
                return Ok(());
            }
        }
    }

    /// Forwards the delayed frames that are due.
    fn release(&mut self) {
        while self.late.peek().is_some_and(|Reverse(late)| late.due <= Instant::now()) {
            let Some(Reverse(late)) = self.late.pop() else { return };
            self.forward(late.from, &late.frame);
        }
    }

    fn arrive(&mut self, from: usize, frame: &[u8]) {
        if frame.len() < 14 {
            return;
        }
        self.counts.frames += 1;
        self.places.insert(address(&frame[6..12]), from);
        let Fate { lost, late, again } = self.ports[from].fates.draw();
        let is_swallowed = self.swallow.is_some_and(|swallowed| swallowed.takes(frame));
        if lost || is_swallowed {
            self.counts.lost += 1;
            return;
        }
        match late {
            Some(delay) => self.keep(from, frame, delay),
            None => self.forward(from, frame),
        }
        if let Some(delay) = again {
            self.counts.doubled += 1;
            match late {
                None if delay.is_zero() => self.forward(from, frame),
                _ => self.keep(from, frame, delay),
            }
        }
        self.counts.late += u64::from(late.is_some());
    }

    fn keep(&mut self, from: usize, frame: &[u8], delay: Duration) {
        let number = self.counts.frames;
        self.late.push(Reverse(Late {
            due: Instant::now() + delay,
            number,
            from,
            frame: frame.to_vec(),
        }));
    }

    /// Forwards a frame to the port of its destination address; to all other ports if the address
    /// is unknown or multicast.
    fn forward(&mut self, from: usize, frame: &[u8]) {
        let to = address(&frame[..6]);
        let known = self.places.get(&to).copied().filter(|_| to[0] & 1 == 0);
        for (number, port) in self.ports.iter().enumerate() {
            if number != from && known.is_none_or(|known| known == number) {
                self.counts.refused += u64::from(!port.socket.give(frame));
            }
        }
    }

    /// A one-line summary of what has happened so far.
    pub(crate) fn counts(&mut self) -> String {
        self.counts.overflown +=
            self.ports.iter().map(|port| u64::from(port.socket.overflown())).sum::<u64>();
        self.counts.to_string()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { frames, lost, doubled, late, refused, overflown } = self;
        write!(
            out,
            "{frames} frames, {lost} lost, {doubled} doubled, {late} late, {refused} refused, {overflown} overflown"
        )
    }
}
