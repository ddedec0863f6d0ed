//! Events and counters: what wires and engine report about themselves, for tests and tools (MPI
//! 5.0, chapter 15, calls them events and performance variables).
//!
//! All lengths are in bytes. The engine has a [`Subscriber`] as a type parameter. So has a wrapper
//! around wires; a wire without the wrapper reports nothing. The subscriber's method does nothing
//! unless it is overridden, and is inlined, so an event that a subscriber ignores costs no
//! instruction, not even on the fast path. [`Counters`], the subscriber of the libraries, ignores
//! every event that belongs to the fast path.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ids::PeerIndex;

/// Something that a wire or the engine has done.
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
    /// A wire has refused a message; the sender tries again, or sends it in another way.
    MessageRefused {
        /// The receiver.
        to: PeerIndex,
    },
    /// A message has arrived on a wire, which delivers it now.
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
    /// A region is published.
    RegionPublished {
        /// The peer that may pull it.
        to: PeerIndex,
        /// The publisher's token.
        token: u64,
        /// Length.
        bytes: usize,
    },
    /// A region was withdrawn before its receiver started to pull it.
    RegionWithdrawn {
        /// The peer that was allowed to pull it.
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
        /// Bytes of the region that are wanted. 0 only releases the region, and the token need not
        /// name a pull then.
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
        /// True if it has left, false if it has failed.
        in_order: bool,
    },
    /// A message has matched a receive. Reported even if the sender is lost before the payload
    /// arrives.
    Matched {
        /// The sender.
        from: PeerIndex,
        /// Length of the message, which may exceed the receive buffer.
        bytes: u64,
        /// The receive pulls the payload from the sender. False for a payload that has arrived, or
        /// that is being pulled already because its sender lacked credit.
        rendezvous: bool,
    },
    /// A message, or its announcement, has arrived before its receive was posted.
    Unexpected {
        /// The sender.
        from: PeerIndex,
        /// Length of the message.
        bytes: u64,
    },
    /// A send waits in the queue of its peer, for room on the wire or behind other sends.
    SendQueued {
        /// The receiver.
        to: PeerIndex,
    },
    /// A send is announced only because the receiver has not given enough credit. Not reported of a
    /// synchronous send, which waits for its receive anyway.
    SendPostponed {
        /// The receiver.
        to: PeerIndex,
        /// Length of the message.
        bytes: u64,
    },
}

/// Receives events, in the order in which they happen.
pub trait Subscriber {
    /// Something has happened. Called on the fast path and from inside progress: an implementation
    /// must neither block nor call into the reporter.
    #[inline(always)]
    fn event(&mut self, event: Event) {
        let _ = event;
    }
}

/// Ignores all events.
impl Subscriber for () {}

/// Records all events.
impl Subscriber for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// A subscriber that several reporters share, such as an engine and its wire.
impl<S: Subscriber> Subscriber for Rc<RefCell<S>> {
    fn event(&mut self, event: Event) {
        self.borrow_mut().event(event);
    }
}

/// What a process has counted since MPI_Init. As a subscriber it counts the events of an engine.
/// The last two counters have no events: the code that reads the counters fills them in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that have arrived before their receive was posted.
    pub unexpected_messages: u64,
    /// Their length in bytes.
    pub unexpected_bytes: u64,
    /// Sends that had to wait, for room on the wire or behind other sends.
    pub queued_sends: u64,
    /// Sends, other than synchronous ones, that were announced only for lack of credit.
    pub postponed_sends: u64,
    /// Messages whose payload the matching receive pulled.
    pub rendezvous_messages: u64,
    /// Their length in bytes, whether or not the receives have room for it.
    pub rendezvous_bytes: u64,
    /// Frames received through a multicast address.
    pub multicast_frames: u64,
    /// How often the process has slept while it waited.
    pub sleeps: u64,
}

impl Counters {
    /// All counters with their names.
    pub fn rows(&self) -> [(&'static str, u64); 8] {
        [
            ("unexpected messages", self.unexpected_messages),
            ("unexpected bytes", self.unexpected_bytes),
            ("queued sends", self.queued_sends),
            ("postponed sends", self.postponed_sends),
            ("rendezvous messages", self.rendezvous_messages),
            ("rendezvous bytes", self.rendezvous_bytes),
            ("multicast frames", self.multicast_frames),
            ("sleeps", self.sleeps),
        ]
    }
}

/// Counts only events off the fast path; all others compile to nothing once this is inlined.
impl Subscriber for Counters {
    #[inline(always)]
    fn event(&mut self, event: Event) {
        match event {
            Event::Unexpected { bytes, .. } => {
                self.unexpected_messages += 1;
                self.unexpected_bytes += bytes;
            }
            Event::SendQueued { .. } => self.queued_sends += 1,
            Event::SendPostponed { .. } => self.postponed_sends += 1,
            Event::Matched { bytes, rendezvous: true, .. } => {
                self.rendezvous_messages += 1;
                self.rendezvous_bytes += bytes;
            }
            _ => {}
        }
    }
}
