//! Variables and functions that the MPICH ABI exports in addition to the MPI functions; programs
//! refer to them by address.

use std::ffi::{c_int, c_void};

use towpath_base::sync::AtomicPtr;

/// A pointer constant that programs read.
#[repr(transparent)]
pub struct Pointer(pub *const c_void);
// SAFETY: the pointer is never written, and its target is used only for its address.
unsafe impl Sync for Pointer {}

static UNWEIGHTED_MARK: c_int = 0;
static WEIGHTS_EMPTY_MARK: c_int = 1;
static ALL_HANDLES_MARK: c_int = 2;
static FORTRAN_STATUS_MARK: [c_int; 5] = [0; 5];
static FORTRAN_STATUSES_MARK: [c_int; 5] = [1; 5];
static F08_STATUS_MARK: [c_int; 5] = [2; 5];
static F08_STATUSES_MARK: [c_int; 5] = [3; 5];

macro_rules! pointers {
    ($($(#[$about:meta])* $name:ident = $mark:expr;)*) => {
        $(
            $(#[$about])*
            #[unsafe(no_mangle)]
            pub static $name: Pointer = Pointer((&raw const $mark).cast());
        )*
    };
}

pointers! {
    /// No edge weights (MPI 5.0, 8.5.4).
    MPI_UNWEIGHTED = UNWEIGHTED_MARK;
    /// Edge weights of a process without edges.
    MPI_WEIGHTS_EMPTY = WEIGHTS_EMPTY_MARK;
    /// All handles of a performance session (15.3.7).
    MPI_T_PVAR_ALL_HANDLES = ALL_HANDLES_MARK;
}

/// Addresses of Fortran constants. A library of Fortran bindings stores its own addresses here when
/// it is initialized.
macro_rules! variables {
    ($($(#[$about:meta])* $name:ident = $mark:expr;)*) => {
        $(
            $(#[$about])*
            #[unsafe(no_mangle)]
            pub static $name: AtomicPtr<c_void> = AtomicPtr::new((&raw const $mark).cast_mut().cast());
        )*
    };
}

variables! {
    /// Fortran's MPI_STATUS_IGNORE (19.3.5).
    MPI_F_STATUS_IGNORE = FORTRAN_STATUS_MARK;
    /// Fortran's MPI_STATUSES_IGNORE.
    MPI_F_STATUSES_IGNORE = FORTRAN_STATUSES_MARK;
    /// MPI_STATUS_IGNORE of the Fortran 2008 module.
    MPI_F08_STATUS_IGNORE = F08_STATUS_MARK;
    /// MPI_STATUSES_IGNORE of the Fortran 2008 module.
    MPI_F08_STATUSES_IGNORE = F08_STATUSES_MARK;
}

/// MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN and MPI_WIN_DUP_FN: copies the attribute unchanged.
///
/// # Safety
/// `attribute_out` and `flag` must point to writable variables.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    attribute_in: *mut c_void,
    attribute_out: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: `attribute_out` and `flag` are writable (this function's contract).
    unsafe {
        attribute_out.cast::<*mut c_void>().write(attribute_in);
        flag.write(1);
    }
    0
}
