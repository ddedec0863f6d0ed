//! The launcher interface of a process that a PMI server started: the Hydra launchers of MPICH and
//! Intel MPI, gforker, Slurm's pmi2 plugin.
//!
//! [`PmiConnection`] implements the exchanges (one request, one answer) in either [`Dialect`], and
//! [`connect`] retrieves the job with them. Servers differ in their length limits, in the answer to
//! a missing key, and in whether they provide `PMI_process_mapping`. If it is missing, the ranks
//! publish their hosts themselves.

mod connection;
mod dialect;

use std::os::fd::RawFd;

use towpath_base::config;

use super::Job;
use super::served::Served;
use super::store::Store;
use crate::error::Error;
use crate::hosts;
use crate::topology::TopologyChoice;

pub(super) use connection::{PmiConnection, check_open, silent};
pub(super) use dialect::Dialect;

/// A PMI server that the environment names, not contacted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PmiAddress {
    descriptor: RawFd,
    pub(super) rank: u32,
    pub(super) size: u32,
    /// Name of the launcher.
    pub(super) name: String,
    pub(super) dialect: Dialect,
}

impl PmiAddress {
    /// The server that PMI_FD names; `None` if the variable is not set.
    pub(super) fn from_environment() -> Result<Option<PmiAddress>, Error> {
        let number =
            |name: &str| config::environment(name).and_then(|text| text.trim().parse::<i64>().ok());
        let Some(descriptor) = number("PMI_FD") else { return Ok(None) };
        let name = server_name();
        let (Some(rank), Some(size)) = (number("PMI_RANK"), number("PMI_SIZE")) else {
            return Err(Error::NoServer(format!(
                "{name} set PMI_FD but not PMI_RANK and PMI_SIZE: the rank of this process is not known."
            )));
        };
        if size < 1 || rank < 0 || rank >= size || size > i64::from(i32::MAX) {
            return Err(Error::NoServer(format!(
                "{name} reports rank {rank} of {size}, which is impossible."
            )));
        }
        let descriptor = i32::try_from(descriptor).unwrap_or(-1);
        check_open(descriptor, &name)?;
        Ok(Some(PmiAddress {
            descriptor,
            rank: rank as u32,
            size: size as u32,
            name,
            dialect: Dialect::in_environment(&config::environment),
        }))
    }
}

/// Connects to the server that the environment names.
pub(super) fn connect(server: &PmiAddress) -> Result<Served<PmiConnection>, Error> {
    let connection = PmiConnection::take(server.descriptor, server.dialect, &server.name)?;
    start(connection, server.rank, server.size as usize, &TopologyChoice::of_setting())
}

fn start(
    mut connection: PmiConnection,
    rank: u32,
    size: usize,
    choice: &TopologyChoice,
) -> Result<Served<PmiConnection>, Error> {
    let place = connection.initialize(rank as usize, size)?;
    let mapping = connection.attribute("PMI_process_mapping")?;
    let nodes = match mapping.and_then(|mapping| hosts::parse_mapping(&mapping, size)) {
        Some(nodes) => nodes,
        None => exchange_hosts(&mut connection, rank as usize, size)?,
    };
    let mut job = Job::new(rank, nodes, connection.launcher());
    (job.appnum, job.universe_size) = (place.appnum, place.universe_size);
    Served::share(connection, job, choice)
}

/// Name of the launcher, as far as its variables identify it.
fn server_name() -> String {
    let set = |name: &str| config::environment(name).is_some();
    if set("SLURM_STEP_ID") || set("SLURM_STEPID") {
        "srun".to_owned()
    } else if set("I_MPI_HYDRA_UUID") || set("I_MPI_HYDRA_ENV") {
        "the Hydra launcher of Intel MPI".to_owned()
    } else if set("HYDI_CONTROL_FD") || set("PMI_HOSTNAME") {
        "the Hydra launcher (mpiexec of MPICH)".to_owned()
    } else {
        "the PMI launcher".to_owned()
    }
}

/// For servers that do not know the hosts: each rank publishes its own, rank 0 collects them and
/// publishes the mapping.
pub(super) fn exchange_hosts(
    store: &mut dyn Store,
    rank: usize,
    size: usize,
) -> Result<Vec<u32>, Error> {
    if size == 1 {
        return Ok(vec![0]);
    }
    store.put(&format!("towpath-host-{rank}"), &hosts::own_host())?;
    store.fence()?;
    if rank == 0 {
        let names: Vec<Option<String>> = (0..size)
            .map(|other| store.get(Some(other as u32), &format!("towpath-host-{other}")))
            .collect::<Result<_, _>>()?;
        store.put("towpath-hosts", &hosts::write_mapping(&hosts::number_by_appearance(&names)))?;
    }
    store.fence()?;
    let mapping = store.get(Some(0), "towpath-hosts")?;
    mapping.and_then(|mapping| hosts::parse_mapping(&mapping, size)).ok_or_else(|| {
        Error::Protocol {
            launcher: store.launcher().to_owned(),
            detail: "rank 0's list of hosts did not arrive".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests;
