//! Measures the links between the hosts of a communicator in its first long blocking collective for
//! which slow links matter, unless a topology file or hint states their rates, or the leaders know
//! them from another communicator (`towpath_topology::measurement`).
//!
//! After ever more such calls, the members compare what these have achieved with the rates, and
//! measure again if that does not fit.
//!
//! One rank of each host takes part, the others wait for the result. All members get the same
//! rates: they are in the same call, and agree on them before they are used.

use std::time::{Duration, Instant};

use towpath_base::config;
use towpath_collective::numbers::CallForm;
use towpath_collective::probe::swap;
use towpath_collective::{CallSignature, LinkCheck, Operation, Plan, Team};
use towpath_neutral::error::{Error, Result};
use towpath_topology::measurement::{self, Cores, Leaders};
use towpath_topology::{Figure, FigureOrigin};

use crate::chapters::internal::{gather_in_call, plan_failed, run, team_of};
use crate::objects::comm::Comm;
use crate::process;

/// Calls of fewer bytes are over before a measurement is.
const LEAST: i64 = 64 << 10;
/// Between two hosts, the schedules are the same whatever the rates.
const FEWEST_HOSTS: usize = 3;
/// Bytes by which a pair of leaders finds out that both are ready.
const SHORT: usize = 8;

/// Measures the links for this call if it is the first one that needs their rates, or if what was
/// observed since does not fit these. Returns the bytes of a call that is to be observed too, and
/// when it begins.
#[inline]
pub(super) fn attend(comm: &Comm, operation: &Operation) -> Result<Option<(i64, Instant)>> {
    let bytes = operation.bytes_between_hosts(comm.group.peers.len());
    if bytes < LEAST {
        return Ok(None);
    }
    let check = comm.placements().next_check(operation.shows_rates());
    match check {
        LinkCheck::Nothing => return Ok(None),
        LinkCheck::Observe => {}
        LinkCheck::Compare(observed) if !is_doubtful(comm, observed)? => {}
        _ => measure(comm, check)?,
    }
    Ok(operation.shows_rates().then(|| (bytes, Instant::now())))
}

/// True if the best rate that some leader has observed does not fit what is assumed.
#[cold]
fn is_doubtful(comm: &Comm, observed: u64) -> Result<bool> {
    let (team, sequence) = team_of(comm);
    let all = gather_in_call(&team, sequence, CallSignature::ABOUT_LINKS, &[observed])?;
    let leaders: Vec<usize> = team.placement.leaders().collect();
    let placements = comm.placements();
    let rates = placements.rates(CallForm::Blocking, comm.calls_by_messages(CallForm::Blocking));
    let rate = |&rank: &usize| rates.map_or(0, |rates| rates[process::host_of(team.peers[rank]) as usize]);
    let assumed: Vec<u64> = leaders.iter().map(rate).collect();
    let observed: Vec<u64> = leaders.iter().map(|&rank| all[rank]).collect();
    Ok(measurement::is_doubtful(&observed, &assumed, cores(&team)))
}

fn cores(team: &Team) -> Cores {
    if team.placement.ranks_per_core() > 1 { Cores::Shared } else { Cores::Own }
}

/// Measures the links. The first time, the leaders may use what another communicator has measured.
#[cold]
fn measure(comm: &Comm, check: LinkCheck) -> Result<()> {
    let (peers, placement) = (&comm.group.peers, comm.group.placement());
    let hosts = placement.hosts();
    let leaders: Vec<usize> = placement.leaders().collect();
    let Some(jobs) = process::jobs() else { return Ok(()) };
    let figure = |&rank: &usize| jobs.link_figure(process::host_of(peers[rank]));
    let assumed: Vec<Figure<u64>> = leaders.iter().map(figure).collect();
    if hosts < FEWEST_HOSTS
        || !peers.iter().all(|&peer| process::rank_in_own_job(peer).is_some())
        || !measurement::is_useful(&assumed)
        || config::number("TOWPATH_MEASURE_LINKS") == Some(0)
    {
        return Ok(());
    }
    let (team, sequence) = team_of(comm);
    let cores = cores(&team);
    // All ranks of this host are here then, and leave the cores to those that measure. A rank that
    // makes another call gets a message by which it finds that out.
    gather_in_call(&team.on_my_host(), sequence, CallSignature::ABOUT_LINKS, &[0])?;
    let hosts_of_job: Vec<u32> = leaders.iter().map(|&rank| process::host_of(peers[rank])).collect();
    let mut own_rate = 0;
    if let Some(team) = team.leaders() {
        let known = jobs.remembered_rates(&hosts_of_job).filter(|_| check == LinkCheck::Measure);
        let host = team.rank;
        let mut leaders = HostLeaders { team, sequence, memory: vec![0; 2 * measurement::LONGEST] };
        own_rate = measurement::known_or_measured(&mut leaders, host, known, hosts, cores)?[host];
    }
    let [begun, kept] = [CallForm::Nonblocking, CallForm::Persistent].map(|form| comm.calls_by_messages(form));
    let own = [own_rate, begun, kept];
    // With the number of this call again, as ranks that make another call must find out.
    let all = gather_in_call(&team, sequence, CallSignature::ABOUT_LINKS, &own)?;
    let most = |word: usize| all.iter().skip(word).step_by(own.len()).max().copied().unwrap_or(0);
    let begun = [comm.calls_by_messages(CallForm::Blocking), most(1), most(2)];
    let measured: Vec<u64> = leaders.iter().map(|rank| all[rank * own.len()]).collect();
    jobs.remember_rates(&hosts_of_job, &measured);
    let rates = measurement::corrected(&measured, &assumed, cores);
    let mut of_job = vec![0; hosts_of_job.iter().max().map_or(0, |&last| last as usize + 1)];
    hosts_of_job.iter().zip(&rates).for_each(|(&host, rate)| of_job[host as usize] = rate.value);
    if comm.adopt(of_job.into(), begun) {
        let value = |rate: Figure<u64>| (rate.origin == FigureOrigin::Measured).then_some(rate.value);
        jobs.show_measured(hosts_of_job.into_iter().zip(rates.into_iter().map(value)));
    }
    Ok(())
}

/// The leaders of the hosts, as one of them sees them.
struct HostLeaders {
    team: Team,
    sequence: u64,
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
        unsafe { run(Plan { signature: CallSignature::ABOUT_LINKS, ..plan }, self.sequence) }
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
        gather_in_call(&self.team, self.sequence, CallSignature::ABOUT_LINKS, &[word])
    }
}
