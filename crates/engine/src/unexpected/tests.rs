use super::node::*;
use super::*;
use crate::bins::BinLinks;
use crate::matching::FRONT;
use crate::protocol::MESSAGE_OVERHEAD;
use proptest::prelude::*;
use towpath_base::ids::ContextId;

impl Unexpected {
    fn bytes(&self) -> usize {
        let wild: usize = self.wild.iter().map(Vec::len).sum();
        self.nodes.0.bytes() + self.buffers.bytes() + wild * size_of::<BinLinks>()
    }
}

#[derive(Clone, Debug)]
enum Event {
    Arrive(u64, u32, i32),
    Receive(u64, Option<u32>, Option<i32>),
    Cancel(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..2u64, 0..3u32, 0..3i32).prop_map(|(c, s, t)| Event::Arrive(c, s, t)),
        3 => (0..2u64, prop::option::weighted(0.6, 0..3u32), prop::option::weighted(0.6, 0..3i32))
            .prop_map(|(c, s, t)| Event::Receive(c, s, t)),
        1 => (0..64usize).prop_map(Event::Cancel),
    ]
}

fn envelope(from: u32, tag: i32, context: u64) -> Pattern {
    Pattern::message(PeerIndex(from), &[context, u64::from(tag as u32)])
}

/// Adds a message of `length` bytes, each the low byte of its sequence number.
fn add(queue: &mut Unexpected, envelope: &Pattern, sequence: u64, length: usize) {
    let bytes = vec![sequence as u8; length];
    // SAFETY: `bytes` lives until the call returns.
    unsafe { queue.add_eager(envelope, 0, sequence, (bytes.as_ptr(), length), None) };
}

/// Takes a message, frees its buffer and returns its first byte.
fn take(queue: &mut Unexpected, at: u32) -> u8 {
    let message = queue.take(at);
    // SAFETY: the messages of these tests have at least one byte.
    let first = unsafe { message.body.pointer().read() };
    if let MessageBytes::Buffered { buffer, .. } = message.body {
        queue.buffers.remove(buffer);
    }
    first
}

proptest! {
    #[test]
    fn the_oldest_match_is_taken(limit in prop_oneof![Just(3usize), Just(64)], events in prop::collection::vec(event(), 1..300)) {
        let mut queue = Unexpected::new(limit);
        let mut naive: Vec<(Pattern, u32, u64)> = Vec::new();
        for (number, event) in events.into_iter().enumerate() {
            match event {
                Event::Arrive(context, from, tag) => {
                    let envelope = envelope(from, tag, context);
                    naive.push((envelope, from, number as u64));
                    add(&mut queue, &envelope, number as u64, 1 + number % 20);
                }
                Event::Receive(context, from, tag) => {
                    let wanted = Pattern::receive(ContextId(context), from.map(PeerIndex), tag);
                    let expected = naive.iter().position(|e| e.0.matches(&wanted)).map(|i| naive.remove(i).2);
                    let found = queue.find(&wanted).map(|at| take(&mut queue, at));
                    prop_assert_eq!(found, expected.map(|sequence| sequence as u8));
                }
                Event::Cancel(which) if !naive.is_empty() => {
                    let (_, from, sequence) = naive.remove(which % naive.len());
                    let at = queue.find_sequence(PeerIndex(from), sequence).unwrap();
                    prop_assert_eq!(take(&mut queue, at), sequence as u8);
                }
                Event::Cancel(_) => {}
            }
            prop_assert_eq!((queue.waiting().count(), queue.count), (naive.len(), naive.len()));
        }
    }
}

#[test]
fn an_extracted_message_is_taken_once() {
    let mut queue = Unexpected::new(FRONT);
    add(&mut queue, &envelope(1, 2, 3), 4, 1);
    let wanted = Pattern::receive(ContextId(3), None, None);
    let at = queue.find(&wanted).unwrap();
    let generation = queue.extract(at);
    assert_eq!(queue.find(&wanted), None);
    assert!(queue.take_extracted(at, generation).is_some());
    assert!(queue.take_extracted(at, generation).is_none());
}

#[test]
fn a_message_of_an_integer_takes_64_bytes_and_gives_them_back() {
    const COUNT: usize = 100_000;
    let mut queue = Unexpected::new(FRONT);
    let exact = Pattern::receive(ContextId(1), Some(PeerIndex(1)), Some(1));
    let wild = Pattern::receive(ContextId(1), None, Some(1));
    for (length, limit) in [(4, 64), (40, 64 + 48), (1000, 64 + 1024)] {
        (0..COUNT).for_each(|number| add(&mut queue, &envelope(1, 1, 1), number as u64, length));
        assert!(
            queue.find(&Pattern { context: 2, ..exact }).is_none()
                && queue.find(&Pattern { context: 2, ..wild }).is_none()
        );
        // Blocks are counted as a whole, so allow for partly used ones.
        let bytes = queue.bytes().saturating_sub(512 << 10);
        assert!(bytes <= COUNT * limit, "{} bytes for a message of {length}", bytes / COUNT);
        for number in 0..COUNT {
            let at = queue.find(if number % 2 == 0 { &exact } else { &wild }).expect("it is there");
            assert_eq!(take(&mut queue, at), number as u8);
        }
        assert!(queue.is_empty() && queue.bytes() <= 2 << 20, "{} bytes stay", queue.bytes());
    }
}

#[test]
fn the_overhead_covers_a_node_and_its_links() {
    assert!(size_of::<Node>() + size_of::<BinLinks>() <= MESSAGE_OVERHEAD, "{}", size_of::<Node>());
}
