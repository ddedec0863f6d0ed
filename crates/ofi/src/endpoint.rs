//! One endpoint of a fabric and everything that hangs on it: domain, completions, addresses,
//! registered memory.
//!
//! All calls come from whoever holds the lane's lock, as FI_THREAD_DOMAIN demands. Small path:
//! send, receive and completions are one call each through the provider's tables.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;

use libc::ssize_t;

use super::abi::{
    ADDRESSES_TABLE, AGAIN, ANYBODY, Av, AvAttr, Cq, CqAttr, CqEntry, CqErrEntry, Domain, ENABLE, ERROR_AVAILABLE, Ep,
    FORMAT_MSG, Fabric, Fid, GET_WAIT, Info, KEY_TAKEN, Memory, WAIT_DESCRIPTOR, WAIT_NONE, cap, memory,
};
use super::library::{Library, Offer};

/// Completions that the queue holds at least.
const QUEUE_ENTRIES: usize = 4096;

/// What became of an operation that was handed to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Posted {
    /// It is on its way.
    Done,
    /// Not now.
    Later,
    /// Never: an error number, without its sign.
    Failed(c_int),
}

/// An operation that is complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    /// As it was posted.
    pub(super) context: *mut c_void,
    /// Bytes that were received.
    pub(super) length: usize,
    /// 0, or an error number without its sign.
    pub(super) error: c_int,
}

/// An endpoint.
pub(super) struct Endpoint {
    library: Library,
    fabric: *mut Fabric,
    domain: *mut Domain,
    queue: *mut Cq,
    addresses: *mut Av,
    endpoint: *mut Ep,
    memory_mode: c_int,
    /// The bits that a key may have.
    key_mask: u64,
    /// Makes keys that nobody can guess, where the provider lets us choose them.
    keys: Keys,
    descriptor: Option<RawFd>,
    most: usize,
    /// It can be closed while somebody still sends to it.
    closes_amid_messages: bool,
}

/// A source of numbers that do not repeat.
pub(super) type Keys = Box<dyn FnMut() -> u64 + Send>;

/// Registered memory; must be dropped before its endpoint.
pub(super) struct Region {
    memory: *mut Memory,
}

impl Region {
    /// What local operations name it by.
    pub(super) fn local(&self) -> *mut c_void {
        // SAFETY: the provider's object, alive until the region is dropped.
        unsafe { (*self.memory).mem_desc }
    }

    /// What remote reads name it by.
    pub(super) fn key(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.memory).key }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        close(self.memory.cast());
    }
}

/// Closes an object, if there is one.
fn close(fid: *mut Fid) {
    if !fid.is_null() {
        // SAFETY: an object of the provider, used no more.
        unsafe { ((*(*fid).ops).close)(fid) };
    }
}

/// # Safety
/// Two live objects that the provider can bind.
unsafe fn bind(one: *mut Fid, other: *mut Fid, flags: u64) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { ((*(*one).ops).bind)(one, other, flags) }
}

impl Endpoint {
    /// Opens an endpoint as offered.
    ///
    /// # Errors
    /// What was refused, in the library's words.
    pub(super) fn open(offer: &Offer, peers: usize, keys: Keys) -> Result<Endpoint, String> {
        let library = offer.library;
        // SAFETY: the offer is a whole structure of the library.
        let info = unsafe { &*offer.info };
        // SAFETY: as above; its parts are there.
        let (domain, endpoint) = unsafe { (&*info.domain_attr, &*info.ep_attr) };
        let mut new = Endpoint {
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
            // rxm takes what comes meanwhile into connections that it has closed, and crashes
            // (issue 11828 of libfabric).
            closes_amid_messages: !offer.provider().contains("ofi_rxm"),
        };
        // SAFETY: the offer lives as long as this call.
        unsafe { new.open_all(offer.info, peers) }?;
        Ok(new)
    }

    fn check(&self, what: &str, code: c_int) -> Result<(), String> {
        if code == 0 { Ok(()) } else { Err(format!("{what}: {}", self.library.error(-code))) }
    }

    /// # Safety
    /// A whole structure of the library.
    unsafe fn open_all(&mut self, info: *mut Info, peers: usize) -> Result<(), String> {
        // SAFETY: each object is made by the one before it, with the tables that its provider has
        // given it.
        unsafe {
            let code = (self.library.open_fabric)((*info).fabric_attr, &mut self.fabric, ptr::null_mut());
            self.check("the fabric cannot be opened", code)?;
            let code = ((*(*self.fabric).ops).domain)(self.fabric, info, &mut self.domain, ptr::null_mut());
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
            self.check("no table of addresses", code)?;
            let code = ((*(*self.domain).ops).endpoint)(self.domain, info, &mut self.endpoint, ptr::null_mut());
            self.check("no endpoint", code)?;
            let endpoint = self.endpoint.cast::<Fid>();
            let code = bind(endpoint, self.addresses.cast(), 0);
            self.check("the endpoint takes no addresses", code)?;
            let code = bind(endpoint, self.queue.cast(), cap::SEND | cap::RECV);
            self.check("the endpoint takes no queue", code)?;
            let code = ((*(*endpoint).ops).control)(endpoint, ENABLE, ptr::null_mut());
            self.check("the endpoint cannot be enabled", code)
        }
    }

