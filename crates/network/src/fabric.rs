//! Setup of a libfabric fabric between the processes of a job on several hosts. Each process
//! publishes the card of its endpoint, or that it has none, and reads the cards of all others. The
//! fabric is used if all processes have a card of the same provider.

use towpath_launch::client::{Job, Launcher};
use towpath_machine::network::Network;
use towpath_ofi::{self as ofi, BoundEndpoint, FabricCard, FabricKey, Ofi, OfiContact};

use crate::error::{Error, Result};
use crate::jobs::Jobs;

/// Published instead of a card.
const NONE: &str = "none";

fn key_of(rank: u32) -> String {
    format!("towpath-fabric-{rank}")
}

/// Opens the endpoint of this process, if a fabric exists, and publishes its card, which other
/// processes can read after the next fence.
pub(super) fn open(
    launcher: &mut dyn Launcher,
    job: &Job,
    own: &[Network],
) -> Result<Option<BoundEndpoint>> {
    let port = match ofi::choose(own).map_err(Error::new)? {
        Some(choice) => {
            let secret = launcher.key().map_err(Error::new)?;
            let key = FabricKey::of_secret(&secret.0);
            Some(BoundEndpoint::open(&choice, key, job.size as usize).map_err(Error::new)?)
        }
        None => None,
    };
    let card = port.as_ref().map(BoundEndpoint::card).transpose().map_err(Error::new)?;
    let text = card.map_or_else(|| NONE.to_owned(), |card| card.to_text());
    launcher.put(&key_of(job.rank), &text).map_err(Error::new)?;
    Ok(port)
}

/// The wire to the processes of other hosts; `None` unless all processes of the job are on the
/// fabric.
pub(super) fn join(
    launcher: &mut dyn Launcher,
    job: &Job,
    jobs: &Jobs,
    port: BoundEndpoint,
) -> Result<Option<Ofi>> {
    let own = port.card().map_err(Error::new)?;
    let host = |rank: u32| job.node_of_rank[rank as usize];
    let mut contacts = Vec::new();
    for rank in (0..job.size).filter(|rank| *rank != job.rank) {
        let text = launcher.get_from(rank, &key_of(rank)).map_err(Error::new)?.unwrap_or_default();
        let Some(card) = FabricCard::parse(&text).filter(|card| card.provider == own.provider)
        else {
            return Ok(None);
        };
        if host(rank) != host(job.rank) {
            contacts.push(OfiContact { peer: jobs.own_peer(rank), address: card.address });
        }
    }
    Ofi::new(port, jobs.own(), contacts).map(Some).map_err(Error::new)
}
