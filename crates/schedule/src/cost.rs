//! What messages and computation cost, by the LogGP model (Alexandrov, Ionescu, Schauser and
//! Scheiman, "LogGP: Incorporating Long Messages into the LogP Model", SPAA 1995).
//!
//! A message of k bytes occupies the sender's processor for o; its last byte leaves (k - 1) G later
//! and arrives after the latency L; then the receiver's processor is occupied for o. The next
//! message of a sender starts at least g + (k - 1) G after this one. Where the system copies the
//! bytes between the processes and the network, o grows with them. All times are in picoseconds, in
//! integers, so that results are the same on every machine.

use towpath_topology::{HostNetwork, NetworkLink, USUAL_OVERHEAD, USUAL_SPEED};

/// Picoseconds.
pub type Picoseconds = u64;

/// A second.
pub const SECOND: Picoseconds = 1_000_000_000_000;
const NANOSECOND: Picoseconds = 1_000;

/// A message in shared memory: two ranks of one host take 0.2 us for it, and copy 10 GB/s.
pub const SAME_HOST: LogGp = LogGp {
    latency: 100 * NANOSECOND,
    overhead: 50 * NANOSECOND,
    gap: 50 * NANOSECOND,
    gap_per_byte: 100,
    overhead_per_byte: 0,
};

/// A message in the system's TCP, without the links.
pub const BETWEEN_HOSTS: LogGp = LogGp {
    latency: 0,
    overhead: USUAL_OVERHEAD * NANOSECOND,
    gap: USUAL_OVERHEAD * NANOSECOND,
    gap_per_byte: 0,
    overhead_per_byte: 100,
};

/// The system has copied so much of a message when the network begins to move it, and at most so
/// much is left to copy when the last byte has arrived.
const COPIED_APART: u64 = 64 << 10;

/// How long work takes at a speed in thousandths of the usual one, at which it takes so long.
pub(crate) fn at_speed(usual: Picoseconds, speed: u64) -> Picoseconds {
    usual.saturating_mul(USUAL_SPEED) / speed.max(1)
}

/// The rounds in which a binomial tree reaches so many members.
pub(crate) fn ceiling_log(members: u64) -> u64 {
    u64::from(members.next_power_of_two().ilog2())
}

/// The parameters of LogGP for one kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGp {
    /// L: from the end of sending to the beginning of receiving.
    pub latency: Picoseconds,
    /// o: what a message costs the processor, on each side.
    pub overhead: Picoseconds,
    /// g: least time between two messages of a sender.
    pub gap: Picoseconds,
    /// G: time per byte of a long message, the reciprocal of the bandwidth.
    pub gap_per_byte: Picoseconds,
    /// What each byte adds to the overhead on each side, as long as it is not copied while others
    /// move.
    pub overhead_per_byte: Picoseconds,
}

impl LogGp {
    /// What a message costs the processor, on each side.
    pub fn work(&self, bytes: u64) -> Picoseconds {
        self.overhead + self.overhead_per_byte * bytes.min(COPIED_APART)
    }

    /// Time from the first to the last byte of a message.
    pub fn transfer(&self, bytes: u64) -> Picoseconds {
        bytes.saturating_sub(1).saturating_mul(self.gap_per_byte)
    }
}

/// A link of the network: that of a host, or the uplink of a group of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCost {
    /// Time per byte in one direction.
    pub gap_per_byte: Picoseconds,
    /// What it adds to the latency of a message.
    pub latency: Picoseconds,
    /// True if both directions share the rate.
    pub half_duplex: bool,
}

/// The links between hosts. Messages that pass the same link in the same direction follow each
/// other, in the order in which they reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCosts {
    /// All links.
    pub links: Vec<LinkCost>,
    /// The links from each host outwards: its own, then the uplinks of the groups around it.
    pub outwards: Vec<Vec<usize>>,
}

impl From<NetworkLink> for LinkCost {
    fn from(link: NetworkLink) -> LinkCost {
        LinkCost {
            gap_per_byte: SECOND / link.rate.max(1),
            latency: link.latency.saturating_mul(NANOSECOND),
            half_duplex: link.half_duplex,
        }
    }
}

impl From<&HostNetwork> for LinkCosts {
    /// The links of the hosts by number, and then the uplinks of the groups.
    fn from(network: &HostNetwork) -> LinkCosts {
        let HostNetwork { hosts, uplinks } = network;
        let links = hosts.iter().map(|host| host.link).chain(uplinks.iter().copied());
        let outwards = hosts.iter().enumerate().map(|(number, host)| {
            let around = host.groups.iter().rev().map(|&group| hosts.len() + group);
            std::iter::once(number).chain(around).collect()
        });
        LinkCosts { links: links.map(LinkCost::from).collect(), outwards: outwards.collect() }
    }
}

impl LinkCosts {
    /// The links that a message passes from one host to another: those that it passes outwards,
    /// and those that it passes inwards, outermost last. A link that both hosts have in common
    /// joins neither to the other.
    pub fn path(&self, from: usize, to: usize) -> (&[usize], &[usize]) {
        let (from, to) = (&self.outwards[from], &self.outwards[to]);
        let same = from.iter().rev().zip(to.iter().rev()).take_while(|(one, other)| one == other);
        let common = same.count();
        (&from[..from.len() - common], &to[..to.len() - common])
    }
}

/// The costs of everything that a schedule does: one set of parameters for each kind of link, and
/// the work of the processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostModel {
    /// Between ranks of one host.
    pub same_host: LogGp,
    /// Between hosts. If there are `links`, their latencies are added, and a byte takes as long as
    /// on the slowest of them.
    pub between_hosts: LogGp,
    /// The links between hosts that ranks share; `None` if each rank has one to itself.
    pub links: Option<LinkCosts>,
    /// A message of at most this many bytes does not wait for its receiver (eager); others do
    /// (rendezvous). `None` if all wait, as in synchronous mode.
    pub eager: Option<u64>,
    /// Copying a byte.
    pub copy_per_byte: Picoseconds,
    /// Combining two elements.
    pub reduce_per_element: Picoseconds,
    /// The speed of the processors of each host, in thousandths of the usual one, which also counts
    /// where a host is not named. All work takes accordingly longer or shorter.
    pub processors: Vec<u64>,
}

impl CostModel {
    /// How long work takes on a host that takes so long on usual processors.
    pub fn on_host(&self, host: usize, usual: Picoseconds) -> Picoseconds {
        at_speed(usual, self.processors.get(host).copied().unwrap_or(USUAL_SPEED))
    }

    /// True if a message does not wait for its receiver.
    pub fn is_eager(&self, bytes: u64) -> bool {
        self.eager.is_some_and(|limit| bytes <= limit)
    }
}