    /// Opens the queue of completions, with a descriptor to sleep on where the provider has one.
    ///
    /// # Safety
    /// An open domain.
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
            // SAFETY: the domain is open; the attributes live during the call.
            code = unsafe {
                ((*(*self.domain).ops).cq_open)(self.domain, &mut attributes, &mut self.queue, ptr::null_mut())
            };
            if code == 0 {
                let mut descriptor: RawFd = -1;
                let queue = self.queue.cast::<Fid>();
                // SAFETY: the queue is open; a queue that waits by a descriptor writes one number.
                let told = wait == WAIT_DESCRIPTOR
                    && unsafe { ((*(*queue).ops).control)(queue, GET_WAIT, (&raw mut descriptor).cast()) } == 0;
                self.descriptor = Some(descriptor).filter(|descriptor| told && *descriptor >= 0);
                return Ok(());
            }
        }
        self.check("no queue of completions", code)
    }

    /// What an error number means.
    pub(super) fn error(&self, code: c_int) -> String {
        self.library.error(code)
    }

    /// Whether the memory of local operations must be registered.
    pub(super) fn registers_local(&self) -> bool {
        self.memory_mode & memory::LOCAL != 0
    }

    /// Largest message and read, in bytes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The descriptor of the queue, where it has one.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.descriptor
    }

    /// Its address, as others insert it.
    pub(super) fn name(&self) -> Result<Vec<u8>, String> {
        let (mut name, mut length) = (vec![0u8; 512], 512);
        // SAFETY: the endpoint is enabled; the provider writes at most `length` bytes, and says how
        // many there are.
        let code = unsafe {
            let endpoint = self.endpoint;
            ((*(*endpoint).cm).getname)(endpoint.cast(), name.as_mut_ptr().cast(), &mut length)
        };
        self.check("the endpoint has no address", code)?;
        name.truncate(length);
        Ok(name)
    }

    /// Enters the address of a peer: what it is called from now on.
    pub(super) fn reach(&mut self, address: &[u8]) -> Result<u64, String> {
        // Providers read as many bytes as their own addresses have.
        let mut room = [0u8; 512];
        let length = address.len().min(room.len());
        room[..length].copy_from_slice(&address[..length]);
        let mut number = ANYBODY;
        // SAFETY: one address in memory that is long enough for any.
        let count = unsafe {
            let insert = (*(*self.addresses).ops).insert;
            insert(self.addresses, room.as_ptr().cast(), 1, &mut number, 0, ptr::null_mut())
        };
        if count == 1 && number != ANYBODY {
            return Ok(number);
        }
        Err(if count < 0 { self.error(-count) } else { "the provider does not know such addresses".to_owned() })
    }

    /// Sends a message.
    ///
    /// # Safety
    /// Memory of `length` bytes and the context must live until the completion; `local` is that of
    /// the memory's region.
    #[inline]
    pub(super) unsafe fn send(
        &self,
        to: u64,
        memory: *const u8,
        length: usize,
        local: *mut c_void,
        context: *mut c_void,
    ) -> Posted {
        // SAFETY: the endpoint is enabled; the rest is promised by the caller.
        let code = unsafe {
            let send = (*(*self.endpoint).msg).send;
            send(self.endpoint, memory.cast(), length, local, to, context)
        };
        posted(code)
    }

    /// Lends memory for a message of anybody.
    ///
    /// # Safety
    /// As [`Endpoint::send`].
    #[inline]
    pub(super) unsafe fn receive(
        &self,
        memory: *mut u8,
        length: usize,
        local: *mut c_void,
        context: *mut c_void,
    ) -> Posted {
        // SAFETY: as there.
        let code = unsafe {
            let receive = (*(*self.endpoint).msg).recv;
            receive(self.endpoint, memory.cast(), length, local, ANYBODY, context)
        };
        posted(code)
    }

    /// Reads memory of a peer.
    ///
    /// # Safety
    /// As [`Endpoint::send`].
    pub(super) unsafe fn read(
        &self,
        from: u64,
        (address, key): (u64, u64),
        memory: *mut u8,
        length: usize,
        local: *mut c_void,
        context: *mut c_void,
    ) -> Posted {
        // SAFETY: as there.
        let code = unsafe {
            let read = (*(*self.endpoint).rma).read;
            read(self.endpoint, memory.cast(), length, local, from, address, key, context)
        };
        posted(code)
    }

    /// Takes completions; this is also what lets the provider work. True when there may be more.
    #[inline]
    pub(super) fn completions(&self, into: &mut Vec<Completion>, most: usize) -> bool {
        const BATCH: usize = 16;
        let mut entries = [CqEntry { op_context: ptr::null_mut(), flags: 0, len: 0 }; BATCH];
        let most = most.min(BATCH);
        // SAFETY: room for so many entries of the queue's format.
        let count = unsafe { ((*(*self.queue).ops).read)(self.queue, entries.as_mut_ptr().cast(), most) };
        if count > 0 {
            let complete = |entry: &CqEntry| Completion { context: entry.op_context, length: entry.len, error: 0 };
            into.extend(entries[..count as usize].iter().map(complete));
            return count as usize == most;
        }
        count == ERROR_AVAILABLE && self.failure(into)
    }

    #[cold]
    fn failure(&self, into: &mut Vec<Completion>) -> bool {
        // SAFETY: numbers and pointers, all of which may be zero.
        let mut entry: CqErrEntry = unsafe { std::mem::zeroed() };
        // SAFETY: the entry is as long as that of any version, and lends no memory for details.
        let count = unsafe { ((*(*self.queue).ops).readerr)(self.queue, &mut entry, 0) };
        if count < 1 {
            return false;
        }
        into.push(Completion { context: entry.op_context, length: entry.len, error: entry.err.max(1) });
        true
    }

    /// Whether whoever has found no completion may sleep on the descriptor now.
    pub(super) fn may_sleep(&self) -> bool {
        let mut objects = [self.queue.cast::<Fid>()];
        // SAFETY: one open queue of this fabric.
        self.descriptor.is_none()
            || unsafe { ((*(*self.fabric).ops).trywait)(self.fabric, objects.as_mut_ptr(), 1) == 0 }
    }

    /// Registers memory for the operations of `access`.
    ///
    /// # Safety
    /// The memory must live until the region is dropped.
    pub(super) unsafe fn register(&mut self, at: *const u8, length: usize, access: u64) -> Result<Region, c_int> {
        for _ in 0..16 {
            let mut memory: *mut Memory = ptr::null_mut();
            let key = match self.memory_mode & memory::PROVIDER_KEY {
                0 => (self.keys)() & self.key_mask,
                _ => 0,
            };
            // SAFETY: the domain is open; the caller vouches for the memory.
            let code = unsafe {
                let register = (*(*self.domain).mr).reg;
                let domain = self.domain.cast();
                register(domain, at.cast(), length, access, 0, key, 0, &mut memory, ptr::null_mut())
            };
            match code {
                0 => return self.enable(Region { memory }),
                // Two keys met.
                code if code == -KEY_TAKEN => {}
                code => return Err(-code),
            }
        }
        Err(KEY_TAKEN)
    }

    fn enable(&self, region: Region) -> Result<Region, c_int> {
        if self.memory_mode & memory::ENDPOINT == 0 {
            return Ok(region);
        }
        let memory = region.memory.cast::<Fid>();
        // SAFETY: both objects are alive; memory that is bound must be enabled.
        let code = unsafe {
            match bind(memory, self.endpoint.cast(), 0) {
                0 => ((*(*memory).ops).control)(memory, ENABLE, ptr::null_mut()),
                code => code,
            }
        };
        if code == 0 { Ok(region) } else { Err(-code) }
    }

    /// What a remote read names the memory at this place of a region that begins at `base`.
    pub(super) fn remote_address(&self, base: *const u8, at: *const u8) -> u64 {
        let begin = if self.memory_mode & memory::VIRTUAL_ADDRESS == 0 { base.addr() } else { 0 };
        (at.addr() - begin) as u64
    }
}

