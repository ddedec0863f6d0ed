//! An endpoint of a fabric and the objects it needs: domain, completion queue, address table,
//! registered memory.
//!
//! The worker's lock is held during all calls, as FI_THREAD_DOMAIN requires. Fast path: send,
//! receive and completions are one call each through the provider's tables.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;

use libc::ssize_t;

use super::abi::{
    ADDRESSES_TABLE, AGAIN, ANYBODY, Av, AvAttr, Cq, CqAttr, CqEntry, CqErrEntry, Domain, ENABLE,
    ERROR_AVAILABLE, Ep, FORMAT_MSG, Fabric, Fid, GET_WAIT, Info, KEY_TAKEN, RegisteredMemory,
    WAIT_DESCRIPTOR, WAIT_NONE, cap, memory,
};
use super::library::{Libfabric, Offer};

/// Minimum size of the completion queue.
const QUEUE_ENTRIES: usize = 4096;

/// The result of posting an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostOutcome {
    /// The provider has accepted it.
    Done,
    /// Try again later.
    Later,
    /// It has failed: an error number, without its sign.
    Failed(c_int),
}

/// A completed operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct FabricCompletion {
    /// The context that was posted.
    pub(super) context: *mut c_void,
    /// Number of bytes received.
    pub(super) length: usize,
    /// 0, or an error number without its sign.
    pub(super) error: c_int,
}

/// An endpoint.
pub(super) struct FabricEndpoint {
    library: Libfabric,
    fabric: *mut Fabric,
    domain: *mut Domain,
    queue: *mut Cq,
    addresses: *mut Av,
    endpoint: *mut Ep,
    memory_mode: c_int,
    /// The bits that a key may have.
    key_mask: u64,
    /// Makes unpredictable keys, for providers that let the application choose them.
    keys: Keys,
    descriptor: Option<RawFd>,
    most: usize,
    /// The endpoint can be closed while other processes still send to it.
    closes_amid_messages: bool,
}

/// A source of unpredictable keys for registered memory.
pub(super) type Keys = Box<dyn FnMut() -> u64 + Send>;

/// Registered memory; must be dropped before its endpoint.
pub(super) struct MemoryRegion {
    memory: *mut RegisteredMemory,
}

impl MemoryRegion {
    /// The descriptor for local operations.
    pub(super) fn local(&self) -> *mut c_void {
        // SAFETY: `memory` is a live object of the provider until it is closed in `drop`.
        unsafe { (*self.memory).mem_desc }
    }

    /// The key for remote reads.
    pub(super) fn key(&self) -> u64 {
        // SAFETY: `memory` is a live object of the provider until it is closed in `drop`.
        unsafe { (*self.memory).key }
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        close(self.memory.cast());
    }
}

/// Closes an object, if there is one.
fn close(fid: *mut Fid) {
    if !fid.is_null() {
        // SAFETY: `fid` is a live object of the provider, and its owner has given it up.
        unsafe { ((*(*fid).ops).close)(fid) };
    }
}

/// # Safety
/// `one` and `other` must be live objects that the provider can bind.
unsafe fn bind(one: *mut Fid, other: *mut Fid, flags: u64) -> c_int {
    // SAFETY: both objects are live and can be bound (this function's contract).
    unsafe { ((*(*one).ops).bind)(one, other, flags) }
}

impl FabricEndpoint {
    /// Opens an endpoint for an offer.
    ///
    /// # Errors
    /// What was refused, with the library's reason.
    pub(super) fn open(offer: &Offer, peers: usize, keys: Keys) -> Result<FabricEndpoint, String> {
        let library = offer.library;
        // SAFETY: `info` is a complete structure of the library, which lives as long as `offer`.
        let info = unsafe { &*offer.info };
        // SAFETY: the library allocates these parts with every `fi_info`.
        let (domain, endpoint) = unsafe { (&*info.domain_attr, &*info.ep_attr) };
        let mut new = FabricEndpoint {
            library,
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            queue: ptr::null_mut(),
            addresses: ptr::null_mut(),
            endpoint: ptr::null_mut(),
            memory_mode: domain.mr_mode,
            key_mask: key_mask(domain.mr_mode, domain.mr_key_size)?,
            keys,
            descriptor: None,
            most: endpoint.max_msg_size,
            // rxm accepts what arrives during the close into connections that it has closed, and
            // crashes (libfabric issue 11828).
            closes_amid_messages: !offer.provider().contains("ofi_rxm"),
        };
        // SAFETY: `offer.info` is a complete structure that outlives this call.
        unsafe { new.open_all(offer.info, peers) }?;
        Ok(new)
    }

