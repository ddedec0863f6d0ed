//! Ends the job after an error or MPI_Abort. One thread of a process does so.
//!
//! That thread runs the `atexit` handlers. Other threads that end the job meanwhile wait until the
//! process exits, so that the handlers run to completion. A handler that ends the job again ends
//! the process at once, because a handler must not call `exit`.

use std::sync::Mutex;

use towpath_base::control::RankState;
use towpath_base::sync::{AtomicUsize, Ordering};
use towpath_launch::client::Launcher;
use towpath_machine::{process, thread};

use super::{PROCESS, Phase, Process, phase, say, set_phase};

/// The launcher, if MPI_Init failed after connecting to it.
static UNSTARTED: Mutex<Option<Box<dyn Launcher>>> = Mutex::new(None);
/// The thread that ends the job, as identified by [`thread::current`]; 0 if none.
static ENDING: AtomicUsize = AtomicUsize::new(0);

/// Keeps the launcher of a failed start, so that the end of the job can be reported to it; it
/// prints the message once for all ranks.
pub(crate) fn keep(launcher: Option<Box<dyn Launcher>>) {
    *UNSTARTED.lock().unwrap() = launcher;
}

/// Makes the calling thread the one that ends the job; false if it already is. Does not return in
/// any other thread.
fn begin() -> bool {
    let me = thread::current();
    match ENDING.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(thread) if thread == me => false,
        Err(_) => loop {
            std::thread::park();
        },
    }
}

/// Runs in a forked child: every later call finds that MPI does not run in this process. A child
/// forked while the job is being ended has one thread only, which must end it.
pub(crate) extern "C" fn leave_mpi_to_parent() {
    match phase() {
        Phase::Running => set_phase(Phase::Child),
        Phase::Ending => ENDING.store(thread::current(), Ordering::Release),
        _ => {}
    }
}

/// Ends the job with an exit code and a message to the user.
pub(crate) fn end_job(code: i32, sentence: &str) -> ! {
    if !begin() {
        say(sentence);
        process::exit_without_handlers(code);
    }
    let running = phase() == Phase::Running;
    set_phase(Phase::Ending);
    match PROCESS.get().filter(|_| running) {
        Some(process) => tell_job(process, code, sentence),
        None => tell_launcher(code, sentence),
    }
    std::process::exit(code)
}

/// Tells the launcher and the ranks of this host that the job ends.
fn tell_job(process: &Process, code: i32, sentence: &str) {
    process.segment.own_control().set_state(RankState::Aborted);
    let said = format!("rank {} of {}: {sentence}", process.job.rank, process.job.size);
    let Ok(mut launcher) = process.launcher.try_lock() else { return process.segment.abort() };
    let told = launcher.abort(code, &said);
    process.segment.abort();
    match told {
        Ok(()) => launcher.await_end(),
        Err(error) => say(&format!("{said} ({error})")),
    }
}

/// Reports a failed start to the launcher; prints the message itself if there is none.
fn tell_launcher(code: i32, sentence: &str) {
    let unstarted = UNSTARTED.try_lock().ok().and_then(|mut launcher| launcher.take());
    let told = unstarted.is_some_and(|mut launcher| {
        let job = launcher.job();
        let said = format!("rank {} of {}: {sentence}", job.rank, job.size);
        launcher.abort(code, &said).map(|()| launcher.await_end()).is_ok()
    });
    if !told {
        say(sentence);
    }
}

/// Leaves a job that another rank has ended.
pub(crate) fn leave_aborted_job() -> ! {
    if !begin() {
        process::exit_without_handlers(1);
    }
    set_phase(Phase::Ending);
    if let Some(Ok(launcher)) = PROCESS.get().map(|process| process.launcher.try_lock()) {
        launcher.await_end();
    }
    std::process::exit(1)
}
