//! Events: what wires report about themselves, for tests and tools (MPI 5.0, chapter 15).
//!
//! All lengths are in bytes. Who reports has a [`Subscriber`] as a type parameter. Its method does
//! nothing unless it is overridden, and is inlined, so an event that a subscriber ignores costs no
//! instruction, not even on the fast path.

use crate::ids::PeerIndex;

/// Something that a wire has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A wire has accepted a message.
    MessageSent {
        /// The receiver.
        to: PeerIndex,
        /// Protocol number in the header.
        protocol: u8,
        /// The other words of the header.
        words: [u64; 2],
        /// Length of the payload.
        bytes: usize,
    },
    /// A wire has refused a message; the sender tries again.
    MessageRefused {
        /// The receiver.
        to: PeerIndex,
    },
    /// A wire has delivered a message.
    MessageArrived {
        /// The sender.
        from: PeerIndex,
        /// Protocol number in the header.
        protocol: u8,
        /// The other words of the header.
        words: [u64; 2],
        /// Length of the payload.
        bytes: usize,
    },
    /// A region was published.
    RegionPublished {
        /// Who may pull it.
        to: PeerIndex,
        /// The publisher's token.
        token: u64,
        /// Length.
        bytes: usize,
    },
    /// A region was withdrawn before its receiver started to pull it.
    RegionWithdrawn {
        /// Who was allowed to pull it.
        to: PeerIndex,
    },
    /// The receiver of a region has finished with it.
    RegionReleased {
        /// The publisher's token.
        token: u64,
    },
    /// A wire was asked to pull a region.
    PullStarted {
        /// The publisher.
        from: PeerIndex,
        /// The receiver's token.
        token: u64,
        /// How much of the region is wanted; 0 only releases it.
        bytes: usize,
    },
    /// A pull is complete.
    PullCompleted {
        /// The receiver's token.
        token: u64,
    },
    /// A peer is gone.
    PeerLost {
        /// The peer.
        peer: PeerIndex,
        /// It has left, and did not fail.
        in_order: bool,
    },
}

/// Receives events, in the order in which they happen.
pub trait Subscriber {
    /// Something has happened. Called on the fast path and from inside progress: an implementation
    /// must neither block nor call whoever reports.
    #[inline(always)]
    fn event(&mut self, event: Event) {
        let _ = event;
    }
}

/// Records all events.
impl Subscriber for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}
