//! How the processes of a job on several hosts find each other, and which transport leads where.
//!
//! Where all are on a fabric, it carries everything. Else each host's first rank publishes a card
//! with the host's addresses and the ports of its ranks (which it reads in their control pages),
//! and everybody reads the cards of the other hosts. The first ranks of hosts that take part in
//! frames then try the ways between them and publish what works. All ranks of two hosts come to the
//! same choice, because they read the same; each pair of hosts has its own. Connections are opened
//! later, by whoever has something to say.

mod absence;
mod choice;
mod frames;
mod routes;
mod survey;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_clic_wire::Clic;
use towpath_launch::client::{Job, Launcher};
use towpath_launch::hosts::own_host;
use towpath_machine::network::{Network, networks};
use towpath_ofi::Ofi;
use towpath_shm::Segment;
use towpath_tcp::{Card, Contact, Key, Listener, Tcp};
use towpath_transport::Losses;
use towpath_wires::Wires;

use crate::constants::ERR_OTHER;
use crate::error::{Error, Result, fail};
use crate::world::failed_start;
use choice::{Choice, SETTING};
use frames::Frames;
pub use survey::survey;

/// The setting that chooses interfaces.
const INTERFACES: &str = "TOWPATH_TCP_INTERFACES";

/// The setting that says how long the other end of a connection may leave everything unanswered.
const TIMEOUT: &str = "TOWPATH_TCP_TIMEOUT_SECONDS";

/// What leads to other hosts.
pub(crate) enum Far {
    /// Connections.
    Tcp(Box<Tcp>),
    /// Frames to those that they reach, connections to the others.
    Clic {
        tcp: Box<Tcp>,
        clic: Box<Clic>,
        /// By rank: large messages to it go by a connection all the same.
        streams: Vec<bool>,
    },
    /// A fabric.
    Ofi(Box<Ofi>),
}

impl Far {
    /// Why peers are lost.
    pub(crate) fn losses(&self) -> Losses {
        match self {
            Far::Tcp(tcp) | Far::Clic { tcp, .. } => tcp.losses(),
            Far::Ofi(ofi) => ofi.losses(),
        }
    }

    /// What ends a sleep.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Far::Tcp(tcp) => vec![tcp.descriptor()],
            Far::Clic { tcp, clic, .. } => vec![clic.descriptor(), tcp.descriptor()],
            Far::Ofi(ofi) => vec![ofi.descriptor()],
        }
    }

    /// These wires, and those to the other hosts.
    pub(crate) fn join(self, wires: Wires) -> Wires {
        match self {
            Far::Tcp(tcp) => wires.with_tcp(*tcp),
            Far::Clic { tcp, clic, streams } => {
                wires.with_tcp(*tcp).with_clic(*clic, |peer| streams.get(peer.slot()).is_some_and(|streams| *streams))
            }
            Far::Ofi(ofi) => wires.with_ofi(*ofi),
        }
    }
}

