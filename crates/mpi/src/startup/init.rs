//! MPI_Init (MPI 5.0, section 11.2): connects to the launcher, maps the segment, builds the
//! progress engine and makes the predefined communicators.

use std::sync::{Arc, Mutex, OnceLock};

use towpath_base::config;
use towpath_base::control::RankState;
use towpath_base::ids::ContextId;
use towpath_base::sync::Ordering;
use towpath_collective::Selection;
use towpath_launch::client::{self, Launcher};
use towpath_machine::levels::MachineDescription;
use towpath_machine::{fork, limits};
use towpath_network::Jobs;
use towpath_neutral::constants::THREAD_MULTIPLE;
use towpath_neutral::error::Result;
use towpath_shm::{Heap, Segment};

use super::{engine, failed_start};
use crate::chapters::attributes;
use crate::objects::comm::Comm;
use crate::objects::group::Group;
use crate::objects::registry::{self, OBJECTS};
use crate::process::{self, Contexts, Phase, Process, ending, heap};
use crate::progress;
use crate::progress::worker::Worker;

/// Starts MPI, in the phase before MPI_Init.
pub(crate) fn start(thread_level: i32) -> Result<()> {
    if let Some(limit) = limits::short_stack() {
        return Err(failed_start(format!(
            "the stack of this process is limited to {limit} bytes (ulimit -s); MPI needs at least 131072"
        )));
    }
    start_with_stack(thread_level)
}

/// Starts the process. Not inlined: a short stack has no room for this frame.
#[inline(never)]
fn start_with_stack(thread_level: i32) -> Result<()> {
    let mut launcher = Some(client::connect().map_err(failed_start)?);
    let (process, worker) = build(thread_level, &mut launcher).inspect_err(|_| ending::keep(launcher.take()))?;
    let process = process::set(process)?;
    let worker = progress::set_worker(worker);
    make_predefined(process);
    if thread_level == THREAD_MULTIPLE {
        worker.share();
    }
    let page = process.segment.own_control();
    page.pid.store(std::process::id(), Ordering::Relaxed);
    page.set_state(RankState::Running);
    process.segment.head().attached.fetch_add(1, Ordering::AcqRel);
    process::set_phase(Phase::Running);
    fork::in_child(ending::leave_mpi_to_parent);
    heap::open(process);
    Ok(())
}

fn build(thread_level: i32, connected: &mut Option<Box<dyn Launcher>>) -> Result<(Process, Worker)> {
    let launcher = connected.as_mut().expect("the caller has connected");
    let job = launcher.job().clone();
    let mut jobs = Jobs::of(&job);
    let file = launcher.segment().map_err(failed_start)?;
    let segment = Segment::map(&file, job.local_ranks.len(), job.local_rank as usize).map_err(failed_start)?;
    drop(file);
    let several = job.hosts() > 1;
    if several {
        jobs.learn_topology(&mut **launcher).map_err(failed_start)?;
    }
    let far = several.then(|| towpath_network::reach_others(&mut **launcher, &job, &mut jobs, &segment));
    let far = far.transpose().map_err(failed_start)?;
    let losses = far.as_ref().map(towpath_network::Far::losses);
    let worker = engine::worker(&segment, &job, &jobs, far)?;
    let process = Process {
        heap: Mutex::new(Heap::new(segment.clone().with_heaps(config::number("TOWPATH_HEAP") != Some(0)))),
        thread_level,
        main_thread: std::thread::current().id(),
        selection: selection()?,
        machine: machine(&jobs)?,
        segment,
        quota: OnceLock::new(),
        losses,
        launcher: Mutex::new(connected.take().expect("the caller has connected")),
        contexts: Contexts::new(job.id.folded().wrapping_add(job.rank)),
        jobs,
        job,
    };
    Ok((process, worker))
}

fn selection() -> Result<Selection> {
    let name = "TOWPATH_COLLECTIVE";
    match config::setting(name) {
        Some(text) => Selection::parse(name, &text).map_err(failed_start),
        None => Ok(Selection::default()),
    }
}

fn machine(jobs: &Jobs) -> Result<Option<MachineDescription>> {
    let setting = config::setting("TOWPATH_MACHINE").map(|value| MachineDescription::of_setting(&value));
    Ok(setting.transpose().map_err(failed_start)?.or_else(|| jobs.levels().cloned()))
}

/// Makes MPI_COMM_WORLD, MPI_COMM_SELF and the attributes of MPI_COMM_WORLD.
fn make_predefined(process: &Process) {
    let (job, me) = (&process.job, process::me());
    let errhandler = OBJECTS.initial_errhandler.lock().unwrap().clone();
    let comm = |context, members, name: &str| {
        let comm = Comm::new(context, Arc::new(Group::new(members, me)), None, errhandler.clone());
        name.clone_into(&mut comm.settings().name);
        comm
    };
    registry::set_predefined(
        comm(ContextId::new(job.id.folded(), 0), process.jobs.own_peers(), "MPI_COMM_WORLD"),
        comm(ContextId::new(process.contexts.creator(), 1), vec![me], "MPI_COMM_SELF"),
    );
    attributes::set_predefined(job);
}
