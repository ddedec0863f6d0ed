//! The end of the job, and errors that end it.

use crate::chares::ChareId;
use crate::collection::NO_TYPE;
use crate::control::{ControlMessage, ExitScope};
use crate::error::ActorError;
use crate::message::ActorHeader;
use crate::runtime::Runtime;

impl Runtime {
    pub(crate) fn exit_here(&self, code: i32, scope: ExitScope) {
        let mut state = self.state.borrow_mut();
        if state.exit.is_some() || (scope == ExitScope::Request && state.rank != 0) {
            return;
        }
        state.exit = Some(code);
        let scope = if scope == ExitScope::Request { ExitScope::Everywhere } else { scope };
        state.tell_below(&ControlMessage::Exit { code, scope });
        let is_root = state.rank == 0;
        drop(state);
        let error = match scope {
            ExitScope::Undelivered => self.first_undelivered().or_else(|| self.first_held()),
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