/// Makes the wires to the other hosts. Collective over the job.
pub(crate) fn reach_others(launcher: &mut dyn Launcher, job: &Job, segment: &Segment) -> Result<Far> {
    let choice = Choice::of_settings()?;
    let own = Card { networks: own_networks()?, ports: Vec::new(), machine: own_host() };
    let fabric = if choice.fabric() { crate::fabric::open(launcher, job, &own.networks)? } else { None };
    let listener = Listener::open().map_err(failed_start)?;
    segment.own_control().port.store(u32::from(listener.port()), Ordering::Release);
    let mut frames = choice.frames().then(|| Frames::open(choice, segment, fabric.is_some())).transpose()?;
    // All ports of this host are in its control pages after it, and the cards of endpoints are
    // published; all cards of hosts are after the second one.
    launcher.fence().map_err(failed_start)?;
    if let Some(frames) = &mut frames {
        frames.settle(segment);
    }
    if let Some(endpoint) = fabric
        && let Some(ofi) = crate::fabric::join(launcher, job, endpoint)?
    {
        routes::show(segment, &routes::all(job, "libfabric"));
        return Ok(Far::Ofi(Box::new(ofi)));
    }
    if choice == Choice::Ofi {
        let hint = "TOWPATH_OFI_PROVIDER names another provider";
        fail!(
            ERR_OTHER,
            "MPI cannot start: {SETTING}=ofi, but libfabric has no fabric that all processes are on; {hint}"
        );
    }
    if job.local_rank == 0 {
        let port = |rank: usize| segment.control(rank).port.load(Ordering::Acquire) as u16;
        let card = Card { ports: (0..job.local_ranks.len()).map(port).collect(), ..own.clone() };
        launcher.put(&key_of("card", host_of(job, job.rank)), &card.to_text()).map_err(failed_start)?;
        if let Some(frames) = &frames {
            frames.publish(launcher, job, segment)?;
        }
    }
    launcher.fence().map_err(failed_start)?;
    let contacts = contacts(launcher, job, &own)?;
    let secret = launcher.key().map_err(failed_start)?;
    let tcp = Tcp::new(listener, PeerIndex(job.rank), Key::of_secret(&secret.0), contacts).map_err(failed_start)?;
    let tcp = Box::new(match config::number(TIMEOUT) {
        Some(seconds) => tcp.with_timeout(Duration::from_secs(seconds)),
        None => tcp,
    });
    let Some(mut frames) = frames else {
        routes::show(segment, &routes::all(job, &format!("tcp, as {SETTING}={} says", choice.name())));
        return Ok(Far::Tcp(tcp));
    };
    frames.meet(launcher, job, &secret.0)?;
    routes::show(segment, &frames.routes(job));
    let streams = frames.streams(job);
    Ok(match frames.into_wire(job)? {
        Some(clic) => Far::Clic { clic: Box::new(clic.noting_in(tcp.losses())), tcp, streams },
        None => Far::Tcp(tcp),
    })
}

fn own_networks() -> Result<Vec<Network>> {
    let choice = config::setting(INTERFACES);
    let own = networks(choice.as_deref());
    if let (true, Some(choice)) = (own.is_empty(), choice) {
        fail!(ERR_OTHER, "MPI cannot start: no interface of this host that is up fits {INTERFACES}={choice}");
    }
    Ok(own)
}

fn host_of(job: &Job, rank: u32) -> u32 {
    job.node_of_rank[rank as usize]
}

fn key_of(what: &str, host: u32) -> String {
    format!("towpath-{what}-{host}")
}

/// Ranks of other hosts, with their hosts and their places there.
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

/// Where the processes of the other hosts are, by their cards.
fn contacts(launcher: &mut dyn Launcher, job: &Job, own: &Card) -> Result<Vec<Contact>> {
    let mut cards: Vec<Option<Card>> = (0..job.hosts()).map(|_| None).collect();
    let mut contacts = Vec::new();
    for (rank, host, local) in others(job) {
        let card = match &mut cards[host as usize] {
            Some(card) => card,
            empty => {
                let text = text_of(launcher, job, "card", host)?;
                empty.insert(Card::parse(&text).ok_or_else(|| unknown(job.first_of(host)))?)
            }
        };
        contacts.push(Contact { peer: PeerIndex(rank), places: card.places(local, own) });
    }
    Ok(contacts)
}

/// Reads what the first rank of a host has put.
fn text_of(launcher: &mut dyn Launcher, job: &Job, what: &str, host: u32) -> Result<String> {
    let rank = job.first_of(host);
    launcher.get_from(rank, &key_of(what, host)).map_err(failed_start)?.ok_or_else(|| unknown(rank))
}

/// What a host has published is missing or makes no sense.
fn unknown(rank: u32) -> Error {
    let sentence = format!("the launcher does not pass on how rank {rank} on another host can be reached");
    Error::new(ERR_OTHER, format!("MPI cannot start: {sentence}"))
}
