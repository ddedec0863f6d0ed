//! What tests of lock-free pieces under the model checker share: words and payload of its kind, and
//! the bound of a run.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use crate::sync::{AtomicUsize, Words};

/// Flags as the checker's atomics; only the words that a test names exist.
#[derive(Clone)]
pub struct Flags {
    words: Arc<Vec<AtomicU32>>,
    stride: usize,
}

impl Flags {
    /// `count` words, `stride` apart.
    pub fn new(count: usize, stride: usize) -> Flags {
        Flags { words: Arc::new((0..count).map(|_| AtomicU32::new(0)).collect()), stride }
    }
}

impl Words for Flags {
    fn load_acquire(&self, index: usize) -> u32 {
        self.words[index / self.stride].load(Ordering::Acquire)
    }
    fn load_relaxed(&self, index: usize) -> u32 {
        self.words[index / self.stride].load(Ordering::Relaxed)
    }
    fn store_release(&self, index: usize, value: u32) {
        self.words[index / self.stride].store(value, Ordering::Release);
    }
}

/// Payload that both sides touch without atomics.
#[derive(Clone)]
pub struct Payload(Arc<Vec<UnsafeCell<u32>>>);

impl Payload {
    /// So many cells of zeros.
    pub fn new(count: usize) -> Payload {
        Payload(Arc::new((0..count).map(|_| UnsafeCell::new(0)).collect()))
    }
    /// Writes a cell that is this side's own now.
    pub fn write(&self, index: usize, value: u32) {
        // SAFETY: the protocol under test says that nobody else touches the cell now; the checker
        // fails if not.
        self.0[index].with_mut(|cell| unsafe { *cell = value });
    }
    /// Reads a cell.
    pub fn read(&self, index: usize) -> u32 {
        // SAFETY: the protocol under test says that nobody writes the cell now; the checker fails
        // if not.
        self.0[index].with(|cell| unsafe { *cell })
    }
}

/// Counts how often a branch was reached over all interleavings.
#[derive(Clone, Default)]
pub struct Reached(std::sync::Arc<AtomicUsize>);

impl Reached {
    /// The branch was reached.
    pub fn mark(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    /// # Panics
    /// When no interleaving has reached the branch.
    pub fn assert(&self, what: &str) {
        assert!(self.0.load(std::sync::atomic::Ordering::Relaxed) > 0, "no interleaving reached: {what}");
    }
}

/// Runs a test over all interleavings with at most three preemptions.
pub fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}
