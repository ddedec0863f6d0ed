//! The layer: what it has, and how it begins and ends. [`crate::sending`], [`crate::receiving`] and
//! [`crate::waiting`] have the rest.

use std::collections::VecDeque;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use towpath_actors::arrays::{PooledArray, UnreceivedArray};
use towpath_actors::layer::SHORTEST_SENT;
use towpath_actors::message::MessageHandle;
use towpath_actors::{ActorMessage, ArrayMemory, MachineLayer, MessageArray, WritableArray};
use towpath_machine::clock;

use crate::abi::{BinaryInterface, Mpich, Standard};
use crate::announced::{AnnouncedArray, UnwantedArrays};
use crate::arrays::ReleasedArrays;
use crate::batch::MessageBatch;
use crate::caller::check_caller;
use crate::library::{Functions, LibraryAbi, LibraryError, find};
use crate::requests::{LongReceive, SendMemory};
use crate::shared::{SHORTEST_SHARED, SharedHeap, SharedMemory};
use crate::slots::{SLOT_BYTES, Slots, succeeded};
use crate::watch::RequestWatch;

/// A layer over the MPI library of the process, which it initializes if nobody has. All ranks of
/// `MPI_COMM_WORLD` call this, always on the same thread.
///
/// # Errors
/// There is no MPI library, it has failed or has been finalized, or another thread of the process
/// has called this before.
pub fn open() -> Result<Box<dyn MachineLayer>, LibraryError> {
    open_watched(|_, _| None)
}

/// The same with what this rank of so many watches, if it does.
pub(crate) fn open_watched(
    watch: impl FnOnce(u32, u32) -> Option<RequestWatch>,
) -> Result<Box<dyn MachineLayer>, LibraryError> {
    check_caller()?;
    let (library, interface) = find()?;
    Ok(match interface {
        LibraryAbi::Standard => {
            let mut layer = MpiLayer::<Standard>::open(Functions::of(library)?)?;
            layer.watch = watch(layer.rank, layer.ranks);
            Box::new(layer)
        }
        LibraryAbi::Mpich => {
            let mut layer = MpiLayer::<Mpich>::open(Functions::of(library)?)?;
            layer.watch = watch(layer.rank, layer.ranks);
            Box::new(layer)
        }
    })
}

pub(crate) struct MpiLayer<A: BinaryInterface> {
    pub(crate) mpi: Functions<A>,
    pub(crate) has_initialized: bool,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// For messages that fit into slots, and for longer ones and arrays.
    pub(crate) comm: A::Handle,
    pub(crate) long: A::Handle,
    pub(crate) slots: Slots<A>,
    /// Messages that are being sent, with what keeps their memory.
    pub(crate) sends: VecDeque<(A::Handle, SendMemory)>,
    /// The same of posted arrays, which wait until the program of the receiver says where they are
    /// to be.
    pub(crate) posted_sends: Vec<(A::Handle, SendMemory)>,
    /// Long messages, and arrays, that are being received.
    pub(crate) receives: VecDeque<LongReceive<A>>,
    /// Messages to ranks that shall be sent together.
    pub(crate) batches: FxHashMap<u32, MessageBatch>,
    /// Messages that have arrived and are not handled.
    pub(crate) arrived: VecDeque<(u32, ActorMessage)>,
    pub(crate) shared: Option<Rc<SharedMemory>>,
    pub(crate) heap: Rc<SharedHeap>,
    /// Arrays of this rank that others read where they are, by name.
    pub(crate) lent: FxHashMap<u64, MessageArray>,
    pub(crate) released: ReleasedArrays,
    /// Requests that a function of MPI is given together.
    pub(crate) requests: Vec<A::Handle>,
    /// Arrays that arrive where the program says, and those that their messages have no more.
    pub(crate) unreceived: FxHashMap<UnreceivedArray, AnnouncedArray>,
    pub(crate) unwanted: UnwantedArrays,
    /// Those that had to be received before the program has said where they are to be.
    pub(crate) early: FxHashMap<UnreceivedArray, PooledArray>,
    /// How many there have been.
    pub(crate) announcements: u64,
    /// Whether the job has ended, so that nothing is sent any more.
    pub(crate) is_ending: bool,
    /// How many arrays have been sent or lent: their tags and names.
    pub(crate) arrays: u64,
    /// Bytes sent or lent to others.
    pub(crate) sent_bytes: u64,
    /// What rank 0 looks at when nothing has arrived.
    pub(crate) watch: Option<RequestWatch>,
}

impl<A: BinaryInterface> MpiLayer<A> {
    pub(crate) fn open(mpi: Functions<A>) -> Result<MpiLayer<A>, LibraryError> {
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
        let shared = SharedMemory::open(&mpi, long, ranks.cast_unsigned())?.map(Rc::new);
        let slots = Slots::new(&mpi, comm)?;
        Ok(MpiLayer {
            heap: SharedHeap::new(&mpi),
            mpi,
            has_initialized,
            rank: rank.cast_unsigned(),
            ranks: ranks.cast_unsigned(),
            comm,
            long,
            slots,
            sends: VecDeque::new(),
            posted_sends: Vec::new(),
            receives: VecDeque::new(),
            batches: FxHashMap::default(),
            arrived: VecDeque::new(),
            shared,
            lent: FxHashMap::default(),
            released: ReleasedArrays::default(),
            requests: Vec::new(),
            unreceived: FxHashMap::default(),
            early: FxHashMap::default(),
            unwanted: UnwantedArrays::default(),
            announcements: 0,
            is_ending: false,
            arrays: 0,
            sent_bytes: 0,
            watch: None,
        })
    }

