//! Results of reductions, and who is told of them.

use crate::callback::ChareCallback;
use crate::collection::{Collection, CollectionId};
use crate::control::{CollectionMessage, ControlMessage};
use crate::error::ActorError;
use crate::index::Index;
use crate::message::{ActorHeader, ActorMessage, MessageKind, RESULT};
use crate::reducers;
use crate::reduction::{Contribution, ReductionMessage, ReductionStep};
use crate::runtime::{Processed, Runtime};
use crate::section::{SectionId, SectionMessage};

impl Runtime {
    /// How contributions are combined.
    pub(crate) fn combining(
        &self,
    ) -> impl Fn(u32, &mut Vec<u8>, &[u8]) -> Result<(), String> + use<'_> {
        |reducer, into, value| {
            reducers::combine(reducer, into, value, &|reducer, into, value| {
                self.chares.combine(reducer, into, value)
            })
        }
    }

    /// What is combined of a value that an element contributes.
    pub(crate) fn prepared(
        &self,
        chare: u32,
        reducer: u32,
        value: Vec<u8>,
    ) -> Result<Vec<u8>, ActorError> {
        reducers::prepared(reducer, value).map_err(|reason| {
            let chare = self.chares.chare_name(chare);
            ActorError::Reduction { chare, reason }
        })
    }

    /// Does what reductions over a collection ask for.
    pub(crate) fn follow(
        &self,
        id: CollectionId,
        chare: u32,
        steps: Result<Vec<ReductionStep>, String>,
    ) -> Processed {
        let client = |known: &mut Collection| known.client.clone();
        self.follow_in(id, chare, steps, client, CollectionMessage::Reduction)
    }

    /// On the rank that has made a collection: who is told of results of reductions over it whose
    /// contributions name nobody. Whether it was made here.
    pub fn set_reduction_client(&self, id: CollectionId, client: ChareCallback) -> bool {
        let mut state = self.state.borrow_mut();
        let is_root = id.root(state.ranks) == state.rank;
        let collection = state.collections.get_mut(&id).filter(|_| is_root);
        collection.is_some_and(|known| {
            known.client = Some(client);
            true
        })
    }

    /// The same of a section, on the rank that has made it. Whether it was made here.
    ///
    /// # Errors
    /// The section is of before the restart.
    pub fn set_section_client(
        &self,
        section: SectionId,
        client: ChareCallback,
    ) -> Result<bool, ActorError> {
        self.check_is_new_section(section)?;
        let mut state = self.state.borrow_mut();
        let is_root = state.has_made(section);
        if is_root {
            // Behind the members: this rank may not know the collection yet.
            let rank = state.rank;
            let client = CollectionMessage::Section(section, SectionMessage::Client(client));
            state.tell(rank, section.collection, client);
        }
        Ok(is_root)
    }

    /// Does what reductions over a section ask for.
    pub(crate) fn follow_section(
        &self,
        section: SectionId,
        chare: u32,
        steps: Result<Vec<ReductionStep>, String>,
    ) -> Processed {
        let client = |known: &mut Collection| known.section(section).members.client.clone();
        self.follow_in(section.collection, chare, steps, client, |message| {
            CollectionMessage::Section(section, SectionMessage::Reduction(message))
        })
    }

    /// Results that no contribution has a callback for are for the client.
    fn follow_in(
        &self,
        id: CollectionId,
        chare: u32,
        steps: Result<Vec<ReductionStep>, String>,
        client: impl Fn(&mut Collection) -> Option<ChareCallback>,
        said: impl Fn(ReductionMessage) -> CollectionMessage,
    ) -> Processed {
        let failed = |reason| {
            let chare = self.chares.chare_name(chare);
            ActorError::Reduction { chare, reason }
        };
        let steps = steps.map_err(failed)?;
        for step in steps {
            match step {
                ReductionStep::Send(rank, message) => {
                    self.state.borrow_mut().tell(rank, id, said(message));
                }
                ReductionStep::Complete(Contribution { callback, value, reducer, .. }) => {
                    let value = reducers::finished(reducer, value).map_err(failed)?;
                    let callback = callback.or_else(|| {
                        let known = &mut self.state.borrow_mut().collections;
                        known.get_mut(&id).and_then(&client)
                    });
                    self.noticed(self.call(callback.unwrap_or(ChareCallback::Ignore), &value));
                }
            }
        }
        Ok(())
    }

    /// Calls a function of this rank.
    pub(crate) fn call_function(&self, function: u64, value: &[u8]) -> Processed {
        let called = self.chares.call_back(self, function, value);
        called.map_err(|reason| ActorError::Function { rank: self.rank(), reason })
    }

    /// Gives a result to a callback.
    ///
    /// # Errors
    /// No element can have its index, or there is no such rank.
    pub fn call(&self, callback: ChareCallback, value: &[u8]) -> Processed {
        let result = |kind, collection, index: Option<&Index>, entry, reference| {
            let mut header = ActorHeader::new(kind, collection, index, entry);
            (header.flags, header.reference) = (RESULT, reference);
            ActorMessage::of(header, value)
        };
        match callback {
            ChareCallback::Ignore => {}
            ChareCallback::Exit => self.exit(0),
            ChareCallback::Chare { collection, index, entry, reference } => {
                let kind = MessageKind::Invoke;
                self.invoke(result(kind, collection, Some(&index), entry, reference))?;
            }
            ChareCallback::All { collection, entry, reference } => {
                let kind = MessageKind::Broadcast;
                self.broadcast(result(kind, collection, None, entry, reference));
            }
            ChareCallback::Section { collection, root, number, entry, reference } => {
                let section = SectionId { collection: CollectionId(collection), root, number };
                let kind = MessageKind::MulticastRequest;
                self.multicast(section, result(kind, collection, None, entry, reference))?;
            }
            ChareCallback::Function { rank, function } => {
                self.check_rank(Some(rank))?;
                let value = value.to_vec();
                let call = ControlMessage::CallBack { function, value };
                self.state.borrow_mut().tell(rank, CollectionId::SINGLE_CHARES, call);
            }
        }
        Ok(())
    }
}