impl Endpoint {
    /// Whether it can be closed while somebody still sends to it.
    pub(super) fn closes_amid_messages(&self) -> bool {
        self.closes_amid_messages
    }

    /// Whether it was closed or abandoned.
    pub(super) fn is_closed(&self) -> bool {
        self.endpoint.is_null()
    }

    /// Everything, in the order in which it can be closed; it is given up here.
    fn objects(&mut self) -> [*mut Fid; 5] {
        [
            std::mem::replace(&mut self.endpoint, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.queue, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.addresses, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.domain, ptr::null_mut()).cast(),
            std::mem::replace(&mut self.fabric, ptr::null_mut()).cast(),
        ]
    }

    /// Closes everything; nothing else may be called afterwards.
    pub(super) fn close(&mut self) {
        self.descriptor = None;
        self.objects().into_iter().for_each(close);
    }

    /// Leaves everything open until the process ends, and with it all memory that was lent or
    /// registered must stay; nothing else may be called afterwards.
    pub(super) fn abandon(&mut self) {
        self.objects();
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.close();
    }
}

/// The bits of keys with so many bytes, for memory that is registered in this mode.
///
/// # Errors
/// A sentence when the provider wants keys of nobody's choice: neither its own nor any of ours.
fn key_mask(mode: c_int, bytes: usize) -> Result<u64, String> {
    match bytes {
        // Its own keys are never cut.
        0 if mode & memory::PROVIDER_KEY != 0 => Ok(0),
        0 => Err("it registers memory for reads without keys".to_owned()),
        8.. => Ok(u64::MAX),
        bytes => Ok(u64::MAX >> (64 - 8 * bytes)),
    }
}

#[inline]
fn posted(code: ssize_t) -> Posted {
    match code {
        0 => Posted::Done,
        AGAIN => Posted::Later,
        code => Posted::Failed((-code) as c_int),
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
