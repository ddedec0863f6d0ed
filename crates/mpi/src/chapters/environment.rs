//! Startup, shutdown and environmental functions (MPI 5.0, chapters 9 and 11).

use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{LazyLock, Mutex};

use towpath_neutral::abi::Handle;
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};
use towpath_neutral::info::Pairs;

use super::{hardware, info};
use crate::process::{self, Phase, ending, heap};
use crate::startup::{finalize, init};

/// Blocks allocated by MPI_Alloc_mem from private memory, by address.
static ALLOCATED: LazyLock<Mutex<HashMap<usize, Layout>>> = LazyLock::new(Mutex::default);
/// Alignment of MPI_Alloc_mem in bytes: a cache line.
const ALIGNMENT: usize = 64;

/// Seconds since a fixed moment in the past, common to all processes of a host (MPI_Wtime).
#[inline]
pub fn wtime() -> f64 {
    towpath_machine::clock::seconds()
}

/// Resolution of [`wtime`] in seconds (MPI_Wtick).
pub fn wtick() -> f64 {
    1e-9
}

/// Starts MPI. A failure ends the process with its message, because no error handler exists yet
/// that could return it.
fn started(level: i32) -> Result<()> {
    if process::phase() == Phase::Child {
        return process::not_running();
    }
    if process::phase() != Phase::Before {
        fail!(ERR_OTHER, "MPI has already been initialized; MPI_Init may be called only once");
    }
    if let Err(error) = init::start(level) {
        ending::end_job(1, error.text());
    }
    Ok(())
}

/// MPI_Init.
///
/// # Safety
/// None needed: the pointers are not read.
pub unsafe fn init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Result<()> {
    started(THREAD_SINGLE)
}

/// MPI_Init_thread: provides the requested level.
///
/// # Safety
/// None needed: the pointers are not read.
pub unsafe fn init_thread(_argc: *mut c_int, _argv: *mut *mut *mut c_char, required: i32) -> Result<i32> {
    let level = required.clamp(THREAD_SINGLE, THREAD_MULTIPLE);
    started(level)?;
    Ok(level)
}

/// MPI_Finalize.
pub fn finalize() -> Result<()> {
    finalize::finish()
}

/// MPI_Initialized.
pub fn initialized() -> Result<bool> {
    Ok(process::phase() != Phase::Before)
}

/// MPI_Finalized.
pub fn finalized() -> Result<bool> {
    Ok(matches!(process::phase(), Phase::After | Phase::Ending))
}

/// MPI_Query_thread.
pub fn query_thread() -> Result<i32> {
    Ok(process::this()?.thread_level)
}

/// MPI_Is_thread_main.
pub fn is_thread_main() -> Result<bool> {
    Ok(process::this()?.main_thread == std::thread::current().id())
}

/// MPI_Abort: ends the whole job with this exit code, whatever the communicator.
pub fn abort(_comm: Handle, errorcode: i32) -> Result<()> {
    ending::end_job(errorcode, &format!("the program called MPI_Abort with code {errorcode}"))
}

/// MPI_Get_version.
pub fn get_version() -> Result<(i32, i32)> {
    Ok((VERSION, SUBVERSION))
}

/// MPI_Get_library_version.
pub fn get_library_version() -> Result<String> {
    Ok(format!("Towpath {} (MPI {VERSION}.{SUBVERSION})", env!("CARGO_PKG_VERSION")))
}

/// MPI_Get_processor_name.
pub fn get_processor_name() -> Result<String> {
    Ok(process::host_name())
}

/// MPI_Abi_get_info: sizes of the types that the ABI leaves open.
pub fn abi_get_info() -> Result<Handle> {
    let mut pairs = Pairs::default();
    for (key, value) in [("mpi_aint_size", "8"), ("mpi_count_size", "8"), ("mpi_offset_size", "8")] {
        pairs.set(key, value);
    }
    info::insert(pairs)
}

/// MPI_Get_hw_resource_info: the hardware that this process is restricted to.
pub fn get_hw_resource_info() -> Result<Handle> {
    info::insert(hardware::resources())
}

/// MPI_Alloc_mem: allocates memory aligned to a cache line; large blocks in memory that the peers
/// on this host can access.
pub fn alloc_mem(size: i64, info: Handle) -> Result<*mut c_void> {
    let hints = info::pairs(info)?;
    let Ok(size) = usize::try_from(size) else {
        fail!(ERR_ARG, "argument size is {size}; it must not be negative");
    };
    let wanted = hints.get("mpi_minimum_memory_alignment").and_then(|text| text.parse::<usize>().ok());
    let alignment = wanted.filter(|wanted| wanted.is_power_of_two()).unwrap_or(1).max(ALIGNMENT);
    if let Some(block) = heap::allocate(size, alignment) {
        return Ok(block.cast());
    }
    let none = || Error::new(ERR_NO_MEM, format!("the system cannot provide {size} bytes of memory"));
    let layout = Layout::from_size_align(size.max(1), alignment).map_err(|_| none())?;
    // SAFETY: the size of the layout is at least 1.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        return Err(none());
    }
    ALLOCATED.lock().unwrap().insert(memory as usize, layout);
    Ok(memory.cast())
}

/// MPI_Free_mem.
pub fn free_mem(base: *mut c_void) -> Result<()> {
    if base.is_null() {
        return Ok(());
    }
    if heap::free(base.cast()) {
        return Ok(());
    }
    match ALLOCATED.lock().unwrap().remove(&(base as usize)) {
        // SAFETY: `base` was allocated with this layout, and removing it from the table prevents a
        // second free.
        Some(layout) => unsafe { std::alloc::dealloc(base.cast(), layout) },
        None => {
            fail!(ERR_BASE, "argument base ({base:p}) was not returned by MPI_Alloc_mem, or has already been freed")
        }
    }
    Ok(())
}
