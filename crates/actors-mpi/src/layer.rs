//! Sends and receives.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr;

use towpath_actors::message::{HEADER_BYTES, MessageHandle};
use towpath_actors::{ActorMessage, MachineLayer};

use crate::abi::{BinaryInterface, Mpich, Standard};
use crate::library::{Functions, LibraryAbi, LibraryError, find};
use crate::slots::{ANNOUNCEMENT, Arrived, MESSAGE, SLOT_BYTES, Slots, succeeded};

/// A layer over the MPI library of the process, which it initializes if nobody has. All ranks of
/// `MPI_COMM_WORLD` call this.
///
/// # Errors
/// There is no MPI library, or it has failed.
pub fn open() -> Result<Box<dyn MachineLayer>, LibraryError> {
    let (library, interface) = find()?;
    Ok(match interface {
        LibraryAbi::Standard => Box::new(MpiLayer::<Standard>::open(Functions::of(library)?)?),
        LibraryAbi::Mpich => Box::new(MpiLayer::<Mpich>::open(Functions::of(library)?)?),
    })
}

struct MpiLayer<A: BinaryInterface> {
    mpi: Functions<A>,
    has_initialized: bool,
    rank: u32,
    ranks: u32,
    /// For messages that fit into slots, and for longer ones.
    comm: A::Handle,
    long: A::Handle,
    slots: Slots<A>,
    /// Messages that are being sent, with what keeps their memory.
    sends: VecDeque<(A::Handle, SendMemory)>,
    /// Long messages that are being received.
    receives: VecDeque<(u32, A::Handle, ActorMessage)>,
    /// What `wait` has taken from the slots.
    waited: Option<(u32, ActorMessage)>,
}

/// What is being sent.
enum SendMemory {
    Message(MessageHandle),
    Announcement(Box<[u8; 8]>),
}

impl SendMemory {
    fn bytes(&self) -> &[u8] {
        match self {
            SendMemory::Message(message) => message.bytes(),
            SendMemory::Announcement(bytes) => &bytes[..],
        }
    }
}

impl<A: BinaryInterface> MpiLayer<A> {
    fn open(mpi: Functions<A>) -> Result<MpiLayer<A>, LibraryError> {
        let has_initialized = initialize(&mpi)?;
        let (mut comm, mut long) = (A::COMM_WORLD, A::COMM_WORLD);
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI is initialized, and all results are local.
        let codes = unsafe {
            [
                ("MPI_Comm_dup", (mpi.comm_dup)(A::COMM_WORLD, &mut comm)),
                ("MPI_Comm_dup", (mpi.comm_dup)(A::COMM_WORLD, &mut long)),
                ("MPI_Comm_rank", (mpi.comm_rank)(A::COMM_WORLD, &mut rank)),
                ("MPI_Comm_size", (mpi.comm_size)(A::COMM_WORLD, &mut ranks)),
            ]
        };
        for (function, code) in codes {
            succeeded(function, code)?;
        }
        let slots = Slots::new(&mpi, comm)?;
        Ok(MpiLayer {
            mpi,
            has_initialized,
            rank: rank.cast_unsigned(),
            ranks: ranks.cast_unsigned(),
            comm,
            long,
            slots,
            sends: VecDeque::new(),
            receives: VecDeque::new(),
            waited: None,
        })
    }

    /// Starts to send, and keeps the memory beside the request.
    fn isend(
        &mut self,
        memory: SendMemory,
        to: u32,
        tag: c_int,
        comm: A::Handle,
    ) -> Result<(), LibraryError> {
        let (bytes, to) = (memory.bytes(), to.cast_signed());
        let (from, mut request) = (bytes.as_ptr().cast(), A::REQUEST_NULL);
        // SAFETY: the bytes are on the heap, and `sends` keeps them until the request is complete,
        // or for ever: see `drop`.
        let code = unsafe {
            if bytes.len() <= SLOT_BYTES {
                let count = bytes.len() as c_int;
                (self.mpi.isend)(from, count, A::BYTE, to, tag, comm, &mut request)
            } else {
                let count = bytes.len() as i64;
                (self.mpi.isend_c)(from, count, A::BYTE, to, tag, comm, &mut request)
            }
        };
        self.sends.push_back((request, memory));
        succeeded("MPI_Isend", code)
    }

