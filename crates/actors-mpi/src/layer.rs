//! Sends and receives.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use towpath_actors::arrays::PooledArray;
use towpath_actors::message::{ARRAYS, HEADER_BYTES, MessageHandle, PREFIX_BYTES};
use towpath_actors::{ActorMessage, ArrayMemory, MachineLayer, MessageArray, WritableArray};
use towpath_machine::clock;

use crate::abi::{BinaryInterface, Mpich, Standard};
use crate::arrays::{self, ArrayRoute, IncomingArray, ReleasedArrays, ViewedArray};
use crate::library::{Functions, LibraryAbi, LibraryError, find};
use crate::pauses::Pauses;
use crate::shared::{SHORTEST_BLOCK, SharedBlock, SharedHeap, SharedMemory};
use crate::slots::{
    ANNOUNCEMENT, Arrived, MESSAGE, RELEASE, SLOT_BYTES, Slots, WITHOUT_PREFIX, succeeded,
};

/// Longer arrays in private memory are left to the MPI library, whose two sides copy at the same
/// time.
const LONGEST_COPY: usize = 4 << 20;
/// How often a rank that waits for anything looks for short messages only, at first.
const SHORT_TESTS: u32 = 100;

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
    /// For messages that fit into slots, and for longer ones and arrays.
    comm: A::Handle,
    long: A::Handle,
    slots: Slots<A>,
    /// Messages that are being sent, with what keeps their memory.
    sends: VecDeque<(A::Handle, SendMemory)>,
    /// Long messages, and arrays, that are being received.
    receives: VecDeque<LongReceive<A>>,
    /// What `wait` has taken from the slots.
    waited: Option<(u32, ActorMessage)>,
    shared: Option<Rc<SharedMemory>>,
    heap: Rc<SharedHeap>,
    /// Arrays of this rank that others read where they are, by name.
    lent: FxHashMap<u64, MessageArray>,
    released: ReleasedArrays,
    /// How many arrays have been sent or lent: their tags and names.
    arrays: u64,
}

/// A message that is complete once all its parts have been received.
struct LongReceive<A: BinaryInterface> {
    from: u32,
    message: ActorMessage,
    arrays: Vec<IncomingArray>,
    /// Those that are not complete.
    requests: VecDeque<A::Handle>,
}

/// What is being sent.
enum SendMemory {
    Message(MessageHandle),
    /// A message without the prefix of its header.
    WithoutPrefix(MessageHandle),
    /// An announcement, or the name of an array.
    Number(Box<[u8; 8]>),
    Array(MessageArray),
}

impl SendMemory {
    fn number(number: u64) -> SendMemory {
        SendMemory::Number(Box::new(number.to_ne_bytes()))
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            SendMemory::Message(message) => message.bytes(),
            SendMemory::WithoutPrefix(message) => &message.bytes()[PREFIX_BYTES..],
            SendMemory::Number(bytes) => &bytes[..],
            SendMemory::Array(array) => array.bytes(),
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
            receives: VecDeque::new(),
            waited: None,
            shared,
            lent: FxHashMap::default(),
            released: ReleasedArrays::default(),
            arrays: 0,
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
        // SAFETY: the bytes are on the heap or in the program's array, and `sends` keeps them until
        // the request is complete, or for ever: see `drop`.
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
        if !message.arrays().is_empty() {
            return self.send_with_arrays(to, &message);
        }
        let bytes = message.bytes().len();
        if bytes > SLOT_BYTES {
            self.isend(SendMemory::number(bytes as u64), to, ANNOUNCEMENT, self.comm)?;
            return self.isend(SendMemory::Message(message), to, MESSAGE, self.long);
        }
        if message.prefix_is_zero() {
            let memory = SendMemory::WithoutPrefix(message);
            return self.isend(memory, to, WITHOUT_PREFIX, self.comm);
        }
        self.isend(SendMemory::Message(message), to, MESSAGE, self.comm)
    }

    /// A block of shared memory, if that pays and there is room.
    fn shared_block(&self, bytes: usize) -> Option<SharedBlock> {
        if bytes < SHORTEST_BLOCK {
            return None;
        }
        let shared = self.shared.as_ref()?;
        let block = SharedBlock::new(&self.mpi, &self.heap, bytes)?;
        // Without room, an MPI library may give private memory.
        shared.offset_of(block.bytes()).map(|_| block)
    }

