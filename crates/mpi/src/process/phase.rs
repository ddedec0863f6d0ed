//! The phase of this process in the life of MPI, its control page, and the ABI through which the
//! program calls.

use towpath_base::calls::NAMES;
use towpath_base::control::ControlPage;
use towpath_base::sync::{AtomicPtr, AtomicU32, Ordering};
use towpath_neutral::abi::AbiTable;
use towpath_neutral::error::{Error, Result, fail};

use super::PROCESS;

/// Phase of the process in the life of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Phase {
    /// Before MPI_Init.
    Before = 0,
    /// MPI may be called.
    Running = 1,
    /// After MPI_Finalize.
    After = 2,
    /// In a child forked while MPI runs: the channels belong to its parent.
    Child = 3,
    /// The job is being ended: `atexit` handlers run.
    Ending = 4,
}

static PHASE: AtomicU32 = AtomicU32::new(0);
static ABI: SharedReference<AbiTable> = SharedReference::none();
/// This process's control page while MPI runs. Every MPI function checks it first and publishes its
/// number there.
static PAGE: SharedReference<ControlPage> = SharedReference::none();

/// A reference that all threads see, or none.
///
/// Invariant: the pointer is NULL or was made from a `&'static T`.
struct SharedReference<T: 'static>(AtomicPtr<T>);

impl<T: Sync> SharedReference<T> {
    const fn none() -> SharedReference<T> {
        SharedReference(AtomicPtr::new(std::ptr::null_mut()))
    }

    #[inline(always)]
    fn get(&self) -> Option<&'static T> {
        // SAFETY: the pointer is NULL or was made from a `&'static T` (invariant). Acquire pairs
        // with the Release of `set`: what its thread wrote before is visible through the reference.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    #[inline(always)]
    fn set(&self, value: Option<&'static T>) {
        let pointer = value.map_or(std::ptr::null_mut(), |value| std::ptr::from_ref(value).cast_mut());
        self.0.store(pointer, Ordering::Release);
    }
}

/// The current phase.
pub(crate) fn phase() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Before,
        1 => Phase::Running,
        2 => Phase::After,
        3 => Phase::Child,
        _ => Phase::Ending,
    }
}

pub(crate) fn set_phase(phase: Phase) {
    let process = PROCESS.get().filter(|_| phase == Phase::Running);
    PAGE.set(process.map(|process| process.segment.own_control()));
    PHASE.store(phase as u32, Ordering::Release);
}

/// Checks that MPI may be called, and publishes the function that the process is in. The page must
/// be passed to [`leave`].
#[inline]
pub(crate) fn enter(call: u16) -> Result<&'static ControlPage> {
    match PAGE.get() {
        Some(page) => {
            page.last_call.store(u32::from(call), Ordering::Relaxed);
            page.in_call.store(1, Ordering::Relaxed);
            Ok(page)
        }
        None => not_running(),
    }
}

/// This process's control page while MPI runs.
pub(crate) fn page() -> Option<&'static ControlPage> {
    PAGE.get()
}

/// The error that explains why MPI cannot be called now.
#[cold]
pub(crate) fn not_running<T>() -> Result<T> {
    match phase() {
        Phase::Before => fail!(ERR_OTHER, "MPI is not initialized; call MPI_Init first"),
        Phase::Child => fail!(
            ERR_OTHER,
            "this process is a child that was forked after MPI_Init and cannot use MPI; let its parent call MPI, or exec a program"
        ),
        Phase::Ending => {
            fail!(ERR_OTHER, "the job is being ended; a handler that runs in the meantime cannot use MPI")
        }
        _ => fail!(ERR_OTHER, "MPI is finalized; this function cannot be called after MPI_Finalize"),
    }
}

/// The result of a call that [`enter`] has rejected. MPI_Finalize succeeds and does nothing if an
/// `atexit` handler calls it: in a forked child, which inherits the handlers of its parent, and
/// while the job ends.
#[cold]
pub(crate) fn refused(call: u16, error: Error) -> Result<()> {
    let finalizes = NAMES.get(usize::from(call)) == Some(&"MPI_Finalize");
    if finalizes && matches!(phase(), Phase::Child | Phase::Ending) { Ok(()) } else { Err(error) }
}

/// Publishes that the process has left MPI.
#[inline]
pub(crate) fn leave(page: &ControlPage) {
    page.in_call.store(0, Ordering::Relaxed);
}

/// Stores the ABI through which the program calls.
#[inline]
pub(crate) fn set_abi(abi: &'static AbiTable) {
    ABI.set(Some(abi));
}

/// The ABI through which the program calls; `None` before its first call.
pub(crate) fn abi() -> Option<&'static AbiTable> {
    ABI.get()
}
