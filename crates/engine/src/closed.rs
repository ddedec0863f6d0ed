//! Contexts of communicators that were freed: messages of them that nobody has received never will
//! be.
//!
//! Contexts are not used again for a long time. A message may still be under way when its
//! communicator is freed, but not for long, so only the contexts that were closed last are
//! remembered.

use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use towpath_base::ids::ContextId;
use towpath_transport::Wire;

use crate::Engine;
use crate::bins::Fold;
use crate::unexpected::Body;

/// How many contexts are remembered.
const REMEMBERED: usize = 4096;

/// The contexts that were closed last.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    contexts: HashSet<u64, BuildHasherDefault<Fold>>,
    order: VecDeque<u64>,
}

impl Closed {
    /// Whether the context was closed.
    pub(crate) fn has(&self, context: u64) -> bool {
        !self.order.is_empty() && self.contexts.contains(&context)
    }

    fn add(&mut self, context: u64) {
        if !self.contexts.insert(context) {
            return;
        }
        self.order.push_back(context);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.contexts.remove(&oldest);
        }
    }
}

impl<W: Wire> Engine<W> {
    /// No receive will ask for this context again: drops its messages, those that are here and
    /// those that come, and gives their memory and credit back. Receives that are posted get theirs
    /// all the same, and messages whose sender waits for a receive stay.
    pub fn close_context(&mut self, context: ContextId) {
        let state = &mut self.state;
        state.closed.add(context.0);
        let queue = &state.unexpected;
        let dropped: Vec<u32> = queue.waiting().filter(|at| queue.is_unwanted(*at, context.0)).collect();
        for at in dropped {
            let message = state.unexpected.take(at);
            match message.body {
                Body::Announced(key) => state.release_sender(message.from, key),
                Body::Fetching(fetch) => state.abandon_fetch(fetch),
                body => state.matched(message.from, message.length as usize, None, body),
            }
        }
        self.act();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contexts_closed_last_are_remembered() {
        let mut closed = Closed::default();
        assert!(!closed.has(0));
        (0..3 * REMEMBERED as u64).for_each(|context| closed.add(context / 2));
        let last = 3 * REMEMBERED as u64 / 2 - 1;
        assert!(closed.has(last) && closed.has(last + 1 - REMEMBERED as u64) && !closed.has(last - REMEMBERED as u64));
        assert_eq!((closed.order.len(), closed.contexts.len()), (REMEMBERED, REMEMBERED));
    }
}
