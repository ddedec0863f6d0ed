//! Loom model of the words of a section, see [`towpath_base::model`]. Payload is in checked cells:
//! unsynchronised accesses to the same memory fail.

use loom::sync::atomic::{Ordering, fence};
use loom::thread;

use super::section::{Fenced, Gate, Reader, SectionClaim, Writer};
use towpath_base::model::{Flags, Payload as Memory, Reached, model};

impl Fenced for Flags {
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Sends `values` through the cell that the table (cell 2) names: cell 0 or 1.
fn send(
    writer: &Writer<Flags>,
    memory: &Memory,
    values: std::ops::RangeInclusive<u32>,
    stepped: &Reached,
) {
    for value in values {
        loop {
            match writer.claim() {
                SectionClaim::Granted(_) => break,
                SectionClaim::Stepped => stepped.mark(),
                SectionClaim::Taken | SectionClaim::Closed => {}
            }
            thread::yield_now();
        }
        memory.write(memory.read(2) as usize, value);
        writer.commit(value);
    }
}

/// Takes a chunk, if there is one, from the cell in the owner's division.
fn take(reader: &Reader<Flags>, memory: &Memory, place: usize, seen: &mut Vec<u32>) {
    if let Some(length) = reader.full() {
        seen.push(memory.read(place));
        assert_eq!(seen.last(), Some(&(length as u32)));
        reader.clear();
    }
}

/// The owner divides its buffer between two chunks of a sender that is not told about it: the
/// sender's payload area moves, and the owner writes to the old one and to the table as soon as it
/// has seen that the sender is out.
#[test]
fn a_buffer_is_divided_only_behind_its_senders() {
    let (waited, stepped) = (Reached::default(), Reached::default());
    let (inside, back) = (waited.clone(), stepped.clone());
    model(move || {
        let (header, word, memory) = (Flags::new(2, 1), Flags::new(1, 1), Memory::new(3));
        let (writer, reader) = (Writer::new(word.clone(), header.clone()), Reader::new(header));
        let mut gate = Gate::new(word);
        gate.open();
        let (into, back) = (memory.clone(), back.clone());
        let sending = thread::spawn(move || send(&writer, &into, 1..=2, &back));
        let mut seen = Vec::new();
        take(&reader, &memory, 0, &mut seen);
        gate.close();
        while !reader.is_out() {
            inside.mark();
            take(&reader, &memory, 0, &mut seen);
            thread::yield_now();
        }
        // The old area now belongs to another sender, and the table names the new one.
        memory.write(0, 77);
        memory.write(2, 1);
        gate.open();
        while seen.len() < 2 {
            take(&reader, &memory, 1, &mut seen);
            thread::yield_now();
        }
        sending.join().unwrap();
        assert_eq!(seen, [1, 2]);
        assert_eq!(memory.read(0), 77);
    });
    waited.assert("a sender inside when the gate closes");
    stepped.assert("a sender that steps back from a gate that has just closed");
}