    /// Takes and drops what arrives until all ranks have sent what they had. Then does so again:
    /// owners of arrays are told that nobody reads what was dropped.
    fn drain(&mut self) -> Result<(), LibraryError> {
        self.is_ending = true;
        self.receive_all_unwanted()?;
        self.drain_once(false)?;
        self.drain_once(true)?;
        while let Some(receive) = self.receives.front_mut() {
            for request in &mut receive.requests {
                let mut status = A::EMPTY;
                // SAFETY: the request is active, and the status is local. What it receives was
                // announced, so it has been sent.
                succeeded("MPI_Wait", unsafe { (self.mpi.wait)(request, &mut status) })?;
            }
            receive.requests.clear();
            self.received()?;
        }
        Ok(())
    }

    /// Takes and drops what arrives until no rank has anything left to send. After the last time,
    /// nobody receives anything.
    fn drain_once(&mut self, is_last: bool) -> Result<(), LibraryError> {
        let mut barrier = A::REQUEST_NULL;
        self.send_rest()?;
        while !(self.sends.is_empty() && self.posted_sends.is_empty()) {
            self.wait_for_any(&mut barrier)?;
            self.arrived.clear();
            self.send_rest()?;
        }
        // SAFETY: the communicator is this layer's own, and all ranks call this.
        let code = unsafe { (self.mpi.ibarrier)(self.long, &mut barrier) };
        succeeded("MPI_Ibarrier", code)?;
        loop {
            self.arrived.clear();
            if is_last {
                self.released.borrow_mut().clear();
            }
            if self.wait_for_any(&mut barrier)? {
                return Ok(());
            }
        }
    }

    /// Ends all communication, and MPI if this layer has initialized it.
    fn end(&mut self) -> Result<(), LibraryError> {
        self.drain()?;
        // All ranks have stopped reading, but for what was given to them: blocks that are in use
        // when the heap closes are left to MPI.
        self.heap.close();
        self.lent.clear();
        self.slots.close(&self.mpi)?;
        // SAFETY: both communicators are this layer's own, and this rank has no requests on them.
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
            // SAFETY: MPI is initialized, unless MPI_Finalize has failed; this process aborts
            // anyway.
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

    fn array(&mut self, bytes: usize) -> Box<dyn WritableArray> {
        match self.shared_block(bytes) {
            Some(block) => Box::new(block),
            None => Box::new(PooledArray::new(bytes)),
        }
    }

    fn shortest_array(&self) -> usize {
        match &self.shared {
            Some(shared) if shared.has_all() && !self.heap.is_crowded() => SHORTEST_SHARED,
            _ => SHORTEST_SENT,
        }
    }

    fn flush(&mut self) {
        let sent = self.send_rest();
        self.or_abort(sent);
    }

    fn receive_arrays(
        &mut self,
        arrays: Vec<(UnreceivedArray, Box<dyn WritableArray>)>,
        then: ActorMessage,
    ) {
        let started = self.fill(arrays, then);
        self.or_abort(started);
    }

    fn copy(&mut self, array: &dyn ArrayMemory, memory: &mut dyn WritableArray) {
        let copied = self.copy_array(array, memory);
        self.or_abort(copied);
    }

    fn shared_place(&self, memory: &[u8]) -> Option<u64> {
        self.shared.as_ref()?.offset_of(memory)
    }

    fn put(&mut self, to: u32, place: u64, content: &[u8]) -> bool {
        let shared = self.shared.as_deref().filter(|shared| shared.has(to));
        let Some(at) = shared.and_then(|shared| shared.given_at(place, content.len() as u64))
        else {
            return false;
        };
        self.sent_bytes += content.len() as u64;
        // SAFETY: the mapping shows so many bytes there. Their owner has said that it may be
        // written to, and looks at it when it has the message that follows.
        unsafe { ptr::copy(content.as_ptr(), at, content.len()) };
        true
    }

    fn send(&mut self, to: u32, message: MessageHandle) {
        let started = self.start_send(to, message);
        self.or_abort(started);
    }

    fn receive(&mut self) -> Option<(u32, ActorMessage)> {
        let polled = self.poll();
        self.or_abort(polled)
    }

    fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    fn time(&self) -> u64 {
        clock::nanoseconds()
    }

    fn processor_time(&self) -> u64 {
        clock::thread_nanoseconds()
    }

    fn wait(&mut self, limit: Option<Duration>) -> bool {
        let limit = limit.or_else(|| self.watch.as_ref()?.limit());
        let waited = match limit {
            Some(limit) => self.wait_at_most(limit),
            None => self.wait_long(),
        };
        self.or_abort(waited)
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
        std::mem::forget(std::mem::take(&mut self.posted_sends));
        std::mem::forget(std::mem::take(&mut self.receives));
    }
}

/// Initializes MPI if nobody has. Whether it has.
fn initialize<A: BinaryInterface>(mpi: &Functions<A>) -> Result<bool, LibraryError> {
    let (mut is_initialized, mut is_finalized) = (0, 0);
    // SAFETY: both may be called at any time.
    let codes =
        unsafe { [(mpi.initialized)(&mut is_initialized), (mpi.finalized)(&mut is_finalized)] };
    succeeded("MPI_Initialized", codes[0])?;
    succeeded("MPI_Finalized", codes[1])?;
    if is_finalized != 0 {
        return Err(LibraryError::Finalized);
    }
    if is_initialized != 0 {
        return Ok(false);
    }
    let (none, mut provided) = (ptr::null_mut(), 0);
    // SAFETY: null is allowed for both pointers, and MPI has not been initialized.
    let code = unsafe { (mpi.init_thread)(none, none, A::THREAD_FUNNELED, &mut provided) };
    succeeded("MPI_Init_thread", code)?;
    Ok(true)
}
