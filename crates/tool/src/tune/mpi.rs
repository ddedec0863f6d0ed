//! The few functions of MPI with which `towpath tune` measures, from the library that is installed
//! beside this program, in the standard ABI (MPI 5.0, chapter 20).

use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use towpath_machine::library::{loader_error, symbol};

/// A handle of the ABI.
type Handle = *mut c_void;

/// Numbers of the predefined handles MPI_COMM_WORLD and MPI_BYTE.
const COMM_WORLD: usize = 0x101;
const BYTE: usize = 0x247;
const SUCCESS: c_int = 0;

/// Longest message in bytes.
pub(super) const LONGEST: usize = 1 << 20;
/// Maximum number of messages that are under way in each direction.
const WINDOW: usize = 4;
const TAG: c_int = 0;

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_void) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;
type OfComm = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Start =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Waitall = unsafe extern "C" fn(c_int, *mut Handle, *mut c_void) -> c_int;

/// An MPI library that has been initialized. Errors in its functions end the job with a sentence,
/// as MPI_ERRORS_ARE_FATAL has it.
pub(super) struct Mpi {
    isend: Start,
    irecv: Start,
    waitall: Waitall,
    finalize: Finalize,
    /// Rank and number of ranks in MPI_COMM_WORLD.
    pub(super) rank: usize,
    pub(super) size: usize,
    out: Vec<u8>,
    arriving: Vec<u8>,
}

impl Mpi {
    /// Loads the library and initializes MPI. To be called once in a process.
    ///
    /// # Errors
    /// An error message for the user.
    pub(super) fn start(library: &Path) -> Result<Mpi, String> {
        let refused = |reason: String| format!("{} cannot be used: {reason}.", library.display());
        let name = CString::new(library.as_os_str().as_bytes())
            .map_err(|error| refused(error.to_string()))?;
        // SAFETY: `name` is NUL-terminated. `dlopen` runs the constructors of Towpath's library,
        // which have no side effects.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(refused(loader_error()));
        }
        let find = |name: &CStr| {
            // SAFETY: `handle` is an open library, which is never closed.
            unsafe { symbol(handle, name) }.map_err(refused)
        };
        let (init, finalize) = (find(c"MPI_Init")?, find(c"MPI_Finalize")?);
        let (rank, size) = (find(c"MPI_Comm_rank")?, find(c"MPI_Comm_size")?);
        let (isend, irecv) = (find(c"MPI_Isend")?, find(c"MPI_Irecv")?);
        let waitall = find(c"MPI_Waitall")?;
        // SAFETY: the functions of these names have these types in the standard ABI: its handles
        // are pointers, and a `const` buffer is passed as any other.
        let (init, rank, size, mut mpi) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Init>(init),
                std::mem::transmute::<*mut c_void, OfComm>(rank),
                std::mem::transmute::<*mut c_void, OfComm>(size),
                Mpi {
                    isend: std::mem::transmute::<*mut c_void, Start>(isend),
                    irecv: std::mem::transmute::<*mut c_void, Start>(irecv),
                    waitall: std::mem::transmute::<*mut c_void, Waitall>(waitall),
                    finalize: std::mem::transmute::<*mut c_void, Finalize>(finalize),
                    rank: 0,
                    size: 0,
                    out: vec![0; LONGEST],
                    arriving: vec![0; WINDOW * LONGEST],
                },
            )
        };
        // SAFETY: MPI_Init accepts NULL for both arguments, and this is its only call.
        if unsafe { init(ptr::null_mut(), ptr::null_mut()) } != SUCCESS {
            return Err(refused("MPI_Init failed".to_owned()));
        }
        let of_world = |function: OfComm| {
            let mut number: c_int = 0;
            // SAFETY: MPI is initialized, the handle is MPI_COMM_WORLD, and `number` is writable.
            unsafe { function(predefined(COMM_WORLD), &raw mut number) };
            usize::try_from(number).unwrap_or(0)
        };
        (mpi.rank, mpi.size) = (of_world(rank), of_world(size));
        Ok(mpi)
    }

    /// Sends `sends` messages of `bytes` bytes to a partner, and receives as many as `receives` of
    /// this length from it. Waits until all are complete.
    pub(super) fn pass(&mut self, partner: usize, bytes: usize, sends: usize, receives: usize) {
        assert!(bytes <= LONGEST && partner < self.size, "{bytes} bytes to rank {partner}");
        let (mut sends, mut receives) = (sends, receives);
        let (world, byte) = (predefined(COMM_WORLD), predefined(BYTE));
        let (count, to) = (bytes as c_int, partner as c_int);
        while sends + receives > 0 {
            let mut requests = [ptr::null_mut(); 2 * WINDOW];
            let (out, arriving) = (sends.min(WINDOW), receives.min(WINDOW));
            let (receiving, sending) = requests[..arriving + out].split_at_mut(arriving);
            for (request, place) in receiving.iter_mut().zip(self.arriving.chunks_mut(LONGEST)) {
                // SAFETY: each receive has a part of `arriving` of its own, of LONGEST bytes, which
                // nobody else touches until Waitall below; the request is writable.
                unsafe {
                    (self.irecv)(place.as_mut_ptr().cast(), count, byte, to, TAG, world, request);
                }
            }
            for request in sending {
                // SAFETY: `out` has LONGEST bytes, which stay unchanged until Waitall below;
                // several sends may read one buffer. The request is writable.
                unsafe {
                    let place = self.out.as_mut_ptr().cast();
                    (self.isend)(place, count, byte, to, TAG, world, request);
                }
            }
            // SAFETY: that many requests, the first ones, have been started above; NULL is
            // MPI_STATUSES_IGNORE.
            unsafe {
                (self.waitall)((arriving + out) as c_int, requests.as_mut_ptr(), ptr::null_mut());
            }
            (sends, receives) = (sends - out, receives - arriving);
        }
    }

    /// Sends numbers to a partner.
    pub(super) fn tell(&mut self, partner: usize, numbers: [u64; 3]) {
        for (place, number) in self.out.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        self.pass(partner, 24, 1, 0);
    }

    /// Receives what a partner has told.
    pub(super) fn hear(&mut self, partner: usize) -> [u64; 3] {
        self.pass(partner, 24, 0, 1);
        let number = |at: usize| {
            let bytes = self.arriving[8 * at..8 * at + 8].try_into();
            u64::from_ne_bytes(bytes.expect("8 bytes"))
        };
        [0, 1, 2].map(number)
    }

    /// Finalizes MPI.
    pub(super) fn finalize(self) {
        // SAFETY: MPI is initialized, no request is left, and `self` is gone afterwards.
        unsafe { (self.finalize)() };
    }
}

/// A predefined handle.
fn predefined(number: usize) -> Handle {
    ptr::without_provenance_mut(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_or_none_costs_a_sentence() {
        for name in ["/nowhere/libmpi_abi.so.1", "/dev/null"] {
            let said = Mpi::start(Path::new(name)).err().unwrap();
            assert!(said.starts_with(name) && said.ends_with('.'), "{said}");
        }
    }
}
