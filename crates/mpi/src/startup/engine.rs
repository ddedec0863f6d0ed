//! Builds the worker: cores, waiting policy, wires and engine.

use std::time::{Duration, Instant};

use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_engine::{Engine, Headroom, Limits};
use towpath_launch::client::Job;
use towpath_machine::memory;
use towpath_machine::wait::{Bell, Waiter};
use towpath_network::{Far, Jobs};
use towpath_neutral::error::Result;
use towpath_shm::{Segment, Waiting};
use towpath_wires::Wires;

use super::failed_start;
use crate::process::devices::{CUDA, HIP};
use crate::process::ending::leave_aborted_job;
use crate::progress::state::State;
use crate::progress::wait_target;
use crate::progress::worker::Worker;

/// How long a reading of the available memory is reused. Less data arrives in this time than the
/// memory that the engine never grants.
const FRESH: Duration = Duration::from_millis(1);

/// Creates the worker of this process.
pub(crate) fn worker(segment: &Segment, job: &Job, jobs: &Jobs, far: Option<Far>) -> Result<Worker> {
    let near: Vec<PeerIndex> = job.local_ranks.iter().map(|&rank| jobs.own_peer(rank)).collect();
    let mut waiter = Waiter::new(near.len(), segment.head(), segment.own_control());
    let mut wires = Wires::chosen(segment.clone(), near).map_err(failed_start)?;
    if let Some(far) = far {
        let bell = Bell::beside(&far.descriptors()).map_err(failed_start)?;
        waiter.watch(bell, far.polls_by_system_calls(), segment.own_control());
        wires = far.join(wires);
    }
    let waiting = Waiting::new(waiter, segment.clone(), leave_aborted_job);
    wires.set_across(towpath_datatype::copy_across);
    let mut engine = Engine::new(wires, Limits::from_settings(), job.size as usize);
    engine.ask_members(wait_target::is_member);
    engine.launch_by(|| [&CUDA, &HIP].into_iter().for_each(|gpus| gpus.launch()));
    let fixed = "TOWPATH_UNEXPECTED_BYTES";
    if config::setting(fixed).and_then(|text| config::number_of(fixed, &text).0).is_none() {
        let ranks = u64::from(job.local_ranks.len() as u32);
        let mut seen: Option<(Instant, u64)> = None;
        engine.grow_within(move || {
            let now = Instant::now();
            let (at, free) = seen.filter(|(at, _)| now - *at < FRESH).unwrap_or_else(|| (now, memory::available()));
            seen = Some((at, free));
            Headroom { free, ranks }
        });
    }
    Ok(Worker::new(State::new(engine), waiting))
}
