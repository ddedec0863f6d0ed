//! The wire of a process to itself: a queue of copied messages, and regions that are copied
//! directly from source to target.
//!
//! Messages arrive in the order of the calls. Back-pressure bounds the queue.

use std::collections::VecDeque;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target, across};

use towpath_transport::regions::{Published, Regions};
use towpath_transport::{
    Cost, Header, MemoryWire, MessageWire, NoResource, RegionKey, RegionWire, SHORT_BYTES, Sink,
    Wire, copy,
};

/// Largest copied message in bytes.
const COPIED_LIMIT: usize = 16 * 1024;
/// Maximum number of queued messages.
const QUEUE_LIMIT: usize = 1024;
/// Messages delivered in one call of progress.
const BATCH: usize = 64;
/// Bytes copied at a time if source or target is not contiguous.
const BOUNCE_BYTES: usize = 16 * 1024;
/// Buffers kept for later messages.
const SPARE_BUFFERS: usize = 16;

enum LoopbackPayload {
    Inline([u8; SHORT_BYTES]),
    Stored(Vec<u8>),
}

struct LoopbackMessage {
    header: Header,
    length: usize,
    payload: LoopbackPayload,
}

struct Transfer {
    /// Dropped first: its device may still read the source.
    target: Target,
    source: Source,
    held: usize,
    released: u64,
    pulled: u64,
}

/// The wire of a process to itself, its only peer, which has number 0.
pub struct Loopback {
    own: PeerIndex,
    queue: VecDeque<LoopbackMessage>,
    spare: Vec<Vec<u8>>,
    regions: Regions,
    transfers: VecDeque<Transfer>,
    bounce: Vec<u8>,
}

impl Loopback {
    /// A wire of the process `own` to itself.
    pub fn new(own: PeerIndex) -> Loopback {
        Loopback {
            own,
            queue: VecDeque::new(),
            spare: Vec::new(),
            regions: Regions::default(),
            transfers: VecDeque::new(),
            bounce: Vec::new(),
        }
    }

    /// The index of this process.
    pub fn own(&self) -> PeerIndex {
        self.own
    }

    /// True if no message is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline(never)]
    fn deliver(&mut self, sink: &mut impl Sink) -> bool {
        let batch = self.queue.len().min(BATCH);
        for message in self.queue.drain(..batch) {
            let pointer = match &message.payload {
                LoopbackPayload::Inline(bytes) => bytes.as_ptr(),
                LoopbackPayload::Stored(bytes) => bytes.as_ptr(),
            };
            sink.arrived(self.own, &message.header, pointer, message.length);
            if let LoopbackPayload::Stored(buffer) = message.payload
                && self.spare.len() < SPARE_BUFFERS
            {
                self.spare.push(buffer);
            }
        }
        batch > 0
    }

    /// Makes one step of the first transfer.
    #[inline(never)]
    fn transfer(&mut self, sink: &mut impl Sink) -> bool {
        let Some(first) = self.transfers.front_mut() else { return false };
        self.bounce.resize(BOUNCE_BYTES, 0);
        let mut moved = 0;
        if first.target.length() > 0 {
            // SAFETY: `publish` and `pull` require that the memory of source and target stays valid
            // until `released` and `pulled` are reported, which happens below.
            match unsafe {
                across(&mut first.source, &mut first.target, &mut self.bounce, &mut first.held)
            } {
                Some(bytes) => moved = bytes,
                None => return false,
            }
        }
        if first.target.length() == 0 || moved == 0 {
            let (released, pulled) = (first.released, first.pulled);
            self.transfers.pop_front();
            sink.released(released);
            sink.pulled(pulled);
        }
        true
    }
}

impl Wire for Loopback {
    type Peer = usize;

    fn cost(&self, to: usize) -> Cost {
        Cost { latency_ns: 50, bandwidth: 20_000, eager_limit: self.copied_limit(to) }
    }

    /// Does nothing: a process does not outlive itself.
    fn mark_lost(&mut self, _own: usize) {}

    #[inline]
    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        if self.queue.is_empty() && self.transfers.is_empty() {
            return false;
        }
        let delivered = self.deliver(sink);
        let moved = self.transfer(sink);
        delivered || moved
    }

    fn busy(&self) -> bool {
        !self.queue.is_empty() || !self.transfers.is_empty() || !self.regions.is_empty()
    }
}

impl MessageWire for Loopback {
    #[inline(never)]
    unsafe fn short(
        &mut self,
        _to: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if self.queue.len() >= QUEUE_LIMIT {
            return Err(NoResource);
        }
        let mut bytes = [0; SHORT_BYTES];
        // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (the contract of
        // `short`), and `bytes` has room for them.
        unsafe { copy::short(payload, bytes.as_mut_ptr(), length) };
        self.queue.push_back(LoopbackMessage {
            header: *header,
            length,
            payload: LoopbackPayload::Inline(bytes),
        });
        Ok(())
    }

    fn copied_limit(&self, _to: usize) -> usize {
        COPIED_LIMIT
    }

    fn copied(
        &mut self,
        _to: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT {
            return Err(NoResource);
        }
        if self.queue.len() >= QUEUE_LIMIT {
            return Err(NoResource);
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(length.max(buffer.len()), 0);
        fill(buffer.as_mut_ptr());
        self.queue.push_back(LoopbackMessage {
            header: *header,
            length,
            payload: LoopbackPayload::Stored(buffer),
        });
        Ok(())
    }
}

/// Without registered memory: that of this process is in the table of [`Shm`](crate::Shm), which
/// serves its own rank too.
impl MemoryWire for Loopback {}

impl RegionWire for Loopback {
    unsafe fn publish(&mut self, to: usize, token: u64, source: Source) -> RegionKey {
        let length = source.length() as u64;
        RegionKey([self.regions.publish(Published { to: to as u32, token, source }), length])
    }

    fn withdraw(&mut self, _to: usize, key: RegionKey) -> bool {
        self.regions.take(key.0[0]).is_some()
    }

    unsafe fn pull(&mut self, _from: usize, key: RegionKey, token: u64, target: Target) {
        if let Some(region) = self.regions.take(key.0[0]) {
            let transfer = Transfer {
                source: region.source,
                target,
                held: 0,
                released: region.token,
                pulled: token,
            };
            self.transfers.push_back(transfer);
        }
    }
}
