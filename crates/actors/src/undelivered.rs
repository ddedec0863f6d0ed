//! Messages that were not delivered, because there is no chare for them.

use crate::chares::ChareId;
use crate::error::ActorError;
use crate::location::{HomeMap, Lookup};
use crate::message::{ActorHeader, MessageHandle, MessageKind};
use crate::runtime::Runtime;
use crate::state::State;

/// Why messages wait, as the end of a sentence about their chare.
const DELETED: &str = "has been deleted";
const NEVER_MADE: &str = "was never made";
/// Of single chares, whose names nobody keeps.
const UNKNOWN: &str = "was never made or has been deleted";
const EXISTS: &str = "exists, so it was not made again";
const NO_COLLECTION: &str = "is in a collection that was never made";
const NO_MEMBER: &str = "is in a section whose members were not all made";

/// Messages of one method for one chare that wait.
struct WaitingMessages {
    first: ActorHeader,
    why: &'static str,
    messages: usize,
}

impl State {
    /// The messages that wait on this rank, in the order of chares.
    fn waiting(&self) -> Vec<WaitingMessages> {
        let mut all = Vec::new();
        let mut add = |messages: &[MessageHandle], why| {
            all.extend(messages.iter().map(|message| (*message.header(), why)));
        };
        for collection in self.collections.values() {
            for (index, messages) in &collection.waiting {
                let why = match collection.location.find(index) {
                    Lookup::Deleted => DELETED,
                    _ if *collection.location.map() == HomeMap::SingleChares => UNKNOWN,
                    _ => NEVER_MADE,
                };
                add(messages, why);
            }
            add(&collection.unfilled, NEVER_MADE);
            collection.inserting.values().for_each(|requests| add(requests, EXISTS));
            for section in collection.sections.values() {
                add(&section.members.held, NO_MEMBER);
            }
        }
        let early = self.early.values().flatten();
        all.extend(early.map(|ahead| (*ahead.message.header(), NO_COLLECTION)));
        let key = |header: &ActorHeader| (header.collection, header.index(), header.entry);
        all.sort_by_key(|(header, _)| key(header));
        let groups = all.chunk_by(|(one, why), (other, reason)| {
            key(one) == key(other) && one.kind() == other.kind() && why == reason
        });
        groups
            .map(|group| WaitingMessages {
                first: group[0].0,
                why: group[0].1,
                messages: group.len(),
            })
            .collect()
    }
}

impl Runtime {
    /// A sentence for each method of a chare of which messages wait on this rank for a chare that
    /// was deleted or never made. After the end of the job, nobody will deliver them.
    #[must_use]
    pub fn undelivered(&self) -> Vec<String> {
        let waiting = self.state.borrow().waiting();
        let said = waiting.iter().map(|WaitingMessages { first, why, messages }| {
            let (chare, method) = self.addressee(first);
            let (messages, were) = if *messages == 1 {
                ("1 message".into(), "was")
            } else {
                (format!("{messages} messages"), "were")
            };
            format!("{messages} of {method} {were} not delivered: {chare} {why}")
        });
        said.collect()
    }

    /// The first of them.
    pub(crate) fn first_undelivered(&self) -> Option<ActorError> {
        let state = self.state.borrow();
        let (waiting, all) = (state.waiting(), state.counts.waiting);
        drop(state);
        let WaitingMessages { first, why, .. } = waiting.first()?;
        let (chare, method) = self.addressee(first);
        Some(ActorError::Undelivered { chare, method, why, waiting: all })
    }

    /// The chare with its index, or the type of several, and the method.
    fn addressee(&self, header: &ActorHeader) -> (String, String) {
        let id = ChareId::of(header);
        let (mut chare, mut method) = self.named(id, header.entry);
        if !id.index.words().is_empty() {
            chare += &id.index.to_string();
        }
        if header.kind() == Some(MessageKind::Join) {
            method = "a section".into();
        }
        (chare, method)
    }
}