    fn check(&self, what: &str, code: c_int) -> Result<(), String> {
        if code == 0 { Ok(()) } else { Err(format!("{what}: {}", self.library.error(-code))) }
    }

    /// # Safety
    /// `info` must be a complete structure of the library.
    unsafe fn open_all(&mut self, info: *mut Info, peers: usize) -> Result<(), String> {
        // SAFETY: each object is live when the next one is created from it, and is called through
        // the tables that its provider has set.
        unsafe {
            let code =
                (self.library.open_fabric)((*info).fabric_attr, &mut self.fabric, ptr::null_mut());
            self.check("the fabric cannot be opened", code)?;
            let code = ((*(*self.fabric).ops).domain)(
                self.fabric,
                info,
                &mut self.domain,
                ptr::null_mut(),
            );
            self.check("the domain cannot be opened", code)?;
            self.open_queue()?;
            let mut attributes = AvAttr {
                kind: ADDRESSES_TABLE,
                rx_ctx_bits: 0,
                count: peers,
                ep_per_node: 0,
                name: ptr::null(),
                map_addr: ptr::null_mut(),
                flags: 0,
            };
            let open = (*(*self.domain).ops).av_open;
            let code = open(self.domain, &mut attributes, &mut self.addresses, ptr::null_mut());
            self.check("the address table cannot be opened", code)?;
            let code = ((*(*self.domain).ops).endpoint)(
                self.domain,
                info,
                &mut self.endpoint,
                ptr::null_mut(),
            );
            self.check("no endpoint", code)?;
            let endpoint = self.endpoint.cast::<Fid>();
            let code = bind(endpoint, self.addresses.cast(), 0);
            self.check("the address table cannot be bound to the endpoint", code)?;
            let code = bind(endpoint, self.queue.cast(), cap::SEND | cap::RECV);
            self.check("the completion queue cannot be bound to the endpoint", code)?;
            let code = ((*(*endpoint).ops).control)(endpoint, ENABLE, ptr::null_mut());
            self.check("the endpoint cannot be enabled", code)
        }
    }

    /// Opens the completion queue, with a descriptor to sleep on if the provider has one.
    ///
    /// # Safety
    /// The domain must be open.
    unsafe fn open_queue(&mut self) -> Result<(), String> {
        let mut code = 0;
        for wait in [WAIT_DESCRIPTOR, WAIT_NONE] {
            let mut attributes = CqAttr {
                size: QUEUE_ENTRIES,
                flags: 0,
                format: FORMAT_MSG,
                wait_obj: wait,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: ptr::null_mut(),
            };
            // SAFETY: the domain is open (this function's contract), and `attributes` outlives the
            // call.
            code = unsafe {
                ((*(*self.domain).ops).cq_open)(
                    self.domain,
                    &mut attributes,
                    &mut self.queue,
                    ptr::null_mut(),
                )
            };
            if code == 0 {
                let mut descriptor: RawFd = -1;
                let queue = self.queue.cast::<Fid>();
                // SAFETY: the queue is open, and for a queue with a wait descriptor `GET_WAIT`
                // writes one `int`.
                let told = wait == WAIT_DESCRIPTOR
                    && unsafe {
                        ((*(*queue).ops).control)(queue, GET_WAIT, (&raw mut descriptor).cast())
                    } == 0;
                self.descriptor = Some(descriptor).filter(|descriptor| told && *descriptor >= 0);
                return Ok(());
            }
        }
        self.check("the completion queue cannot be opened", code)
    }

    /// The text of an error number.
    pub(super) fn error(&self, code: c_int) -> String {
        self.library.error(code)
    }

    /// True if the memory of local operations must be registered.
    pub(super) fn registers_local(&self) -> bool {
        self.memory_mode & memory::LOCAL != 0
    }

