//! The start, the run and the end of a job.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use towpath_actors::ActorError;

use crate::balancing;
use crate::current::{CurrentJob, JOB, PLACE, is_used, with_job, with_runtime};
use crate::failure::{outcome, status};
use crate::messages::bytes;
use crate::program::Program;
use crate::registry;
use crate::types::CProgram;
use crate::writer;

/// With the end of a C string.
const VERSION: &str = concat!("Towpath ", env!("CARGO_PKG_VERSION"), "\0");

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Opens the MPI library and numbers what the program has.
///
/// # Safety
/// The structure is as the header says, and so are those that were registered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_start(program: *const CProgram) -> c_int {
    // SAFETY: the caller has it.
    status(start(unsafe { *program }))
}

fn start(functions: CProgram) -> Result<(), String> {
    if PLACE.get().is_some() {
        return Err("towpath_start was called twice; one job runs at a time".into());
    }
    let balancing = balancing::options()?;
    let parts = registry::number()?;
    let fingerprint = parts.fingerprint;
    writer::install();
    let program = Box::new(Program::new(functions, parts));
    let runtime = towpath_actors_mpi::start(program).map_err(|error| error.to_string())?;
    let runtime = runtime.with_balancer(balancing);
    if runtime.rank() != 0 {
        runtime.hold();
    }
    PLACE.set(Some((runtime.rank(), runtime.ranks())));
    let job = CurrentJob { runtime, fingerprint, is_used: Cell::new(false) };
    JOB.set(Box::into_raw(Box::new(job)));
    Ok(())
}

/// This rank; 0 outside of a job.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_rank() -> u32 {
    PLACE.get().map_or(0, |(rank, _)| rank)
}

/// How many ranks there are; 1 outside of a job.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_ranks() -> u32 {
    PLACE.get().map_or(1, |(_, ranks)| ranks)
}

/// On rank 0: lets the other ranks begin.
///
/// # Safety
/// There are so many bytes at `read_only`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_begin(read_only: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller says so.
    let data = unsafe { bytes(read_only, length) };
    status(with_job(|job| {
        if job.runtime.rank() != 0 {
            return Err("towpath_begin is for rank 0; other ranks begin when it has".into());
        }
        match outcome() {
            Ok(()) => job.runtime.begin(job.fingerprint, data.to_vec()),
            // Ranks that have not begun are told to end too.
            Err(reason) => job.runtime.fail(ActorError::Main { reason }),
        }
        Ok(())
    }))
}

/// Runs the scheduler until the job ends.
///
/// # Safety
/// There is memory for the code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_run(code: *mut c_int) -> c_int {
    let result = if is_used() {
        Err("towpath_run was called by a method of a chare".into())
    } else {
        with_runtime(|runtime| runtime.run().map_err(|error| error.to_string()))
    };
    // SAFETY: the caller has memory for it.
    unsafe { code.write(*result.as_ref().unwrap_or(&1)) };
    status(result.map(|_| ()))
}

/// Ends all communication.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_stop() {
    if is_used() {
        return;
    }
    let job = JOB.replace(ptr::null_mut());
    if !job.is_null() {
        // SAFETY: `towpath_start` has made it by `Box::into_raw`, and nothing uses it: `is_used`
        // says so, and JOB was the only pointer to it.
        let job = unsafe { Box::from_raw(job) };
        towpath_actors_mpi::stop(&job.runtime);
        PLACE.set(None);
    }
}

/// Sends all messages at once.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_flush() {
    status(with_runtime(|runtime| {
        runtime.flush();
        Ok(())
    }));
}

/// Ends the job on all ranks with this code.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_exit(code: c_int) {
    status(with_runtime(|runtime| {
        runtime.exit(code);
        Ok(())
    }));
}
