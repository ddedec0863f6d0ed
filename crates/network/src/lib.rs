//! Selects the transports between hosts, and exchanges the addresses they need.
//!
//! A fabric carries everything if all processes are on it. Otherwise the first rank of each host
//! publishes a card with the host's addresses and the ports of its ranks, which it reads from their
//! control pages, and every process reads the cards of the other hosts. The first ranks of hosts
//! that take part in CLIC frames then probe the paths between them and publish what works. Each
//! pair of hosts chooses separately; all ranks of two hosts make the same choice, because they read
//! the same data. Connections are opened later, by the first side that sends.
//!
//! Everything here happens while the job starts. [`reach_others`] waits for the launcher, and for
//! other hosts to answer.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod choice;
mod error;
mod fabric;
mod frames;
mod ineligibility;
mod jobs;
mod probing;
mod routes;
mod survey;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use towpath_base::config;
use towpath_base::ids::ProcessId;
use towpath_base::sync::Ordering;
use towpath_clic_wire::Clic;
use towpath_launch::client::{Job, Launcher};
use towpath_launch::hosts::own_host;
use towpath_launch::resources::{self, HostResources, card_key};
use towpath_machine::cores;
use towpath_machine::network::{INTERFACES, Network, networks};
use towpath_ofi::Ofi;
use towpath_shm::Segment;
use towpath_tcp::{ConnectionKey, HostAddresses, Listener, Tcp, TcpContact};
use towpath_transport::Losses;
use towpath_wires::Wires;

use choice::{SETTING, TransportChoice};
pub use error::{Error, Result};
use frames::FrameSetup;
pub use jobs::Jobs;
pub use survey::survey;
pub use towpath_launch::topology::HostNetwork;

/// The setting for how long a peer's host may leave sent data unacknowledged before the peer is
/// lost.
const TIMEOUT: &str = "TOWPATH_TCP_TIMEOUT_SECONDS";

/// The wires to other hosts.
pub enum Far {
    /// TCP connections to all hosts.
    Tcp(Box<Tcp>),
    /// CLIC frames to the hosts that they reach, TCP connections to the others.
    Clic {
        /// The connections.
        tcp: Box<Tcp>,
        /// The frames.
        clic: Box<Clic>,
        /// Indexed by peer: true if large messages to it use a connection nevertheless.
        streams: Vec<bool>,
    },
    /// A libfabric fabric, which reaches all hosts.
    Ofi(Box<Ofi>),
}

impl Far {
    /// The record of lost peers and the reasons.
    pub fn losses(&self) -> Losses {
        match self {
            Far::Tcp(tcp) | Far::Clic { tcp, .. } => tcp.losses(),
            Far::Ofi(ofi) => ofi.losses(),
        }
    }

    /// Descriptors that end a sleep when they become readable.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Far::Tcp(tcp) => vec![tcp.descriptor()],
            Far::Clic { tcp, clic, .. } => vec![clic.descriptor(), tcp.descriptor()],
            Far::Ofi(ofi) => vec![ofi.descriptor()],
        }
    }

    /// True if a poll for messages costs a system call. CLIC looks at memory that it shares with
    /// the kernel.
    pub fn polls_by_system_calls(&self) -> bool {
        !matches!(self, Far::Clic { .. })
    }

    /// Adds the wires to other hosts to `wires`.
    pub fn join(self, wires: Wires) -> Wires {
        match self {
            Far::Tcp(tcp) => wires.with_tcp(*tcp),
            Far::Clic { tcp, clic, streams } => wires
                .with_tcp(*tcp)
                .with_clic(*clic, |peer| streams.get(peer.slot()).is_some_and(|streams| *streams)),
            Far::Ofi(ofi) => wires.with_ofi(*ofi),
        }
    }
}

