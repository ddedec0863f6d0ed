//! How the processes of a job on several hosts find each other: each host's first rank publishes a card with the host's
//! addresses and the ports of its ranks (which it reads in their control pages), and everybody reads the cards of the other
//! hosts. Connections are opened later, by whoever has something to say. Where all are on a fabric, it carries everything.

use std::os::fd::BorrowedFd;

use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_launch::client::{Job, Launcher};
use towpath_transport::Wires;
use towpath_transport::ofi::Ofi;
use towpath_transport::shm::Segment;
use towpath_transport::tcp::{Card, Contact, Key, Listener, Losses, Network, Tcp, networks};

use crate::constants::ERR_OTHER;
use crate::error::{Error, Result, fail};
use crate::world::failed_start;

/// The setting that chooses interfaces.
const CHOICE: &str = "TOWPATH_TCP_INTERFACES";

/// The setting that chooses what carries messages between hosts.
const NETWORK: &str = "TOWPATH_NETWORK";

/// What carries messages between hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Tcp,
    Ofi,
}

impl Carrier {
    /// The one that is asked for, if any.
    fn wanted() -> Result<Option<Carrier>> {
        Ok(match config::setting(NETWORK).as_deref() {
            None => None,
            Some("tcp") => Some(Carrier::Tcp),
            Some("ofi") => Some(Carrier::Ofi),
            Some(other) => fail!(ERR_OTHER, "MPI cannot start: {NETWORK}={other} is neither tcp nor ofi"),
        })
    }
}

/// The wire to the other hosts.
pub(crate) enum Far {
    Tcp(Box<Tcp>),
    Ofi(Box<Ofi>),
}

impl Far {
    /// Why peers are lost.
    pub(crate) fn losses(&self) -> Losses {
        match self {
            Far::Tcp(tcp) => tcp.losses(),
            Far::Ofi(ofi) => ofi.losses(),
        }
    }

    /// What ends a sleep.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Far::Tcp(tcp) => tcp.descriptor(),
            Far::Ofi(ofi) => ofi.descriptor(),
        }
    }

    /// These wires, and this one.
    pub(crate) fn join(self, wires: Wires) -> Wires {
        match self {
            Far::Tcp(tcp) => wires.with_tcp(*tcp),
            Far::Ofi(ofi) => wires.with_ofi(*ofi),
        }
    }
}

/// Makes the wire to the other hosts. Collective over the job.
pub(crate) fn reach_others(launcher: &mut dyn Launcher, job: &Job, segment: &Segment) -> Result<Far> {
    let (wanted, own) = (Carrier::wanted()?, own_networks()?);
    let endpoint = match wanted {
        Some(Carrier::Tcp) => None,
        Some(Carrier::Ofi) | None => crate::fabric::open(launcher, job, &own)?,
    };
    let listener = Listener::open().map_err(failed_start)?;
    segment.own_control().port.store(u32::from(listener.port()), Ordering::Release);
    // All ports of this host are in its control pages after it, and the cards of endpoints are published; all cards of
    // hosts are after the second one.
    launcher.fence().map_err(failed_start)?;
    if let Some(endpoint) = endpoint
        && let Some(ofi) = crate::fabric::join(launcher, job, endpoint)?
    {
        return Ok(Far::Ofi(Box::new(ofi)));
    }
    if wanted == Some(Carrier::Ofi) {
        let hint = "TOWPATH_OFI_PROVIDER names another provider";
        fail!(
            ERR_OTHER,
            "MPI cannot start: {NETWORK}=ofi, but libfabric has no fabric that all processes are on; {hint}"
        );
    }
    if job.local_rank == 0 {
        let port = |rank: usize| segment.control(rank).port.load(Ordering::Acquire) as u16;
        let card = Card { networks: own.clone(), ports: (0..job.local_ranks.len()).map(port).collect() };
        launcher.put(&key_of(host_of(job, job.rank)), &card.to_text()).map_err(failed_start)?;
    }
    launcher.fence().map_err(failed_start)?;
    let contacts = contacts(launcher, job, &own)?;
    let key = launcher.key().map_err(failed_start)?;
    let tcp = Tcp::new(listener, PeerIndex(job.rank), Key::of_secret(&key.0), contacts).map_err(failed_start)?;
    Ok(Far::Tcp(Box::new(tcp)))
}

fn own_networks() -> Result<Vec<Network>> {
    let choice = config::setting(CHOICE);
    let own = networks(choice.as_deref());
    if let (true, Some(choice)) = (own.is_empty(), choice) {
        fail!(ERR_OTHER, "MPI cannot start: no interface of this host that is up fits {CHOICE}={choice}");
    }
    Ok(own)
}

fn host_of(job: &Job, rank: u32) -> u32 {
    job.node_of_rank[rank as usize]
}

fn key_of(host: u32) -> String {
    format!("towpath-card-{host}")
}

/// Where the processes of the other hosts are, by their cards.
fn contacts(launcher: &mut dyn Launcher, job: &Job, own: &[Network]) -> Result<Vec<Contact>> {
    let mut cards: Vec<Option<Card>> = (0..job.hosts()).map(|_| None).collect();
    let mut seen = vec![0; job.hosts()];
    let mut contacts = Vec::new();
    for rank in (0..job.size).filter(|rank| host_of(job, *rank) != host_of(job, job.rank)) {
        let host = host_of(job, rank);
        let card = match &mut cards[host as usize] {
            Some(card) => card,
            // The first of its ranks has put it.
            empty => empty.insert(card_of(launcher, host, rank)?),
        };
        let local_rank = &mut seen[host as usize];
        contacts.push(Contact { peer: PeerIndex(rank), places: card.places(*local_rank, own) });
        *local_rank += 1;
    }
    Ok(contacts)
}

fn card_of(launcher: &mut dyn Launcher, host: u32, rank: u32) -> Result<Card> {
    let text = launcher.get_from(rank, &key_of(host)).map_err(failed_start)?.unwrap_or_default();
    Card::parse(&text).ok_or_else(|| {
        let sentence = format!("the launcher does not pass on how rank {rank} on another host can be reached");
        Error::new(ERR_OTHER, format!("MPI cannot start: {sentence}"))
    })
}
