//! The traits of a wire.

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use crate::{Choice, Cost, Header, NoResource, RegionKey, Sink, copy};

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

    /// Moves everything that can move and reports it. True if anything happened (an arrival, a
    /// completion, a step of a queued transfer): callers spin on false.
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

    /// Lends a slot of `length` bytes to `fill`, then sends it. More than
    /// [`MessageWire::copied_limit`] is refused. The limit may fall at any call: a caller that is
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

    /// Offers the first message of every peer to `take`, as far as it is visible without any other
    /// progress. A payload is valid during the call only. Does nothing else than the choices ask
    /// for. True if there may be something that only [`Wire::progress`] finds.
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

    /// Fetches the first `target.length()` bytes of a region that the peer published; it releases
    /// the rest unread. [`Sink::pulled`] reports `token`. A target of length 0 only releases the
    /// region. Never refused: the wire queues what it cannot start now.
    ///
    /// # Safety
    /// The memory behind `target` must live until `pulled`, or until [`Sink::lost`] reports the
    /// loss of the peer.
    unsafe fn pull(&mut self, from: Self::Peer, key: RegionKey, token: u64, target: Target);
}

/// The wire to all processes of a job, as the engine uses it.
pub trait JobWire: MessageWire<Peer = PeerIndex> + RegionWire<Peer = PeerIndex> {
    /// The index of this process.
    fn own(&self) -> PeerIndex;
}
