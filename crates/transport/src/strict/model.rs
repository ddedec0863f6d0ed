//! The words of a section under a model checker, see `shm::model`. Payload lies in checked cells: two sides that touch
//! the same memory without order fail.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread;
use towpath_base::sync::{AtomicUsize, Words};

use super::section::{Claim, Fenced, Gate, Reader, Writer};

/// Words as the checker's atomics.
#[derive(Clone)]
struct Flags(Arc<Vec<AtomicU32>>);

impl Flags {
    fn new(count: usize) -> Flags {
        Flags(Arc::new((0..count).map(|_| AtomicU32::new(0)).collect()))
    }
}

impl Words for Flags {
    fn load_acquire(&self, index: usize) -> u32 {
        self.0[index].load(Ordering::Acquire)
    }
    fn load_relaxed(&self, index: usize) -> u32 {
        self.0[index].load(Ordering::Relaxed)
    }
    fn store_release(&self, index: usize, value: u32) {
        self.0[index].store(value, Ordering::Release);
    }
}

impl Fenced for Flags {
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Memory of a buffer, and the table that says which of it is whose, both without atomics.
#[derive(Clone)]
struct Memory(Arc<Vec<UnsafeCell<u32>>>);

impl Memory {
    fn new(count: usize) -> Memory {
        Memory(Arc::new((0..count).map(|_| UnsafeCell::new(0)).collect()))
    }
    fn write(&self, index: usize, value: u32) {
        // SAFETY: the protocol under test says that nobody else touches the cell now; the checker fails if not.
        self.0[index].with_mut(|cell| unsafe { *cell = value });
    }
    fn read(&self, index: usize) -> u32 {
        // SAFETY: as above.
        self.0[index].with(|cell| unsafe { *cell })
    }
}

/// Counts how often a branch was reached over all interleavings.
#[derive(Clone, Default)]
struct Reached(std::sync::Arc<AtomicUsize>);

impl Reached {
    fn mark(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    fn assert(&self, what: &str) {
        assert!(self.0.load(std::sync::atomic::Ordering::Relaxed) > 0, "no interleaving reached: {what}");
    }
}

fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

/// Sends `values` by the place that the table (cell 2) names: cell 0 or 1.
fn send(writer: &Writer<Flags>, memory: &Memory, values: std::ops::RangeInclusive<u32>, stepped: &Reached) {
    for value in values {
        loop {
            match writer.claim() {
                Claim::Granted(_) => break,
                Claim::Stepped => stepped.mark(),
                Claim::Taken | Claim::Closed => {}
            }
            thread::yield_now();
        }
        memory.write(memory.read(2) as usize, value);
        writer.commit(value);
    }
}

/// Takes a chunk if there is one, from where the owner's division says.
fn take(reader: &Reader<Flags>, memory: &Memory, place: usize, seen: &mut Vec<u32>) {
    if let Some(length) = reader.full() {
        seen.push(memory.read(place));
        assert_eq!(seen.last(), Some(&(length as u32)));
        reader.clear();
    }
}

/// The owner divides its buffer between two chunks of a sender that hears nothing of it: the sender's place moves, and the
/// owner writes to the old one and to the table as soon as the sender is seen out.
#[test]
fn a_buffer_is_divided_only_behind_its_senders() {
    let (waited, stepped) = (Reached::default(), Reached::default());
    let (inside, back) = (waited.clone(), stepped.clone());
    model(move || {
        let (header, word, memory) = (Flags::new(2), Flags::new(1), Memory::new(3));
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
        // The old place is somebody else's now, and the table says so.
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