    fn start_send(&mut self, to: u32, message: MessageHandle) -> Result<(), LibraryError> {
        let bytes = message.bytes().len();
        let mut comm = self.comm;
        if bytes > SLOT_BYTES {
            let announced = Box::new((bytes as u64).to_ne_bytes());
            self.isend(SendMemory::Announcement(announced), to, ANNOUNCEMENT, comm)?;
            comm = self.long;
        }
        self.isend(SendMemory::Message(message), to, MESSAGE, comm)
    }

    /// Drops what has been sent, up to the first that has not.
    #[inline]
    fn poll_sends(&mut self) -> Result<(), LibraryError> {
        while let Some((request, _)) = self.sends.front_mut() {
            if !is_complete(&self.mpi, request)? {
                return Ok(());
            }
            self.sends.pop_front();
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        if let Some(waited) = self.waited.take() {
            return Ok(Some(waited));
        }
        self.poll_sends()?;
        if let Some((_, request, _)) = self.receives.front_mut()
            && is_complete(&self.mpi, request)?
        {
            return Ok(self.receives.pop_front().map(|(from, _, message)| (from, message)));
        }
        match self.slots.poll(&self.mpi)? {
            None => Ok(None),
            Some(Arrived::Message(from, message)) => Ok(Some((from, message))),
            Some(Arrived::Announced(from, bytes)) => {
                self.receive_long(from, bytes)?;
                Ok(None)
            }
        }
    }

    /// Receives a message that was announced.
    fn receive_long(&mut self, from: u32, bytes: usize) -> Result<(), LibraryError> {
        let mut message = ActorMessage::with_bytes(bytes.max(HEADER_BYTES));
        let (to, source) = (message.bytes_mut().as_mut_ptr().cast(), from.cast_signed());
        let mut request = A::REQUEST_NULL;
        // SAFETY: the message has so many bytes on the heap, and `receives` keeps it until the
        // request is complete, or for ever: see `drop`.
        let code = unsafe {
            let count = bytes as i64;
            (self.mpi.irecv_c)(to, count, A::BYTE, source, MESSAGE, self.long, &mut request)
        };
        self.receives.push_back((from, request, message));
        succeeded("MPI_Irecv", code)
    }

    /// Waits until something has arrived or has been sent, or a barrier, which may be none, is
    /// complete. Whether it is.
    fn wait_for_any(&mut self, barrier: &mut A::Handle) -> Result<bool, LibraryError> {
        if self.waited.is_some() {
            return Ok(false);
        }
        let none = A::REQUEST_NULL;
        let receive = self.receives.front().map_or(none, |(_, request, _)| *request);
        let send = self.sends.front().map_or(none, |(request, _)| *request);
        let mut requests = [self.slots.next_request(), receive, send, *barrier];
        let count = requests.len() as c_int;
        let (mut which, mut status) = (0, A::EMPTY);
        // SAFETY: all of these are active or null; the results are local.
        let code =
            unsafe { (self.mpi.waitany)(count, requests.as_mut_ptr(), &mut which, &mut status) };
        succeeded("MPI_Waitany", code)?;
        match which {
            0 => match self.slots.take(&self.mpi, &status)? {
                Arrived::Message(from, message) => self.waited = Some((from, message)),
                Arrived::Announced(from, bytes) => self.receive_long(from, bytes)?,
            },
            1 => self.waited = self.receives.pop_front().map(|(from, _, message)| (from, message)),
            2 => {
                self.sends.pop_front();
            }
            _ => return Ok(true),
        }
        Ok(false)
    }

    /// Takes and drops what arrives until all ranks have sent what they had.
    fn drain(&mut self) -> Result<(), LibraryError> {
        let mut barrier = A::REQUEST_NULL;
        while !self.sends.is_empty() {
            self.waited = None;
            self.wait_for_any(&mut barrier)?;
        }
        // SAFETY: the communicator is this layer's own, and all ranks call this.
        let code = unsafe { (self.mpi.ibarrier)(self.long, &mut barrier) };
        succeeded("MPI_Ibarrier", code)?;
        while !self.wait_for_any(&mut barrier)? {
            self.waited = None;
        }
        // What was announced has been sent.
        while let Some((_, request, _)) = self.receives.front_mut() {
            let mut status = A::EMPTY;
            // SAFETY: the request is active, and the status is local.
            succeeded("MPI_Wait", unsafe { (self.mpi.wait)(request, &mut status) })?;
            self.receives.pop_front();
        }
        Ok(())
    }

    /// Ends all communication, and MPI if this layer has initialized it.
    fn end(&mut self) -> Result<(), LibraryError> {
        self.drain()?;
        self.slots.close(&self.mpi)?;
        // SAFETY: both communicators are this layer's own, and nothing is under way on them.
        let codes = unsafe {
            [
                ("MPI_Comm_free", (self.mpi.comm_free)(&mut self.comm)),
                ("MPI_Comm_free", (self.mpi.comm_free)(&mut self.long)),
            ]
        };
        for (function, code) in codes {
            succeeded(function, code)?;
        }
        if self.has_initialized {
            // SAFETY: nobody else has initialized MPI, so nobody else uses it now.
            succeeded("MPI_Finalize", unsafe { (self.mpi.finalize)() })?;
        }
        Ok(())
    }

    /// Ends the job: nothing can be sent after MPI has failed.
    fn or_abort<T>(&mut self, result: Result<T, LibraryError>) -> T {
        result.unwrap_or_else(|error| {
            eprintln!("towpath: rank {}: {error}", self.rank);
            // SAFETY: MPI is initialized.
            unsafe { (self.mpi.abort)(A::COMM_WORLD, 1) };
            std::process::abort()
        })
    }
}

impl<A: BinaryInterface> MachineLayer for MpiLayer<A> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn ordered_bytes(&self) -> usize {
        SLOT_BYTES
    }

