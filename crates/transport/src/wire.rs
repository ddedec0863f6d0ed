//! The traits of a wire.

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use crate::{
    AccessError, AccessResult, Choice, Cost, Header, MemoryKey, NoResource, RegionKey, RemoteRange,
    Sink, copy,
};

/// One kind of wire, or the table of all wires of the process.
///
/// There is no `dyn Wire`, so that the path of small messages can be inlined completely.
pub trait Wire {
    /// How the wire names a peer.
    type Peer: Copy;

    /// What a message to this peer costs.
    fn cost(&self, to: Self::Peer) -> Cost;

    /// Marks a peer as lost that the launcher or another wire has found dead. [`Sink::lost`]
    /// follows at the next progress. Regions published to it and pulls from it end without a report
    /// of their own, so they are not taken for transfers that succeeded.
    fn mark_lost(&mut self, peer: Self::Peer);

    /// Advances all transfers that can advance, and reports arrivals and completions. True if
    /// anything happened (an arrival, a completion, a step of a queued transfer): callers spin
    /// while it is false.
    fn progress(&mut self, sink: &mut impl Sink) -> bool;

    /// True while this side has pending work (regions not released, pulls in flight, messages not
    /// sent): `MPI_Finalize` makes progress until it is false.
    fn busy(&self) -> bool;
}

