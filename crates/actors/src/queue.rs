//! The scheduler's queue: expedited messages first, then by priority, the smallest first. A message
//! without priority has priority 0. Messages of one priority leave in the order in which they came,
//! or, to test programs, in a random one: Charm++ promises none.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;

use crate::message::{EXPEDITED, LONG_PRIORITY, MessageHandle, PRIORITY};

/// In which order messages of the same priority leave the queue.
#[derive(Clone, Debug, Default)]
pub enum QueueOrder {
    /// As they came.
    #[default]
    Fifo,
    /// Random.
    Random(Rng),
}

impl QueueOrder {
    /// A random order, which the seed gives again on the same rank.
    #[must_use]
    pub fn seeded(seed: u64, rank: u32) -> QueueOrder {
        // Ranks shall not have the same order.
        QueueOrder::Random(Rng::with_seed(seed ^ u64::from(rank).rotate_right(32)))
    }
}

/// Messages that wait for the scheduler.
#[derive(Debug, Default)]
pub struct MessageQueue {
    order: QueueOrder,
    expedited: VecDeque<MessageHandle>,
    normal: VecDeque<MessageHandle>,
    prioritized: BinaryHeap<Prioritized>,
    /// How many prioritized messages have come.
    arrivals: u64,
}

/// Greater is more urgent.
#[derive(Debug)]
struct Prioritized {
    priority: i32,
    arrival: u64,
    message: MessageHandle,
}

impl MessageQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(order: QueueOrder) -> MessageQueue {
        MessageQueue { order, ..MessageQueue::default() }
    }

    /// Puts a message where its header says.
    pub fn push(&mut self, message: MessageHandle) {
        let header = *message.header();
        if header.flags & EXPEDITED != 0 {
            self.expedited.push_back(message);
        } else if header.flags & PRIORITY != 0
            && (header.priority != 0 || header.flags & LONG_PRIORITY != 0)
        {
            self.arrivals += 1;
            let (priority, arrival) = (header.priority, self.arrivals);
            self.prioritized.push(Prioritized { priority, arrival, message });
        } else {
            self.normal.push_back(message);
        }
    }

    /// The most urgent message.
    pub fn pop(&mut self) -> Option<MessageHandle> {
        if let Some(message) = self.expedited.pop_front() {
            return Some(message);
        }
        let urgent = self.prioritized.peek().is_some_and(Prioritized::is_urgent);
        if urgent || self.normal.is_empty() {
            return self.prioritized.pop().map(|first| first.message);
        }
        match &mut self.order {
            QueueOrder::Fifo => self.normal.pop_front(),
            QueueOrder::Random(random) => {
                let at = random.usize(..self.normal.len());
                self.normal.swap_remove_front(at)
            }
        }
    }

    /// How many messages wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.expedited.len() + self.normal.len() + self.prioritized.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Prioritized {
    /// Whether it leaves before messages without priority.
    fn is_urgent(&self) -> bool {
        self.priority < 0 || self.priority == 0 && self.message.rest_of_priority() < (&[], 32)
    }
}

impl Ord for Prioritized {
    fn cmp(&self, other: &Prioritized) -> Ordering {
        let rest = || other.message.rest_of_priority().cmp(&self.message.rest_of_priority());
        let first = other.priority.cmp(&self.priority);
        first.then_with(rest).then(other.arrival.cmp(&self.arrival))
    }
}

impl PartialOrd for Prioritized {
    fn partial_cmp(&self, other: &Prioritized) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Prioritized {
    fn eq(&self, other: &Prioritized) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Prioritized {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ActorHeader, ActorMessage, MessageKind};
    use crate::priority::BitPriority;

    fn message(entry: u32, flags: u16, priority: i32) -> MessageHandle {
        let mut header = ActorHeader::new(MessageKind::Invoke, 0, None, entry);
        (header.flags, header.priority) = (flags, priority);
        ActorMessage::new(header, 0).into()
    }

    fn drained(queue: &mut MessageQueue) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).map(|message| message.header().entry).collect()
    }

    #[test]
    fn messages_leave_by_priority_and_expedited_ones_first() {
        let mut queue = MessageQueue::default();
        let all = [(1, 0, 9), (2, PRIORITY, 5), (3, PRIORITY, -5), (4, 0, 0), (5, EXPEDITED, 0)];
        for (entry, flags, priority) in all {
            queue.push(message(entry, flags, priority));
        }
        queue.push(message(6, PRIORITY, -5));
        queue.push(message(7, PRIORITY, 0));
        assert_eq!(queue.len(), 7);
        assert_eq!(drained(&mut queue), [5, 3, 6, 1, 4, 7, 2]);
    }

    #[test]
    fn strings_of_bits_leave_in_the_order_of_dictionaries_and_integers_among_them() {
        let string = |entry, text: &str| {
            let mut words = vec![0; text.len().div_ceil(32)];
            for (at, _) in text.match_indices('1') {
                words[at / 32] |= 1 << (31 - at % 32);
            }
            let priority = BitPriority::new(&words, text.len() as u32).unwrap();
            let header = ActorHeader::new(MessageKind::Invoke, 0, None, entry);
            let mut message = ActorMessage::prioritized(header, &priority, 3);
            message.payload_mut().copy_from_slice(b"abc");
            assert_eq!(message.payload(), b"abc");
            assert_eq!(message.copy(*message.header()).bytes(), message.bytes());
            MessageHandle::from(message)
        };
        let zeros = "0".repeat(31);
        let in_order = [
            string(0, ""),
            string(1, "0"),
            string(2, &format!("01{zeros}")),
            string(3, &format!("01{zeros}1")),
            message(4, PRIORITY, -1),
            string(5, "1"),
            string(6, "10"),
            string(7, &format!("1{zeros}")),
            message(8, 0, 0),
            string(9, &format!("1{zeros}0")),
            string(10, &format!("1{zeros}{zeros}{zeros}")),
            string(11, &format!("1{zeros}{zeros}{zeros}1")),
            string(12, &format!("1{zeros}1")),
            message(13, PRIORITY, 1),
            string(14, "11"),
        ];
        for seed in 0..20 {
            let mut queue = MessageQueue::default();
            let mut all: Vec<_> = in_order.iter().map(|m| m.copy(*m.header())).collect();
            Rng::with_seed(seed).shuffle(&mut all);
            // Integer 0 is no priority: the string of its bits leaves with such messages.
            all.sort_by_key(|message| message.header().entry == 8);
            all.into_iter().for_each(|message| queue.push(message.into()));
            assert!(drained(&mut queue).into_iter().eq(0..15), "seed {seed}");
        }
    }

    #[test]
    fn a_random_order_keeps_priorities_and_loses_no_message() {
        let mut queue = MessageQueue::new(QueueOrder::Random(Rng::with_seed(3)));
        for entry in 0..100 {
            queue.push(message(entry, 0, 0));
        }
        queue.push(message(100, PRIORITY, -1));
        let mut entries = drained(&mut queue);
        assert_eq!(entries.remove(0), 100);
        assert!(!entries.is_sorted());
        entries.sort_unstable();
        assert!(entries.into_iter().eq(0..100));
    }
}
