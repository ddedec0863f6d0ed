//! Messages to one rank that are sent together. While the MPI library has sends that are not
//! complete, one more send per message would only make it slower, and take more memory than the
//! message.

use towpath_actors::arrays::PooledArray;
use towpath_actors::message::PREFIX_BYTES;
use towpath_actors::{ActorMessage, ArrayMemory};

use crate::slots::SLOT_BYTES;

/// Longer messages are sent by themselves.
pub(crate) const LONGEST: usize = 1 << 10;
/// In front of every message: twice its length, and one more if it is without its prefix.
const LENGTH: usize = size_of::<u64>();

/// Messages that wait to be sent, one behind the other, each from a multiple of 8 bytes on.
#[derive(Debug)]
pub(crate) struct MessageBatch {
    memory: PooledArray,
    used: usize,
}

impl MessageBatch {
    /// A batch without messages.
    pub(crate) fn new() -> MessageBatch {
        MessageBatch { memory: PooledArray::new(SLOT_BYTES), used: 0 }
    }

    /// Adds a message, if there is room. Whether there was.
    pub(crate) fn add(&mut self, message: &ActorMessage) -> bool {
        let is_shorter = message.prefix_is_zero();
        let sent = &message.bytes()[if is_shorter { PREFIX_BYTES } else { 0 }..];
        let begin = self.used.next_multiple_of(LENGTH);
        let Some(room) = self.memory.bytes_mut().get_mut(begin..begin + LENGTH + sent.len()) else {
            return false;
        };
        let (length, behind) = room.split_at_mut(LENGTH);
        length.copy_from_slice(&((sent.len() as u64) << 1 | u64::from(is_shorter)).to_ne_bytes());
        behind.copy_from_slice(sent);
        self.used = begin + room.len();
        true
    }

    /// What is sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[..self.used]
    }
}

/// The messages of a batch that has arrived; `None` if it is none.
pub(crate) fn messages(mut batch: &[u8]) -> Option<Vec<ActorMessage>> {
    let mut all = Vec::new();
    while let Some((length, behind)) = batch.split_first_chunk::<LENGTH>() {
        let length = u64::from_ne_bytes(*length);
        let bytes = usize::try_from(length >> 1).ok()?;
        let sent = behind.get(..bytes)?;
        let is_shorter = length & 1 == 1;
        all.push(if is_shorter {
            ActorMessage::with_prefix(sent)
        } else {
            ActorMessage::received(sent)
        }?);
        batch = behind.get(bytes.next_multiple_of(LENGTH)..).unwrap_or(&[]);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_actors::message::{ActorHeader, MessageKind};

    fn message(entry: u32, priority: i32, payload: usize) -> ActorMessage {
        let mut header = ActorHeader::new(MessageKind::Invoke, 7, None, entry);
        header.priority = priority;
        ActorMessage::of(header, &vec![entry as u8; payload])
    }

    #[test]
    fn messages_arrive_as_they_were_added() {
        let mut batch = MessageBatch::new();
        let all: Vec<ActorMessage> =
            (0..9).map(|at| message(at, at.cast_signed() % 2, at as usize * 5)).collect();
        assert!(all.iter().all(|message| batch.add(message)));
        let arrived = messages(batch.bytes()).unwrap();
        let bytes = |all: &[ActorMessage]| all.iter().map(|one| one.bytes().to_vec()).collect();
        let (sent, arrived): (Vec<_>, Vec<_>) = (bytes(&all), bytes(&arrived));
        assert_eq!(sent, arrived);
    }

    #[test]
    fn a_full_batch_takes_no_more() {
        let (mut batch, long) = (MessageBatch::new(), message(1, 1, LONGEST));
        let count = std::iter::from_fn(|| batch.add(&long).then_some(())).count();
        assert_eq!(count, SLOT_BYTES / (LONGEST + 72));
        assert_eq!(messages(batch.bytes()).unwrap().len(), count);
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        assert!(messages(&[3; 16]).is_none(), "longer than what has arrived");
        assert!(messages(&20u64.to_ne_bytes()).is_none());
        let short: Vec<u8> = [16u64, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(messages(&short).is_none(), "shorter than a header");
    }
}
