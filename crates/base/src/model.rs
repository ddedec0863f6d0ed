//! Test support for running lock-free code under loom: [`Words`] over loom's atomics, payload that
//! loom checks for data races, and a bounded model run.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use crate::sync::{AtomicUsize, Words};

/// [`Words`] over loom's atomics. Only every `stride`-th word exists.
#[derive(Clone)]
pub struct Flags {
    words: Arc<Vec<AtomicU32>>,
    stride: usize,
}

impl Flags {
    /// `count` words with indices `0, stride, 2 * stride, ...`.
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

/// Payload that both sides access without atomics.
#[derive(Clone)]
pub struct Payload(Arc<Vec<UnsafeCell<u32>>>);

impl Payload {
    /// `count` cells of zeros.
    pub fn new(count: usize) -> Payload {
        Payload(Arc::new((0..count).map(|_| UnsafeCell::new(0)).collect()))
    }
    /// Writes a cell. The protocol under test must give this side exclusive access.
    pub fn write(&self, index: usize, value: u32) {
        // SAFETY: the protocol under test gives this thread exclusive access to the cell; loom
        // fails the run otherwise.
        self.0[index].with_mut(|cell| unsafe { *cell = value });
    }
    /// Reads a cell. The protocol under test must exclude concurrent writes.
    pub fn read(&self, index: usize) -> u32 {
        // SAFETY: under the protocol being tested no other thread writes the cell concurrently;
        // loom fails the run otherwise.
        self.0[index].with(|cell| unsafe { *cell })
    }
}

/// Counts how often a branch is reached over all interleavings.
#[derive(Clone, Default)]
pub struct Reached(std::sync::Arc<AtomicUsize>);

impl Reached {
    /// Records that the branch was reached.
    pub fn mark(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    /// Asserts that at least one interleaving has reached the branch.
    ///
    /// # Panics
    /// If none has.
    pub fn assert(&self, what: &str) {
        assert!(
            self.0.load(std::sync::atomic::Ordering::Relaxed) > 0,
            "no interleaving reached: {what}"
        );
    }
}

/// Runs `test` over all interleavings with at most three preemptions.
pub fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}
