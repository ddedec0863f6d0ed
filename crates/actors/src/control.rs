//! What the runtimes of the ranks tell each other, other than the messages of the program.

use serde::{Deserialize, Serialize};

use crate::balance::messages::BalanceMessage;
use crate::callback::ChareCallback;
use crate::checkpoint::messages::CheckpointMessage;
use crate::collection::CollectionOptions;
use crate::index::Index;
use crate::message::{ActorHeader, ActorMessage, MessageKind};
use crate::quiescence::MessageCounts;
use crate::reduction::ReductionMessage;
use crate::sample::ObserveMessage;
use crate::section::{SectionId, SectionMessage};

/// A message between runtimes; the collection that it is about stands in the header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ControlMessage {
    /// Begin with this read-only data, and pass this on in the tree of rank 0. The fingerprint is
    /// that of the program.
    Begin { fingerprint: u64, data: Vec<u8> },
    /// Make a collection, and pass this on in the tree of its root.
    Create(CollectionOptions),
    /// Construct the elements that a collection begins with. A rank tells itself.
    Fill(CollectionOptions),
    /// Something about a collection that there is.
    OfCollection(CollectionMessage),
    /// Tell the callback when nothing is left to do. Goes to rank 0.
    StartQuiescence(ChareCallback),
    /// Count the messages, and pass this on in the tree of rank 0.
    CountMessages,
    /// The messages of a rank and all below it.
    Counted(MessageCounts),
    /// A function of this rank is the callback of a result.
    CallBack { function: u64, value: Vec<u8> },
    /// Part of a checkpoint or restart.
    Checkpoint(CheckpointMessage),
    /// Part of load balancing.
    Balance(BalanceMessage),
    /// Part of an observation.
    Observe(ObserveMessage),
    /// End the job with this code.
    Exit { code: i32, scope: ExitScope },
}

/// What is said about one collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CollectionMessage {
    /// An element is at this rank; it has migrated so many times.
    Located { index: Index, rank: u32, migrations: u32 },
    /// An element of this index is about to be made. Goes to its home.
    Inserting { index: Index },
    /// An element is about to arrive; messages for it wait here.
    Expect { index: Index },
    /// An element has arrived from this rank. Its new rank had accepted so many broadcasts then.
    Settled { index: Index, migrations: u32, broadcasts: u32 },
    /// An element exists no more.
    Deleted { index: Index, migrations: u32 },
    /// Part of a reduction.
    Reduction(ReductionMessage),
    /// Part of a round in which elements get ready for load balancing.
    Round(ReductionMessage),
    /// Something about a section.
    Section(SectionId, SectionMessage),
}

impl From<BalanceMessage> for ControlMessage {
    fn from(what: BalanceMessage) -> ControlMessage {
        ControlMessage::Balance(what)
    }
}

impl From<CheckpointMessage> for ControlMessage {
    fn from(what: CheckpointMessage) -> ControlMessage {
        ControlMessage::Checkpoint(what)
    }
}

impl From<ObserveMessage> for ControlMessage {
    fn from(what: ObserveMessage) -> ControlMessage {
        ControlMessage::Observe(what)
    }
}

impl From<CollectionMessage> for ControlMessage {
    fn from(what: CollectionMessage) -> ControlMessage {
        ControlMessage::OfCollection(what)
    }
}

/// Whom an exit concerns, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitScope {
    /// Rank 0 is asked to end the job.
    Request,
    /// All ranks: somebody has asked rank 0.
    Everywhere,
    /// All ranks: nothing is left to do, and messages wait for chares that do not exist, or for
    /// memory of their arrays.
    Undelivered,
    /// All ranks: nothing is left to do, and nobody waits for that.
    Stalled,
}

impl ControlMessage {
    /// The message as it is sent.
    ///
    /// # Panics
    /// Never: all of these have a representation.
    #[must_use]
    pub fn encoded(&self, collection: u64) -> ActorMessage {
        let header = ActorHeader::new(MessageKind::Control, collection, None, 0);
        let body = postcard::to_allocvec(self).expect("control messages have a representation");
        ActorMessage::of(header, &body)
    }

    /// What a message says; `None` if it is not a control message of this version.
    #[must_use]
    pub fn decoded(message: &ActorMessage) -> Option<ControlMessage> {
        postcard::from_bytes(message.payload()).ok()
    }

    /// Whether quiescence detection counts it: it does not count its own messages, and those of
    /// observers.
    #[must_use]
    pub fn counts(&self) -> bool {
        !matches!(
            self,
            ControlMessage::CountMessages | ControlMessage::Counted(_) | ControlMessage::Observe(_)
        )
    }
}