    /// A copy of these bytes in shared memory, if that pays and there is room.
    fn shared_copy(&self, content: &[u8]) -> Option<MessageArray> {
        let mut block = self.shared_block(content.len())?;
        block.bytes_mut().copy_from_slice(content);
        Some(Rc::new(block))
    }

    /// An array as it is sent to a rank: a copy in shared memory of one that is in private memory
    /// and not very long, because the MPI library would copy it twice.
    fn sent_array(&self, array: &MessageArray, to: u32) -> MessageArray {
        let bytes = array.bytes();
        let is_elsewhere = |shared: &SharedMemory| {
            bytes.len() <= LONGEST_COPY && shared.has(to) && shared.offset_of(bytes).is_none()
        };
        let copy =
            self.shared.as_deref().is_some_and(is_elsewhere).then(|| self.shared_copy(bytes));
        copy.flatten().unwrap_or_else(|| array.clone())
    }

    fn send_with_arrays(&mut self, to: u32, message: &ActorMessage) -> Result<(), LibraryError> {
        let arrays = message.arrays().iter().map(|array| self.sent_array(array, to));
        let arrays: Vec<MessageArray> = arrays.collect();
        let shared = self.shared.as_deref().filter(|shared| shared.has(to));
        let routes = arrays::routes(message.bytes().len(), &arrays, shared, &mut self.arrays);
        self.start_send(to, arrays::described(message, &arrays, &routes).into())?;
        for (array, route) in arrays.into_iter().zip(routes) {
            match route {
                ArrayRoute::Inside(_) => {}
                ArrayRoute::Sent(tag) => {
                    self.isend(SendMemory::Array(array), to, tag, self.long)?;
                }
                ArrayRoute::Shared { name, .. } => {
                    self.lent.insert(name, array);
                }
            }
        }
        Ok(())
    }

    /// Tells the owners of arrays that nobody here reads them any more.
    #[inline]
    fn send_releases(&mut self) -> Result<(), LibraryError> {
        while let Some((owner, name)) = { self.released.borrow_mut().pop() } {
            self.isend(SendMemory::number(name), owner, RELEASE, self.comm)?;
        }
        Ok(())
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
        self.send_releases()?;
        self.poll_sends()?;
        if let Some(receive) = self.receives.front_mut() {
            while let Some(request) = receive.requests.front_mut()
                && is_complete(&self.mpi, request)?
            {
                receive.requests.pop_front();
            }
            if receive.requests.is_empty() {
                return self.received();
            }
        }
        match self.slots.poll(&self.mpi)? {
            None => Ok(None),
            Some(arrived) => self.arrived(arrived),
        }
    }