    fn send(&mut self, to: u32, message: MessageHandle) {
        let started = self.start_send(to, message);
        self.or_abort(started);
    }

    fn receive(&mut self) -> Option<(u32, ActorMessage)> {
        let polled = self.poll();
        self.or_abort(polled)
    }

    fn wait(&mut self) {
        let mut none = A::REQUEST_NULL;
        let waited = self.wait_for_any(&mut none);
        self.or_abort(waited);
    }

    fn close(&mut self) {
        let ended = self.end();
        self.or_abort(ended);
    }
}

impl<A: BinaryInterface> Drop for MpiLayer<A> {
    /// MPI may still use the memory of what was not complete.
    fn drop(&mut self) {
        std::mem::forget(std::mem::take(&mut self.sends));
        std::mem::forget(std::mem::take(&mut self.receives));
    }
}

/// Initializes MPI if nobody has. Whether it has.
fn initialize<A: BinaryInterface>(mpi: &Functions<A>) -> Result<bool, LibraryError> {
    let mut is_initialized = 0;
    // SAFETY: may be called at any time.
    succeeded("MPI_Initialized", unsafe { (mpi.initialized)(&mut is_initialized) })?;
    if is_initialized != 0 {
        return Ok(false);
    }
    let (none, mut provided) = (ptr::null_mut(), 0);
    // SAFETY: null is allowed for both pointers, and MPI has not been initialized.
    let code = unsafe { (mpi.init_thread)(none, none, A::THREAD_FUNNELED, &mut provided) };
    succeeded("MPI_Init_thread", code)?;
    Ok(true)
}

fn is_complete<A: BinaryInterface>(
    mpi: &Functions<A>,
    request: &mut A::Handle,
) -> Result<bool, LibraryError> {
    let (mut flag, mut status) = (0, A::EMPTY);
    // SAFETY: the request is active or null, and flag and status are local.
    let code = unsafe { (mpi.test)(request, &mut flag, &mut status) };
    succeeded("MPI_Test", code)?;
    Ok(flag != 0)
}
