//! Messages whose last array was dropped in another thread than that of the job, which frees them.
//!
//! Their senders may wait for that, while nothing else awakens the thread of the job. So it looks
//! now and then as long as the program keeps arrays that are lent (`lending.rs`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::message::TowpathMessage;

static DROPPED: Mutex<DroppedMessages> =
    Mutex::new(DroppedMessages { messages: Vec::new(), lending: 0, is_watched: false });

struct DroppedMessages {
    messages: Vec<DroppedMessage>,
    /// Messages with lent arrays that the program has.
    lending: usize,
    /// Whether the thread of the job will look.
    is_watched: bool,
}

struct DroppedMessage(TowpathMessage);

// SAFETY: other threads only pass it on to the one that runs the job.
unsafe impl Send for DroppedMessage {}

fn dropped() -> MutexGuard<'static, DroppedMessages> {
    DROPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program has a message with arrays that are lent.
pub(crate) fn begin_lending() {
    dropped().lending += 1;
}

/// It has it no more.
pub(crate) fn end_lending() {
    dropped().lending -= 1;
}

/// Leaves a message to the thread of the job.
pub(crate) fn leave(message: TowpathMessage) {
    dropped().messages.push(DroppedMessage(message));
}

/// What was left.
pub(crate) fn take() -> Vec<TowpathMessage> {
    let messages = std::mem::take(&mut dropped().messages);
    messages.into_iter().map(|DroppedMessage(message)| message).collect()
}

/// Whether the thread of the job has to begin to look.
pub(crate) fn begins_watch() -> bool {
    let mut dropped = dropped();
    let begins = dropped.lending > 0 && !dropped.is_watched;
    dropped.is_watched |= begins;
    begins
}

/// Whether the thread of the job, which has looked, has to look again.
pub(crate) fn goes_on() -> bool {
    let mut dropped = dropped();
    dropped.is_watched = dropped.lending > 0;
    dropped.is_watched
}
