//! The clocks by which methods are measured.
//!
//! What counts is the time for which a method had the processor. Reading that clock is a system
//! call; the clock of the host is not. A method that was interrupted takes as long as the time
//! slice of another process at least, so only long methods are corrected: by what the processor's
//! clock said when it was read last. It is read before a method too if that was long ago, so that
//! interruptions between methods do not count.
//!
//! A method may run inside another one, as constructors do. Its time is its own.

use crate::layer::MachineLayer;

/// Nanoseconds in which a method, or what is between methods, may have been interrupted.
const LONG: u64 = 200_000;

/// Two clocks, and what they have shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    /// When both were read last, at the same moment.
    time: u64,
    processor: u64,
    /// How long all methods that have ended have run, and for how long they were interrupted.
    ran: u64,
    interrupted: u64,
}

/// A method has begun: the moment, and what the clocks had shown until then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MethodStart {
    pub(crate) time: u64,
    ran: u64,
    interrupted: u64,
}

impl Clocks {
    /// Reads both. What has happened since they were read last does not count.
    pub(crate) fn restart(&mut self, layer: &dyn MachineLayer) {
        (self.time, self.processor) = (layer.time(), layer.processor_time());
    }

    /// How long all methods that have ended have run.
    pub(crate) fn ran(&self) -> u64 {
        self.ran
    }

    /// A method begins.
    pub(crate) fn begin(&mut self, layer: &dyn MachineLayer) -> MethodStart {
        let now = layer.time();
        let is_late = now.saturating_sub(self.time) >= LONG;
        let time = if is_late { self.read(layer) } else { now };
        MethodStart { time, ran: self.ran, interrupted: self.interrupted }
    }

    /// How long a method has run that has ended, without those that have run inside it.
    pub(crate) fn end(&mut self, begun: MethodStart, layer: &dyn MachineLayer) -> u64 {
        let mut passed = layer.time().saturating_sub(begun.time);
        if passed >= LONG {
            self.read(layer);
            passed = passed.saturating_sub(self.interrupted - begun.interrupted);
        }
        let own = passed.saturating_sub(self.ran - begun.ran);
        self.ran += own;
        own
    }

    /// Reads both: the moment. This thread was interrupted whenever it did not have the processor.
    fn read(&mut self, layer: &dyn MachineLayer) -> u64 {
        let (time, processor) = (layer.time(), layer.processor_time());
        let passed = time.saturating_sub(self.time);
        self.interrupted += passed.saturating_sub(processor.saturating_sub(self.processor));
        (self.time, self.processor) = (time, processor);
        time
    }
}