/// A wire that carries messages.
pub trait MessageWire: Wire {
    /// Sends a message of at most [`SHORT_BYTES`](crate::SHORT_BYTES) bytes.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and `length` at most
    /// [`SHORT_BYTES`](crate::SHORT_BYTES).
    #[inline]
    unsafe fn short(
        &mut self,
        to: Self::Peer,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: `payload` is readable for `length` bytes (this function's contract).
        unsafe { self.copied_contiguous(to, header, payload, length) }
    }

    /// Largest message that [`MessageWire::copied`] accepts for this peer, in bytes. It grows when
    /// the pair becomes hot and falls when the ring is revoked.
    fn copied_limit(&self, to: Self::Peer) -> usize;

    /// Lends a slot of `length` bytes to `fill`, then sends it. A message longer than
    /// [`MessageWire::copied_limit`] is refused. Any call may lower the limit: a caller that is
    /// refused must read it again.
    fn copied(
        &mut self,
        to: Self::Peer,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource>;

    /// Largest message that [`MessageWire::copied_contiguous`] accepts for this peer, at least
    /// [`MessageWire::copied_limit`]. A message longer than that limit may be refused at any time,
    /// even when nothing else is in flight.
    fn copied_contiguous_limit(&self, to: Self::Peer) -> usize {
        self.copied_limit(to)
    }

    /// Like [`MessageWire::copied`], for a contiguous message of at most
    /// [`MessageWire::copied_contiguous_limit`] bytes: the wire may let the receiver start before
    /// everything is copied.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline]
    unsafe fn copied_contiguous(
        &mut self,
        to: Self::Peer,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: `payload` is readable for `length` bytes (this function's contract), and the wire
        // lends a slot of `length` bytes.
        self.copied(to, header, length, |slot| unsafe { copy::contiguous(payload, slot, length) })
    }

    /// Offers the first message of every peer to `take`, if it is visible without other progress. A
    /// payload is valid during the call only. Does nothing but what the returned choices ask for.
    /// True if there may be something that only [`Wire::progress`] finds.
    fn poll_front(
        &mut self,
        take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice,
    ) -> bool {
        let _ = take;
        true
    }
}

/// A wire that carries regions: large messages that their receivers pull.
pub trait RegionWire: Wire {
    /// Makes the bytes of `source` available to one receiver, without sending anything. The
    /// engine's own announcement carries the key. [`Sink::released`] reports `token` when the
    /// receiver has finished.
    ///
    /// # Safety
    /// The memory behind `source` must live until `released`, until [`RegionWire::withdraw`], or
    /// until [`Sink::lost`] reports the loss of the receiver.
    unsafe fn publish(&mut self, to: Self::Peer, token: u64, source: Source) -> RegionKey;

    /// Withdraws a publication; false if the receiver has started to pull it (then `released` will
    /// follow).
    fn withdraw(&mut self, to: Self::Peer, key: RegionKey) -> bool;

    /// Fetches the first `target.length()` bytes of a region that the peer published, and releases
    /// the rest unread. [`Sink::pulled`] reports `token`. A target of length 0 only releases the
    /// region. Never refused: the wire queues what it cannot start now.
    ///
    /// # Safety
    /// The memory behind `target` must live until `pulled`, or until [`Sink::lost`] reports the
    /// loss of the peer.
    unsafe fn pull(&mut self, from: Self::Peer, key: RegionKey, token: u64, target: Target);
}

/// A wire that reads and writes the memory of peers without their processor (remote memory access).
///
/// An owner registers memory once. Every peer that has the key may then put and get, at any time
/// and any number of times, until the owner deregisters the memory. The default methods are those
/// of a wire without this capability; its callers send messages instead.
///
/// The contract is what MPI 5.0, chapter 12, needs of passive targets: an access needs no call of
/// the owner. No access is atomic: if a put and another access touch the same bytes at the same
/// time, the result may mix old and new bytes. The same holds for the owner's own loads and stores.
/// (MPI leaves the outcome of such accesses undefined too: section 12.7.)
pub trait MemoryWire: Wire {
    /// True if the wire can access memory of this peer. Whether it can access a particular range
    /// also depends on what memory that is: a get of 0 bytes tells, and transfers nothing.
    fn offers_memory(&self, owner: Self::Peer) -> bool {
        let _ = owner;
        false
    }

    /// Registers `length` bytes of this process for accesses by all peers, without sending
    /// anything. `None` if the wire has no room for another range, or cannot register memory.
    /// Ranges may overlap or be empty.
    ///
    /// # Safety
    /// The memory must be readable and writable until [`MemoryWire::deregister`] has returned true,
    /// and no reference to it may exist: peers may write to it at any time.
    unsafe fn register(&mut self, memory: *mut u8, length: usize) -> Option<MemoryKey> {
        let _ = (memory, length);
        None
    }

    /// Deregisters memory of this process. From the first call on, the key names nothing, and never
    /// names other memory: accesses that start later are refused ([`AccessError::BadKey`]).
    /// Accesses that are under way are neither stopped nor reported to the owner; their origins see
    /// them succeed. True once all of them have ended, so that no peer touches the memory any more
    /// and it may be freed. Until then the caller makes progress and calls again, without sleeping:
    /// accesses end soon, and their end wakes no thread. (`MPI_Win_free` has to wait for accesses
    /// too: MPI 5.0, section 12.2.5.)
    ///
    /// Accesses of lost peers are not waited for, since a process that has ended accesses nothing.
    /// A caller that has called [`Wire::mark_lost`] for a process that still runs must not free the
    /// memory. Also true if the key names nothing.
    fn deregister(&mut self, key: MemoryKey) -> bool {
        let _ = key;
        true
    }

    /// Starts to write the bytes at `from` into a range of a peer's memory. They are there when
    /// [`MemoryWire::flush`] has returned true. Puts and gets that no flush separates may happen in
    /// any order.
    ///
    /// # Errors
    /// See [`AccessError`]. Any range may be passed; one that is not registered is refused. Until
    /// the death of an owner is known ([`Wire::mark_lost`]), accesses may still succeed.
    ///
    /// # Safety
    /// If the put has started, `from` must be readable for `range.length` bytes until
    /// [`MemoryWire::flush`] has returned true or an error. It must not overlap the range.
    unsafe fn put(&mut self, to: Self::Peer, range: RemoteRange, from: *const u8) -> AccessResult {
        let _ = (to, range, from);
        Err(AccessError::NotOffered)
    }

    /// Starts to read a range of a peer's memory into `to`. The bytes are there when
    /// [`MemoryWire::flush`] has returned true. Puts and gets that no flush separates may happen in
    /// any order.
    ///
    /// # Errors
    /// As for [`MemoryWire::put`].
    ///
    /// # Safety
    /// If the get has started, `to` must be writable for `range.length` bytes until
    /// [`MemoryWire::flush`] has returned true or an error. It must not overlap the range.
    unsafe fn get(&mut self, from: Self::Peer, range: RemoteRange, to: *mut u8) -> AccessResult {
        let _ = (from, range, to);
        Err(AccessError::NotOffered)
    }

    /// True if all puts and gets that this process has started at this owner, in any of its memory,
    /// are complete at both sides. The data of gets are in the origin's memory. The data of puts
    /// are in the owner's memory, visible to the owner and to every process that learns of the
    /// flush, by a message for example. This is the completion of `MPI_Win_flush` (MPI 5.0, section
    /// 12.5.4) and of libfabric's `FI_DELIVERY_COMPLETE` (fi_cq(3)). It says nothing about accesses
    /// at other owners, by other processes, or by other wires of this process. The owner takes no
    /// part.
    ///
    /// If not, the caller makes progress and calls again.
    ///
    /// # Errors
    /// The owner is lost ([`AccessError::Lost`], at each call from then on), or an access failed
    /// after its start ([`AccessError::Failed`], once). None is under way any more in either case.
    fn flush(&mut self, owner: Self::Peer) -> AccessResult<bool> {
        let _ = owner;
        Ok(true)
    }
}

/// The wire to all processes of a job, as the engine uses it.
pub trait JobWire:
    MessageWire<Peer = PeerIndex> + RegionWire<Peer = PeerIndex> + MemoryWire<Peer = PeerIndex>
{
    /// The index of this process.
    fn own(&self) -> PeerIndex;
}