    /// Takes in what a slot has received.
    #[inline]
    fn arrived(&mut self, arrived: Arrived) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        match arrived {
            Arrived::Message(from, message) => return self.with_arrays(from, message),
            Arrived::Announced(from, bytes) => self.receive_long(from, bytes)?,
            Arrived::Released(name) => drop(self.lent.remove(&name)),
        }
        Ok(None)
    }

    /// The first of the long receives is complete.
    fn received(&mut self) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        let Some(LongReceive { from, message, arrays, .. }) = self.receives.pop_front() else {
            return Ok(None);
        };
        if arrays.is_empty() {
            return self.with_arrays(from, message);
        }
        self.complete(from, message, arrays).map(Some)
    }

    /// A message of which everything has arrived.
    fn complete(
        &self,
        from: u32,
        message: ActorMessage,
        arrays: Vec<IncomingArray>,
    ) -> Result<(u32, ActorMessage), LibraryError> {
        let arrays = arrays.into_iter().map(|array| self.incoming(from, array));
        let arrays: Result<Vec<MessageArray>, LibraryError> = arrays.collect();
        Ok((from, message.with_arrays(arrays?)))
    }

    /// A message whose payload has arrived: at once, unless arrays of it are still on their way.
    #[inline]
    fn with_arrays(
        &mut self,
        from: u32,
        message: ActorMessage,
    ) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        if message.header().flags & ARRAYS == 0 {
            return Ok(Some((from, message)));
        }
        self.receive_arrays(from, message)
    }

    fn receive_arrays(
        &mut self,
        from: u32,
        message: ActorMessage,
    ) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        let (message, mut arrays) = arrays::undescribed(message).ok_or(LibraryError::Unknown)?;
        let mut requests = VecDeque::new();
        for array in &mut arrays {
            if let ArrayRoute::Sent(tag) = array.route {
                let memory = array.memory.insert(PooledArray::new(array.bytes));
                let request = irecv(&self.mpi, memory.bytes_mut(), from, tag, self.long)?;
                requests.push_back(request);
            }
        }
        if requests.is_empty() {
            return self.complete(from, message, arrays).map(Some);
        }
        self.receives.push_back(LongReceive { from, message, arrays, requests });
        Ok(None)
    }

    /// An array that has arrived, or that the owner has lent.
    fn incoming(&self, from: u32, array: IncomingArray) -> Result<MessageArray, LibraryError> {
        let ArrayRoute::Shared { offset, name } = array.route else {
            return Ok(Rc::new(array.memory.ok_or(LibraryError::Unknown)?));
        };
        let shared = self.shared.as_ref().ok_or(LibraryError::Unknown)?;
        let at = shared.at(offset, array.bytes as u64).ok_or(LibraryError::Unknown)?;
        let lender = (from, name);
        Ok(Rc::new(ViewedArray::new(shared.clone(), at, array.bytes, lender, &self.released)))
    }

    /// Receives a message that was announced.
    fn receive_long(&mut self, from: u32, bytes: usize) -> Result<(), LibraryError> {
        if bytes < HEADER_BYTES {
            return Err(LibraryError::Unknown);
        }
        let mut message = ActorMessage::with_bytes(bytes);
        let request = irecv(&self.mpi, message.bytes_mut(), from, MESSAGE, self.long)?;
        let requests = VecDeque::from([request]);
        self.receives.push_back(LongReceive { from, message, arrays: Vec::new(), requests });
        Ok(())
    }

    /// Waits until something has arrived or has been sent.
    fn wait_long(&mut self) -> Result<bool, LibraryError> {
        if self.waited.is_some() {
            return Ok(false);
        }
        self.send_releases()?;
        // To look for short messages only takes least.
        for _ in 0..if self.receives.is_empty() { SHORT_TESTS } else { 0 } {
            if self.test_slots()? {
                return Ok(false);
            }
        }
        let mut none = A::REQUEST_NULL;
        self.wait_for_any(&mut none)
    }

    /// Waits until something has arrived or has been sent, or a barrier, which may be none, is
    /// complete. Whether it is.
    fn wait_for_any(&mut self, barrier: &mut A::Handle) -> Result<bool, LibraryError> {
        if self.waited.is_some() {
            return Ok(false);
        }
        self.send_releases()?;
        let mut requests = self.next_requests(*barrier);
        let count = requests.len() as c_int;
        let (mut which, mut status) = (0, A::EMPTY);
        // SAFETY: all of these are active or null; the results are local.
        let code =
            unsafe { (self.mpi.waitany)(count, requests.as_mut_ptr(), &mut which, &mut status) };
        succeeded("MPI_Waitany", code)?;
        self.completed(which, &status)
    }

    /// The same without a barrier, for a limited time. Whether that has passed.
    fn wait_at_most(&mut self, limit: Duration) -> Result<bool, LibraryError> {
        if self.waited.is_some() {
            return Ok(false);
        }
        self.send_releases()?;
        let mut pauses = Pauses::new(limit);
        loop {
            // Short messages are urgent, and to look for them only takes least.
            let found = if pauses.is_next() || !self.receives.is_empty() {
                self.test_any()?
            } else {
                self.test_slots()?
            };
            if found || pauses.pause() {
                return Ok(!found);
            }
        }
    }

    /// Whether something has arrived in a slot.
    #[inline]
    fn test_slots(&mut self) -> Result<bool, LibraryError> {
        let Some(arrived) = self.slots.poll(&self.mpi)? else { return Ok(false) };
        self.waited = self.arrived(arrived)?;
        Ok(true)
    }

    /// Whether something has arrived or has been sent.
    fn test_any(&mut self) -> Result<bool, LibraryError> {
        let mut requests = self.next_requests(A::REQUEST_NULL);
        let count = requests.len() as c_int;
        let (mut which, mut flag, mut status) = (0, 0, A::EMPTY);
        let all = requests.as_mut_ptr();
        // SAFETY: all of these are active or null; the results are local.
        let code = unsafe { (self.mpi.testany)(count, all, &mut which, &mut flag, &mut status) };
        succeeded("MPI_Testany", code)?;
        if flag != 0 {
            self.completed(which, &status)?;
        }
        Ok(flag != 0)
    }

    /// The requests that are complete next.
    fn next_requests(&self, barrier: A::Handle) -> [A::Handle; 4] {
        let none = A::REQUEST_NULL;
        let receive = self.receives.front().and_then(|receive| receive.requests.front());
        let receive = receive.copied().unwrap_or(none);
        let send = self.sends.front().map_or(none, |(request, _)| *request);
        [self.slots.next_request(), receive, send, barrier]
    }

    /// One of them is complete. Whether it is the barrier.
    fn completed(&mut self, which: c_int, status: &A::Status) -> Result<bool, LibraryError> {
        match which {
            0 => {
                let arrived = self.slots.take(&self.mpi, status)?;
                self.waited = self.arrived(arrived)?;
            }
            1 => {
                let receive = self.receives.front_mut();
                let is_last = receive.is_some_and(|receive| {
                    receive.requests.pop_front();
                    receive.requests.is_empty()
                });
                if is_last {
                    self.waited = self.received()?;
                }
            }
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
        // Owners drain too: they need not be told any more.
        self.released.borrow_mut().clear();
        // SAFETY: the communicator is this layer's own, and all ranks call this.
        let code = unsafe { (self.mpi.ibarrier)(self.long, &mut barrier) };
        succeeded("MPI_Ibarrier", code)?;
        while !self.wait_for_any(&mut barrier)? {
            self.waited = None;
            self.released.borrow_mut().clear();
        }
        // What was announced has been sent.
        while let Some(receive) = self.receives.front_mut() {
            for request in &mut receive.requests {
                let mut status = A::EMPTY;
                // SAFETY: the request is active, and the status is local.
                succeeded("MPI_Wait", unsafe { (self.mpi.wait)(request, &mut status) })?;
            }
            receive.requests.clear();
            self.received()?;
        }
        Ok(())
    }

    /// Ends all communication, and MPI if this layer has initialized it.
    fn end(&mut self) -> Result<(), LibraryError> {
        self.drain()?;
        // All ranks have stopped reading.
        self.lent.clear();
        self.heap.close();
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

    fn send(&mut self, to: u32, message: MessageHandle) {
        let started = self.start_send(to, message);
        self.or_abort(started);
    }

    fn receive(&mut self) -> Option<(u32, ActorMessage)> {
        let polled = self.poll();
        self.or_abort(polled)
    }

    fn time(&self) -> u64 {
        clock::nanoseconds()
    }

    fn processor_time(&self) -> u64 {
        clock::thread_nanoseconds()
    }

    fn wait(&mut self, limit: Option<Duration>) -> bool {
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

/// Starts to receive so many bytes. The memory is on the heap, and the layer keeps it until the
/// request is complete, or for ever.
fn irecv<A: BinaryInterface>(
    mpi: &Functions<A>,
    into: &mut [u8],
    from: u32,
    tag: c_int,
    comm: A::Handle,
) -> Result<A::Handle, LibraryError> {
    let (count, mut request) = (into.len() as i64, A::REQUEST_NULL);
    let (into, from) = (into.as_mut_ptr().cast(), from.cast_signed());
    // SAFETY: so many bytes are there, and nobody moves or frees them: see `LongReceive` and
    // `drop`.
    let code = unsafe { (mpi.irecv_c)(into, count, A::BYTE, from, tag, comm, &mut request) };
    succeeded("MPI_Irecv", code)?;
    Ok(request)
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
