//! The topology file under other launchers: rank 0 reads and publishes it, and the first rank of
//! each host publishes the host's name. A job without a file does none of this.

use super::{Job, Store};
use crate::error::Error;
use crate::hosts::own_name;
use crate::topology::{self, JobTopology, TopologyChoice, TopologyFile};
use towpath_topology::FigureOrigin;

/// Prefixes of what rank 0 publishes: the file, or the error message.
const TEXT: &str = "text ";
const REFUSAL: &str = "refusal ";

/// What rank 0 publishes: the file, or what is wrong with it; `None` if the job has no file.
pub(super) fn to_publish(choice: &TopologyChoice, job: &Job) -> Option<String> {
    match choice {
        TopologyChoice::File(path) => Some(match TopologyFile::read(path) {
            Ok(file) => format!("{TEXT}{}", file.to_text()),
            Err(sentence) => format!("{REFUSAL}{sentence}"),
        }),
        TopologyChoice::Stored(path) if job.hosts() > 1 => topology::stored(path)
            .unwrap_or_else(|warning| {
                eprintln!("towpath: {warning}");
                None
            })
            .map(|file| format!("{TEXT}{}", file.to_text())),
        TopologyChoice::Stored(_) | TopologyChoice::Nothing => None,
    }
}

/// Returns the topology of the job; `None` if the file is a stored measurement that does not name
/// all hosts. All ranks call it after the fence that follows the publication. A file with a mistake
/// is the same error in all of them, so none waits for another.
pub(super) fn collect(store: &mut dyn Store, job: &Job) -> Result<Option<JobTopology>, Error> {
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
    let file = TopologyFile::parse(text).ok_or_else(|| lost(store.launcher()))?;
    let file = file.map_err(|error| Error::Topology(error.to_string()))?;
    let measured = file.description.origin() == FigureOrigin::Measured;
    let is_used = !measured || file.names_all(&hosts);
    Ok(is_used.then(|| JobTopology::new(file, hosts)))
}
