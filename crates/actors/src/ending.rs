//! Quiescence, the end of the job, and errors that end it.

use crate::callback::ChareCallback;
use crate::chares::ChareId;
use crate::collection::{CollectionId, NO_TYPE};
use crate::control::{ControlMessage, ExitScope};
use crate::error::ActorError;
use crate::message::ActorHeader;
use crate::quiescence::WaveStep;
use crate::runtime::Runtime;

impl Runtime {
    /// At rank 0: somebody wants to be told of quiescence.
    pub(crate) fn await_quiescence(&self, callback: ChareCallback) {
        let mut state = self.state.borrow_mut();
        state.quiescence_clients.push(callback);
        let is_active = state.quiescence.is_active();
        drop(state);
        if !is_active {
            self.count_messages();
        }
    }

    /// Starts a wave of quiescence detection here and below.
    pub(crate) fn count_messages(&self) {
        let mut state = self.state.borrow_mut();
        state.quiescence.begin();
        for child in state.job_tree().children() {
            let count = ControlMessage::CountMessages;
            state.tell(child, CollectionId::SINGLE_CHARES, count);
        }
    }

    /// The rank has nothing to do: answers a wave. Whether there was one.
    pub(crate) fn idle(&self) -> bool {
        let mut state = self.state.borrow_mut();
        let (counts, tree) = (state.counts, state.job_tree());
        let Some(step) = state.quiescence.idle(counts, tree.parent().is_none()) else {
            return false;
        };
        match step {
            WaveStep::Start(counts) => {
                let is_awaited = !state.quiescence_clients.is_empty();
                let goes_on = state.stall.found_work(counts.are_balanced()) || is_awaited;
                drop(state);
                if goes_on {
                    self.count_messages();
                }
            }
            WaveStep::Report(counts) => {
                let counted = ControlMessage::Counted(counts);
                let parent = tree.parent().unwrap_or(0);
                state.tell(parent, CollectionId::SINGLE_CHARES, counted);
            }
            WaveStep::Quiescent(counts) => {
                state.stall.end();
                drop(state);
                if counts.waiting > 0 && counts.outside == 0 {
                    self.exit_here(1, ExitScope::Undelivered);
                    return true;
                }
                match self.is_for_checkpoint() {
                    Ok(false) => {}
                    Ok(true) => return true,
                    Err(error) => {
                        self.fail(error);
                        return true;
                    }
                }
                let clients = std::mem::take(&mut self.state.borrow_mut().quiescence_clients);
                if clients.is_empty() {
                    self.stalled(counts.outside);
                }
                for client in clients {
                    if let Err(error) = self.call(client, &[]) {
                        self.fail(error);
                    }
                }
            }
        }
        true
    }

    pub(crate) fn exit_here(&self, code: i32, scope: ExitScope) {
        let mut state = self.state.borrow_mut();
        if state.exit.is_some() || (scope == ExitScope::Request && state.rank != 0) {
            return;
        }
        state.exit = Some(code);
        let scope = if scope == ExitScope::Request { ExitScope::Everywhere } else { scope };
        for child in state.job_tree().children() {
            let exit = ControlMessage::Exit { code, scope };
            state.tell(child, CollectionId::SINGLE_CHARES, exit);
        }
        let has_waiting = state.counts.waiting > 0;
        let is_root = state.rank == 0;
        drop(state);
        let error = match scope {
            ExitScope::Undelivered if has_waiting => self.first_undelivered(),
            ExitScope::Stalled if is_root => Some(ActorError::Stalled),
            _ => None,
        };
        let mut state = self.state.borrow_mut();
        state.error = state.error.take().or(error);
    }

    pub(crate) fn unknown(&self) -> ActorError {
        ActorError::Unknown { rank: self.rank() }
    }

    pub(crate) fn named(&self, id: ChareId, entry: u32) -> (String, String) {
        let state = self.state.borrow();
        let chare = state.collections.get(&id.collection).map(|collection| {
            collection.element(&id.index).map_or(collection.chare, |element| element.chare)
        });
        drop(state);
        let chare = chare.filter(|chare| *chare != NO_TYPE);
        let chare = chare.map_or_else(|| "chare".into(), |chare| self.chares.chare_name(chare));
        (chare, self.chares.entry_name(entry))
    }

    pub(crate) fn no_such_index(&self, id: ChareId, entry: u32) -> ActorError {
        let (chare, method) = self.named(id, entry);
        ActorError::NoSuchIndex { chare, method, index: id.index }
    }

    pub(crate) fn misdirected(&self, header: &ActorHeader) -> ActorError {
        self.no_such_index(ChareId::of(header), header.entry)
    }

    pub(crate) fn method_failed(&self, id: ChareId, entry: u32, reason: String) -> ActorError {
        let (chare, method) = self.named(id, entry);
        ActorError::Method { chare, method, index: id.index, reason }
    }
}
