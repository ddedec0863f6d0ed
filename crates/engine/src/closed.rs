//! Contexts of freed communicators, whose unreceived messages can be dropped.
//!
//! A context is not reused for a long time. A message can still be in flight when its communicator
//! is freed, but not for long, so only the most recently closed contexts are remembered.

use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use towpath_base::events::Subscriber;
use towpath_base::ids::ContextId;
use towpath_transport::JobWire;

use crate::Engine;
use crate::bins::EnvelopeHasher;
use crate::unexpected::MessageBytes;

/// Number of contexts remembered.
const REMEMBERED: usize = 4096;

/// The most recently closed contexts.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    contexts: HashSet<u64, BuildHasherDefault<EnvelopeHasher>>,
    order: VecDeque<u64>,
}

impl Closed {
    /// True if the context was closed recently.
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

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Declares that no further receive will use this context. Drops its messages, queued ones and
    /// later arrivals, and returns their memory and credit. Receives already posted still get
    /// theirs, and messages whose sender waits for a receive stay.
    pub fn close_context(&mut self, context: ContextId) {
        let state = &mut self.state;
        state.closed.add(context.0);
        let queue = &state.unexpected;
        let dropped: Vec<u32> =
            queue.waiting().filter(|at| queue.is_unwanted(*at, context.0)).collect();
        for at in dropped {
            let message = state.unexpected.take(at);
            match message.body {
                MessageBytes::Announced(key) => state.release_sender(message.from, key),
                MessageBytes::Fetching(fetch) => state.abandon_fetch(fetch),
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
        assert!(
            closed.has(last)
                && closed.has(last + 1 - REMEMBERED as u64)
                && !closed.has(last - REMEMBERED as u64)
        );
        assert_eq!((closed.order.len(), closed.contexts.len()), (REMEMBERED, REMEMBERED));
    }
}
