//! Measures the links between the hosts of a communicator in its first long blocking collective for
//! which slow links matter, unless a topology file or hint states their rates
//! (`towpath_topology::measurement`).
//!
//! One rank of each host takes part, the others wait for the result. All members get the same
//! rates: they are in the same call, and agree on them before they are used.

use std::time::{Duration, Instant};

use towpath_base::config;
use towpath_base::ids::Plane;
use towpath_collective::numbers::CallForm;
use towpath_collective::probe::swap;
use towpath_collective::{CallSignature, Operation, Plan, Team};
use towpath_neutral::error::{Error, Result};
use towpath_topology::measurement::{self, Cores, Leaders};
use towpath_topology::{Figure, FigureOrigin};

use crate::chapters::internal::{gather_in_call, plan_failed, run};
use crate::objects::comm::Comm;
use crate::process;

/// Calls of fewer bytes are over before a measurement is.
const LEAST: i64 = 64 << 10;
/// Between two hosts, the schedules are the same whatever the rates.
const FEWEST_HOSTS: usize = 3;
/// Bytes by which a pair of leaders finds out that both are ready.
const SHORT: usize = 8;

/// Measures the links for this call if it is the first one that needs their rates.
#[inline]
pub(super) fn attend(comm: &Comm, operation: &Operation) -> Result<()> {
    if operation.bytes_between_hosts() < LEAST || !comm.placements().is_first_need() {
        return Ok(());
    }
    measure(comm, CallSignature::of(operation).about_board())
}

#[cold]
fn measure(comm: &Comm, signature: CallSignature) -> Result<()> {
    let (peers, placement) = (&comm.group.peers, comm.group.placement());
    let hosts = placement.hosts();
    let leaders: Vec<usize> = placement.leaders().collect();
    let assumed: Vec<Figure<u64>> = leaders.iter().map(|&rank| process::link_figure_of(peers[rank])).collect();
    if hosts < FEWEST_HOSTS
        || !peers.iter().all(|&peer| process::rank_in_own_job(peer).is_some())
        || !measurement::is_useful(&assumed)
        || config::number("TOWPATH_MEASURE_LINKS") == Some(0)
    {
        return Ok(());
    }
    let cores = if placement.ranks_per_core() > 1 { Cores::Shared } else { Cores::Own };
    let (team, sequence) = (comm.team(Plane::Collective), comm.next_sequence(CallForm::Blocking));
    let mut own_rate = 0;
    if let Some(team) = team.leaders() {
        let host = team.rank;
        let mut leaders = HostLeaders { team, sequence, signature, memory: vec![0; 2 * measurement::LONGEST] };
        own_rate = measurement::measure(&mut leaders, host, hosts, cores)?[host];
    }
    let [begun, kept] = [CallForm::Nonblocking, CallForm::Persistent].map(|form| comm.calls_by_messages(form));
    let own = [own_rate, u64::from(begun), u64::from(kept)];
    let all = gather_in_call(&team, comm.next_sequence(CallForm::Blocking), signature, &own)?;
    let most = |word: usize| all.iter().skip(word).step_by(own.len()).max().map_or(0, |&number| number as u32);
    let begun = [comm.calls_by_messages(CallForm::Blocking), most(1), most(2)];
    let measured: Vec<u64> = leaders.iter().map(|rank| all[rank * own.len()]).collect();
    let rates = measurement::corrected(&measured, &assumed, cores);
    let hosts: Vec<u32> = leaders.iter().map(|&rank| process::host_of(peers[rank])).collect();
    let mut of_job = vec![0; hosts.iter().max().map_or(0, |&last| last as usize + 1)];
    hosts.iter().zip(&rates).for_each(|(&host, rate)| of_job[host as usize] = rate.value);
    comm.adopt(of_job.into(), begun);
    let measured = hosts.into_iter().zip(rates).filter(|(_, rate)| rate.origin == FigureOrigin::Measured);
    process::show_measured(measured.map(|(host, rate)| (host, rate.value)));
    Ok(())
}

/// The leaders of the hosts, as one of them sees them.
struct HostLeaders {
    team: Team,
    sequence: u32,
    signature: CallSignature,
    /// What is sent, and what arrives.
    memory: Vec<u8>,
}

impl HostLeaders {
    fn swap(&mut self, partner: usize, bytes: usize) -> Result<()> {
        let (from, to) = self.memory.split_at_mut(measurement::LONGEST);
        let plan =
            swap(&self.team, partner, bytes as i64, (from.as_mut_ptr(), to.as_mut_ptr())).map_err(plan_failed)?;
        // SAFETY: the plan names only `memory`, of which each half has at least `bytes` bytes, and
        // which is borrowed during the call.
        unsafe { run(Plan { signature: self.signature, ..plan }, self.sequence) }
    }
}

impl Leaders for HostLeaders {
    type Error = Error;

    fn exchange(&mut self, partner: usize, bytes: usize) -> Result<Duration> {
        self.swap(partner, SHORT)?;
        let begin = Instant::now();
        self.swap(partner, bytes)?;
        Ok(begin.elapsed())
    }

    fn gather(&mut self, word: u64) -> Result<Vec<u64>> {
        gather_in_call(&self.team, self.sequence, self.signature, &[word])
    }
}
