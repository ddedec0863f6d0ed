//! Probing: inspecting a message without receiving it, and extracting it for a matched receive (MPI
//! 5.0, 3.8).
//!
//! Probes see only messages that have arrived; they make no progress.

use towpath_base::events::Subscriber;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_transport::JobWire;

use crate::Engine;
use crate::matching::Pattern;
use crate::unexpected::Seen;

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Sender.
    pub peer: PeerIndex,
    /// Rank of the sender in the communicator.
    pub source_rank: u32,
    /// Tag.
    pub tag: i32,
    /// Length of the message in bytes.
    pub bytes: u64,
}

impl Envelope {
    fn of((peer, source_rank, tag, bytes): Seen) -> Envelope {
        Envelope { peer, source_rank, tag, bytes }
    }
}

/// Identifies a message extracted by a matched probe, until it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId(pub u64);

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Returns the oldest arrived message that a receive with these arguments would match; `None`
    /// arguments are wildcards.
    #[inline]
    pub fn iprobe(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
    ) -> Option<Envelope> {
        let at = self.state.unexpected.find(&Pattern::receive(context, from, tag))?;
        Some(Envelope::of(self.state.unexpected.see(at)))
    }

    /// Like [`Engine::iprobe`], but extracts the message from matching: from now on only
    /// [`Engine::imrecv`] receives it.
    pub fn improbe(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
    ) -> Option<(MessageId, Envelope)> {
        let at = self.state.unexpected.find(&Pattern::receive(context, from, tag))?;
        let envelope = Envelope::of(self.state.unexpected.see(at));
        let generation = self.state.unexpected.extract(at);
        Some((MessageId(u64::from(generation) << 32 | u64::from(at)), envelope))
    }

    /// The lost peer that makes a probe without a match wait forever, if there is one. `None` for
    /// `from` is a wildcard.
    #[inline]
    pub fn probes_in_vain(&self, from: Option<PeerIndex>, context: ContextId) -> Option<PeerIndex> {
        if self.state.peers.any_lost { self.state.lost_source(from, context) } else { None }
    }
}