    /// Longest message and longest read, in bytes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The descriptor of the queue, if it has one.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.descriptor
    }

    /// The address of the endpoint, for the address tables of other processes.
    pub(super) fn name(&self) -> Result<Vec<u8>, String> {
        let (mut name, mut length) = (vec![0u8; 512], 512);
        // SAFETY: the endpoint is enabled, and the provider writes at most `length` bytes to
        // `name`.
        let code = unsafe {
            let endpoint = self.endpoint;
            ((*(*endpoint).cm).getname)(endpoint.cast(), name.as_mut_ptr().cast(), &mut length)
        };
        self.check("the endpoint has no address", code)?;
        name.truncate(length);
        Ok(name)
    }

    /// Inserts the address of a peer and returns the provider's handle for it.
    pub(super) fn reach(&mut self, address: &[u8]) -> Result<u64, String> {
        // Providers read as many bytes as their own addresses have.
        let mut room = [0u8; 512];
        let length = address.len().min(room.len());
        room[..length].copy_from_slice(&address[..length]);
        let mut number = ANYBODY;
        // SAFETY: `room` is longer than an address of any provider, and `number` has room for one
        // handle.
        let count = unsafe {
            let insert = (*(*self.addresses).ops).insert;
            insert(self.addresses, room.as_ptr().cast(), 1, &mut number, 0, ptr::null_mut())
        };
        if count == 1 && number != ANYBODY {
            return Ok(number);
        }
        Err(if count < 0 {
            self.error(-count)
        } else {
            "the provider does not accept this address".to_owned()
        })
    }

    /// Sends a message.
    ///
    /// # Safety
    /// `memory` must be readable for `length` bytes and `context` valid until the completion;
    /// `local` must be the descriptor of a region that contains the memory, if local memory must be
    /// registered.
    #[inline]
    pub(super) unsafe fn send(
        &self,
        to: u64,
        memory: *const u8,
        length: usize,
        local: *mut c_void,
        context: *mut c_void,
    ) -> PostOutcome {
        // SAFETY: the endpoint is enabled, and memory and context live until the completion (this
        // function's contract).
        let code = unsafe {
            let send = (*(*self.endpoint).msg).send;
            send(self.endpoint, memory.cast(), length, local, to, context)
        };
        posted(code)
    }

    /// Posts a receive buffer for a message from any process.
    ///
    /// # Safety
    /// `memory` must be writable for `length` bytes and `context` valid until the completion;
    /// `local` must be the descriptor of a region that contains the memory, if local memory must be
    /// registered.
    #[inline]
    pub(super) unsafe fn receive(
        &self,
        memory: *mut u8,
        length: usize,
        local: *mut c_void,
        context: *mut c_void,
    ) -> PostOutcome {
        // SAFETY: the endpoint is enabled, and memory and context live until the completion (this
        // function's contract).
        let code = unsafe {
            let receive = (*(*self.endpoint).msg).recv;
            receive(self.endpoint, memory.cast(), length, local, ANYBODY, context)
        };
        posted(code)
    }

    /// Reads memory of a peer.
    ///
    /// # Safety
    /// `memory` must be writable for `length` bytes and `context` valid until the completion;
    /// `local` must be the descriptor of a region that contains the memory, if local memory must be
    /// registered.
    pub(super) unsafe fn read(
        &self,
        from: u64,
        (address, key): (u64, u64),
        memory: *mut u8,
        length: usize,
        local: *mut c_void,
        context: *mut c_void,
    ) -> PostOutcome {
        // SAFETY: the endpoint is enabled, and memory and context live until the completion (this
        // function's contract).
        let code = unsafe {
            let read = (*(*self.endpoint).rma).read;
            read(self.endpoint, memory.cast(), length, local, from, address, key, context)
        };
        posted(code)
    }

    /// Polls for completions, which also drives the provider. True if there may be more.
    #[inline]
    pub(super) fn completions(&self, into: &mut Vec<FabricCompletion>, most: usize) -> bool {
        const BATCH: usize = 16;
        let mut entries = [CqEntry { op_context: ptr::null_mut(), flags: 0, len: 0 }; BATCH];
        let most = most.min(BATCH);
        // SAFETY: `entries` has room for `most` entries of the queue's format.
        let count =
            unsafe { ((*(*self.queue).ops).read)(self.queue, entries.as_mut_ptr().cast(), most) };
        if count > 0 {
            let complete = |entry: &CqEntry| FabricCompletion {
                context: entry.op_context,
                length: entry.len,
                error: 0,
            };
            into.extend(entries[..count as usize].iter().map(complete));
            return count as usize == most;
        }
        count == ERROR_AVAILABLE && self.failure(into)
    }

    #[cold]
    fn failure(&self, into: &mut Vec<FabricCompletion>) -> bool {
        // SAFETY: an all-zero `CqErrEntry` is valid: it contains numbers and raw pointers.
        let mut entry: CqErrEntry = unsafe { std::mem::zeroed() };
        // SAFETY: `entry` is at least as long as in any version of the library, and lends no memory
        // for error details.
        let count = unsafe { ((*(*self.queue).ops).readerr)(self.queue, &mut entry, 0) };
        if count < 1 {
            return false;
        }
        into.push(FabricCompletion {
            context: entry.op_context,
            length: entry.len,
            error: entry.err.max(1),
        });
        true
    }

    /// True if the caller, which has found no completion, may sleep on the descriptor now.
    pub(super) fn may_sleep(&self) -> bool {
        let mut objects = [self.queue.cast::<Fid>()];
        // SAFETY: fabric and queue are open, and `objects` contains one object.
        self.descriptor.is_none()
            || unsafe { ((*(*self.fabric).ops).trywait)(self.fabric, objects.as_mut_ptr(), 1) == 0 }
    }

    /// Registers memory for the operations of `access`.
    ///
    /// # Safety
    /// `at` must be valid for `length` bytes until the region is dropped.
    pub(super) unsafe fn register(
        &mut self,
        at: *const u8,
        length: usize,
        access: u64,
    ) -> Result<MemoryRegion, c_int> {
        for _ in 0..16 {
            let mut memory: *mut RegisteredMemory = ptr::null_mut();
            let key = match self.memory_mode & memory::PROVIDER_KEY {
                0 => (self.keys)() & self.key_mask,
                _ => 0,
            };
            // SAFETY: the domain is open, and `at` is valid for `length` bytes (this function's
            // contract).
            let code = unsafe {
                let register = (*(*self.domain).mr).reg;
                let domain = self.domain.cast();
                register(domain, at.cast(), length, access, 0, key, 0, &mut memory, ptr::null_mut())
            };
            match code {
                0 => return self.enable(MemoryRegion { memory }),
                // The key is in use: try another one.
                code if code == -KEY_TAKEN => {}
                code => return Err(-code),
            }
        }
        Err(KEY_TAKEN)
    }

    fn enable(&self, region: MemoryRegion) -> Result<MemoryRegion, c_int> {
        if self.memory_mode & memory::ENDPOINT == 0 {
            return Ok(region);
        }
        let memory = region.memory.cast::<Fid>();
        // SAFETY: region and endpoint are live; a region that is bound to an endpoint must be
        // enabled.
        let code = unsafe {
            match bind(memory, self.endpoint.cast(), 0) {
                0 => ((*(*memory).ops).control)(memory, ENABLE, ptr::null_mut()),
                code => code,
            }
        };
        if code == 0 { Ok(region) } else { Err(-code) }
    }

    /// The address by which a remote read names `at`, in a region that starts at `base`.
    pub(super) fn remote_address(&self, base: *const u8, at: *const u8) -> u64 {
        let begin = if self.memory_mode & memory::VIRTUAL_ADDRESS == 0 { base.addr() } else { 0 };
        (at.addr() - begin) as u64
    }
}