/// Creates the wires to the other hosts of the job, and sets the job's resources in `jobs`.
/// Collective over the job.
///
/// # Errors
/// If a setting of the network is invalid, the launcher fails or does not pass on what a host
/// publishes, the system or libfabric refuses what a transport needs, or a transport that the
/// settings require does not reach all hosts.
pub fn reach_others(
    launcher: &mut dyn Launcher,
    job: &Job,
    jobs: &mut Jobs,
    segment: &Segment,
) -> Result<Far> {
    let choice = TransportChoice::of_settings()?;
    let own = HostAddresses { networks: own_networks()?, ports: Vec::new(), machine: own_host() };
    let fabric = if choice.fabric() { fabric::open(launcher, job, &own.networks)? } else { None };
    let listener = Listener::open().map_err(Error::new)?;
    segment.own_control().port.store(u32::from(listener.port()), Ordering::Release);
    cores::unite(segment.head(), &cores::affinity());
    let mut frames =
        choice.frames().then(|| FrameSetup::open(choice, segment, fabric.is_some())).transpose()?;
    // After the first fence, the control pages contain all ports of this host and all processors
    // that its ranks may use, and the endpoint cards are published. After the second, all host
    // cards are.
    launcher.fence().map_err(Error::new)?;
    if let Some(frames) = &mut frames {
        frames.decide_participation(segment);
    }
    if let Some(endpoint) = fabric
        && let Some(ofi) = fabric::join(launcher, job, jobs, endpoint)?
    {
        routes::show(segment, &routes::all(job, "libfabric"));
        return Ok(Far::Ofi(Box::new(ofi)));
    }
    if choice == TransportChoice::Ofi {
        let hint = "TOWPATH_OFI_PROVIDER names another provider";
        return Err(Error::new(format_args!(
            "{SETTING}=ofi, but libfabric has no fabric that all processes are on; {hint}"
        )));
    }
    if job.local_rank == 0 {
        let port = |rank: usize| segment.control(rank).port.load(Ordering::Acquire) as u16;
        let card =
            HostAddresses { ports: (0..job.local_ranks.len()).map(port).collect(), ..own.clone() };
        let (_, mask) = cores::announced(segment.head());
        let resources = HostResources::own(mask, config::setting(INTERFACES).as_deref());
        let text = resources::card(&card.to_text(), &resources);
        launcher.put(&card_key(host_of(job, job.rank)), &text).map_err(Error::new)?;
        if let Some(frames) = &frames {
            frames.publish(launcher, job, segment)?;
        }
    }
    launcher.fence().map_err(Error::new)?;
    let cards = cards(launcher, job)?;
    let resources = cards.iter().map(|card| (card.resources.clone(), card.addresses.ports.len()));
    let resources = jobs.set_resources(resources.collect());
    let contacts = contacts(job, jobs, &cards, &own);
    let secret = launcher.key().map_err(Error::new)?;
    let key = ConnectionKey::of_secret(&secret.0);
    let tcp = Tcp::new(listener, process(job, job.rank), key, contacts).map_err(Error::new)?;
    let tcp = Box::new(match config::number(TIMEOUT) {
        Some(seconds) => tcp.with_timeout(Duration::from_secs(seconds)),
        None => tcp,
    });
    let Some(mut frames) = frames else {
        routes::show(
            segment,
            &routes::all(job, &format!("tcp, as {SETTING}={} says", choice.name())),
        );
        return Ok(Far::Tcp(tcp));
    };
    frames.meet(launcher, job, &secret.0, &resources)?;
    routes::show(segment, &frames.routes(job));
    let streams = frames.streams(job);
    Ok(match frames.into_wire(job, jobs)? {
        Some(clic) => Far::Clic { clic: Box::new(clic.noting_in(tcp.losses())), tcp, streams },
        None => Far::Tcp(tcp),
    })
}

fn own_networks() -> Result<Vec<Network>> {
    let choice = config::setting(INTERFACES);
    let own = networks(choice.as_deref());
    if let (true, Some(choice)) = (own.is_empty(), choice) {
        return Err(Error::new(format_args!(
            "no interface of this host that is up matches {INTERFACES}={choice}"
        )));
    }
    Ok(own)
}

fn host_of(job: &Job, rank: u32) -> u32 {
    job.node_of_rank[rank as usize]
}

fn process(job: &Job, rank: u32) -> ProcessId {
    ProcessId { job: job.id, rank }
}

fn key_of(what: &str, host: u32) -> String {
    format!("towpath-{what}-{host}")
}

/// The ranks of other hosts, each with its host and its local rank there.
fn others(job: &Job) -> impl Iterator<Item = (u32, u32, usize)> {
    let mut seen = vec![0usize; job.hosts()];
    let own = host_of(job, job.rank);
    (0..job.size).filter_map(move |rank| {
        let host = host_of(job, rank);
        let local = seen[host as usize];
        seen[host as usize] += 1;
        (host != own).then_some((rank, host, local))
    })
}

/// What the first rank of a host publishes.
struct Card {
    addresses: HostAddresses,
    resources: HostResources,
}

impl Card {
    fn parse(text: &str) -> Option<Card> {
        let (addresses, resources) = resources::of_card(text)?;
        Some(Card { addresses: HostAddresses::parse(addresses)?, resources })
    }
}

/// The cards of all hosts.
fn cards(launcher: &mut dyn Launcher, job: &Job) -> Result<Vec<Card>> {
    let card = |host| {
        let text = text_of(launcher, job, &card_key(host), host)?;
        Card::parse(&text).ok_or_else(|| unknown(job.first_of(host)))
    };
    (0..job.hosts() as u32).map(card).collect()
}

/// The addresses of the processes on other hosts, from the cards.
fn contacts(job: &Job, jobs: &Jobs, cards: &[Card], own: &HostAddresses) -> Vec<TcpContact> {
    let contact = |(rank, host, local): (u32, u32, usize)| TcpContact {
        peer: jobs.own_peer(rank),
        process: process(job, rank),
        places: cards[host as usize].addresses.places(local, own),
    };
    others(job).map(contact).collect()
}

/// Reads what the first rank of a host has published under a key.
fn text_of(launcher: &mut dyn Launcher, job: &Job, key: &str, host: u32) -> Result<String> {
    let rank = job.first_of(host);
    launcher.get_from(rank, key).map_err(Error::new)?.ok_or_else(|| unknown(rank))
}

/// The error if what a host has published is missing or malformed.
fn unknown(rank: u32) -> Error {
    Error::new(format_args!(
        "the launcher does not deliver the address of rank {rank} on another host"
    ))
}
