//! The start of the job: rank 0 makes its main chares and sends the read-only data; other ranks
//! keep what arrives before it.

use crate::control::ControlMessage;
use crate::error::ActorError;
use crate::message::{ActorMessage, MessageKind};
use crate::runtime::{Processed, Runtime};

impl Runtime {
    /// Lets this rank keep what arrives until rank 0 has called [`Runtime::begin`].
    pub fn hold(&self) {
        self.state.borrow_mut().held = Some(Vec::new());
    }

    /// On rank 0: lets all ranks begin, with this read-only data, if their programs have this
    /// fingerprint.
    pub fn begin(&self, fingerprint: u64, data: Vec<u8>) {
        let mut state = self.state.borrow_mut();
        if state.rank == 0 {
            state.program = Some((fingerprint, data.clone()));
        }
        let begin = ControlMessage::Begin { fingerprint, data };
        state.tell_below(&begin);
    }

    /// What has arrived, unless it is kept. A rank that has not begun may be told to end.
    #[inline]
    pub(crate) fn let_in(&self, from: u32, message: ActorMessage) -> Option<ActorMessage> {
        let mut state = self.state.borrow_mut();
        let Some(held) = &mut state.held else { return Some(message) };
        if is_first(&message) {
            return Some(message);
        }
        held.push((from, message));
        None
    }

    pub(crate) fn begin_here(&self, fingerprint: u64, data: Vec<u8>) -> Processed {
        let rank = self.rank();
        let begun = self.chares.begin(fingerprint, &data);
        begun.map_err(|reason| ActorError::Begin { rank, reason })?;
        self.begin(fingerprint, data);
        let held = self.state.borrow_mut().held.take();
        for (from, message) in held.into_iter().flatten() {
            self.noticed(self.handle(message.into(), Some(from)));
        }
        Ok(())
    }
}

/// Whether a rank takes this in before it has begun.
fn is_first(message: &ActorMessage) -> bool {
    if message.header().kind() != Some(MessageKind::Control) {
        return false;
    }
    let control = ControlMessage::decoded(message);
    matches!(
        control,
        Some(
            ControlMessage::Begin { .. } | ControlMessage::Exit { .. } | ControlMessage::Observe(_)
        )
    )
}