impl FabricEndpoint {
    /// True if the endpoint can be closed while other processes still send to it.
    pub(super) fn closes_amid_messages(&self) -> bool {
        self.closes_amid_messages
    }

    /// True if it was closed or abandoned.
    pub(super) fn is_closed(&self) -> bool {
        self.endpoint.is_null()
    }

    /// Takes all objects out, in the order in which they can be closed.
    fn objects(&mut self) -> [*mut Fid; 5] {
        [
            std::mem::replace(&mut self.endpoint, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.queue, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.addresses, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.domain, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.fabric, ptr::null_mut()).cast(),
        ]
    }

    /// Closes everything; no other method may be called afterwards.
    pub(super) fn close(&mut self) {
        self.descriptor = None;
        self.objects().into_iter().for_each(close);
    }

    /// Leaves everything open until the process ends. All memory that was posted or registered must
    /// live until then; no other method may be called afterwards.
    pub(super) fn abandon(&mut self) {
        self.objects();
    }
}

impl Drop for FabricEndpoint {
    fn drop(&mut self) {
        self.close();
    }
}

/// The bits that a key may have if keys are `bytes` bytes long, for memory that is registered in
/// this mode.
///
/// # Errors
/// An explanation if keys are 0 bytes long although the provider does not choose them itself.
fn key_mask(mode: c_int, bytes: usize) -> Result<u64, String> {
    match bytes {
        // The provider's own keys are never truncated.
        0 if mode & memory::PROVIDER_KEY != 0 => Ok(0),
        0 => Err("it registers memory for reads without keys".to_owned()),
        8.. => Ok(u64::MAX),
        bytes => Ok(u64::MAX >> (64 - 8 * bytes)),
    }
}

#[inline]
fn posted(code: ssize_t) -> PostOutcome {
    match code {
        0 => PostOutcome::Done,
        AGAIN => PostOutcome::Later,
        code => PostOutcome::Failed((-code) as c_int),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_as_many_bytes_as_the_provider_says() {
        assert_eq!(key_mask(0, 1), Ok(0xff));
        assert_eq!(key_mask(0, 4), Ok(0xffff_ffff));
        assert_eq!(key_mask(0, 8), Ok(u64::MAX));
        assert_eq!(key_mask(memory::LOCAL, 100), Ok(u64::MAX));
        assert_eq!(key_mask(memory::PROVIDER_KEY, 0), Ok(0));
        assert!(key_mask(memory::LOCAL, 0).is_err());
    }
}
