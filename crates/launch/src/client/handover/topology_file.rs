//! The topology file under other launchers: rank 0 reads and publishes it, and the first rank of
//! each host publishes the host's name. A job without a file does none of this.

use std::path::Path;

use super::{Job, Store};
use crate::error::Error;
use crate::hosts::own_name;
use crate::topology::{self, JobTopology};

/// Prefixes of what rank 0 publishes: the text of the file, or the error message.
const TEXT: &str = "text ";
const REFUSAL: &str = "refusal ";

/// Reads the file and publishes its text, or what is wrong with it. Rank 0 calls it before a fence.
pub(super) fn publish(store: &mut dyn Store, file: &Path) -> Result<(), Error> {
    let value = match topology::read(file) {
        Ok((text, _)) => format!("{TEXT}{text}"),
        Err(sentence) => format!("{REFUSAL}{sentence}"),
    };
    store.put(topology::KEY, &value)
}

/// Returns the topology of the job. All ranks call it after that fence. A file with a mistake is
/// the same error in all of them, so none waits for another.
pub(super) fn collect(store: &mut dyn Store, job: &Job) -> Result<JobTopology, Error> {
    let name_of = |host: u32| format!("towpath-name-{host}");
    let lost = |launcher: &str| Error::Protocol {
        launcher: launcher.to_owned(),
        detail: "the topology that rank 0 has published did not arrive".to_owned(),
    };
    let value = store.get(Some(0), topology::KEY)?.unwrap_or_default();
    if let Some(sentence) = value.strip_prefix(REFUSAL) {
        return Err(Error::Topology(sentence.to_owned()));
    }
    let text = value.strip_prefix(TEXT).ok_or_else(|| lost(store.launcher()))?;
    if job.local_rank == 0 {
        store.put(&name_of(job.node_of_rank[job.rank as usize]), &own_name())?;
    }
    store.fence()?;
    let mut hosts = Vec::with_capacity(job.hosts());
    for host in 0..job.hosts() as u32 {
        let name = store.get(Some(job.first_of(host)), &name_of(host))?;
        hosts.push(name.ok_or_else(|| lost(store.launcher()))?);
    }
    JobTopology::new(text.to_owned(), hosts).map_err(|error| Error::Topology(error.to_string()))
}
