//! The MPI library of the process: where it is, and its functions.

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;

use towpath_machine::library::{loader_error, symbol};

use crate::abi::BinaryInterface;

/// Why MPI cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// No library is loaded, and none can be.
    #[error(
        "no MPI library is in this process and {name} cannot be loaded: {reason}; link the program \
         with an MPI library, or add its directory to LD_LIBRARY_PATH"
    )]
    Absent {
        /// What was tried.
        name: &'static str,
        /// What the dynamic linker says.
        reason: String,
    },
    /// It is too old.
    #[error("the MPI library has no function {0:?}; MPI 4.0 is needed")]
    Lacks(&'static CStr),
    /// One thread of a process calls MPI.
    #[error(
        "another thread of this process has run chares; one thread runs all jobs of a process, \
         because only one may call MPI"
    )]
    OtherThread,
    /// The process has finalized MPI.
    #[error(
        "MPI has been finalized; a program runs chares once, or initializes and finalizes MPI \
         itself"
    )]
    Finalized,
    /// A rank has sent something else than the others expect.
    #[error(
        "a message has arrived that this rank does not understand; do all ranks run the same program?"
    )]
    Unknown,
    /// No machine has memory for so many elements.
    #[error(
        "{count} elements of a datatype were to be sent, which are more bytes than there can be"
    )]
    TooMany {
        /// How many.
        count: usize,
    },
    /// Elements are not packed one behind the other.
    #[error("MPI_Pack_c has written {packed} bytes for elements that have {expected}")]
    Packed {
        /// Bytes of the elements.
        expected: i64,
        /// Bytes that were written.
        packed: i64,
    },
    /// A function has failed.
    #[error("{function} failed with code {code}")]
    Failed {
        /// Which one.
        function: &'static str,
        /// What it returned.
        code: i32,
    },
}

/// The library that is loaded if the process has none.
const STANDARD: &CStr = c"libmpi_abi.so.1";
/// The name by which programs for the ABI of MPICH are linked.
const MPICH: &CStr = c"libmpi.so.12";

/// Which interface the functions of the process have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LibraryAbi {
    Standard,
    Mpich,
}

/// A library that stays loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library(*mut c_void);

/// The library that the process has, or the standard one.
pub(crate) fn find() -> Result<(Library, LibraryAbi), LibraryError> {
    for (name, interface) in [(MPICH, LibraryAbi::Mpich), (STANDARD, LibraryAbi::Standard)] {
        if let Some(library) = open(name, libc::RTLD_NOW | libc::RTLD_NOLOAD) {
            return Ok((library, interface));
        }
    }
    // Libraries of the program that are loaded later may look for functions of MPI.
    let library = open(STANDARD, libc::RTLD_NOW | libc::RTLD_GLOBAL);
    let absent = || LibraryError::Absent { name: "libmpi_abi.so.1", reason: loader_error() };
    Ok((library.ok_or_else(absent)?, LibraryAbi::Standard))
}

fn open(name: &CStr, flags: c_int) -> Option<Library> {
    // SAFETY: the name is a C string. The constructors of an MPI library may run at any time.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    (!handle.is_null()).then_some(Library(handle))
}

type Pointer = *const c_void;
type Memory = *mut c_void;

macro_rules! functions {
    ($($field:ident $name:literal ($($parameter:ty),*);)*) => {
        /// The functions of MPI that the layer calls.
        pub(crate) struct Functions<A: BinaryInterface> {
            $(pub(crate) $field: unsafe extern "C" fn($($parameter),*) -> c_int,)*
            pub(crate) abi: PhantomData<A>,
        }

        impl<A: BinaryInterface> Functions<A> {
            /// The functions of a library that has this interface.
            pub(crate) fn of(library: Library) -> Result<Functions<A>, LibraryError> {
                $(
                    // SAFETY: the library is open, and never closed.
                    let found = unsafe { symbol(library.0, $name) };
                    let found = found.map_err(|_| LibraryError::Lacks($name))?;
                    // SAFETY: the standard's function of this name has these parameters, whose
                    // handles and statuses are those of the interface that the library has.
                    let $field = unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($parameter),*) -> c_int,
                        >(found)
                    };
                )*
                Ok(Functions { $($field,)* abi: PhantomData })
            }
        }
    };
}

functions! {
    initialized c"MPI_Initialized" (*mut c_int);
    init_thread c"MPI_Init_thread" (Memory, Memory, c_int, *mut c_int);
    finalize c"MPI_Finalize" ();
    finalized c"MPI_Finalized" (*mut c_int);
    comm_dup c"MPI_Comm_dup" (A::Handle, *mut A::Handle);
    comm_free c"MPI_Comm_free" (*mut A::Handle);
    comm_rank c"MPI_Comm_rank" (A::Handle, *mut c_int);
    comm_size c"MPI_Comm_size" (A::Handle, *mut c_int);
    recv_init c"MPI_Recv_init" (
        Memory, c_int, A::Handle, c_int, c_int, A::Handle, *mut A::Handle
    );
    start c"MPI_Start" (*mut A::Handle);
    isend c"MPI_Isend" (Pointer, c_int, A::Handle, c_int, c_int, A::Handle, *mut A::Handle);
    isend_c c"MPI_Isend_c" (Pointer, i64, A::Handle, c_int, c_int, A::Handle, *mut A::Handle);
    irecv_c c"MPI_Irecv_c" (Memory, i64, A::Handle, c_int, c_int, A::Handle, *mut A::Handle);
    test c"MPI_Test" (*mut A::Handle, *mut c_int, *mut A::Status);
    wait c"MPI_Wait" (*mut A::Handle, *mut A::Status);
    waitany c"MPI_Waitany" (c_int, *mut A::Handle, *mut c_int, *mut A::Status);
    testany c"MPI_Testany" (c_int, *mut A::Handle, *mut c_int, *mut c_int, *mut A::Status);
    cancel c"MPI_Cancel" (*mut A::Handle);
    request_free c"MPI_Request_free" (*mut A::Handle);
    get_count c"MPI_Get_count" (*const A::Status, A::Handle, *mut c_int);
    ibarrier c"MPI_Ibarrier" (A::Handle, *mut A::Handle);
    alloc_mem c"MPI_Alloc_mem" (isize, A::Handle, Memory);
    free_mem c"MPI_Free_mem" (Memory);
    allgather c"MPI_Allgather" (Pointer, c_int, A::Handle, Memory, c_int, A::Handle, A::Handle);
    type_size_c c"MPI_Type_size_c" (A::Handle, *mut i64);
    pack_c c"MPI_Pack_c" (Pointer, i64, A::Handle, Memory, i64, *mut i64, A::Handle);
    abort c"MPI_Abort" (A::Handle, c_int);
}
