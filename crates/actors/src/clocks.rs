//! The clocks by which methods are measured.
//!
//! What counts is the time for which a method had the processor. Reading that clock is a system
//! call; the clock of the host is not. A method that was interrupted takes as long as the time
//! slice of another process at least, so only long methods are corrected: by what the processor's
//! clock said when it was read last. After a long method it is read before the next one too, which
//! is probably long, so that interruptions between methods do not count.

use crate::layer::MachineLayer;

/// Nanoseconds from which on a method may have been interrupted.
const LONG: u64 = 200_000;

/// Two clocks that were read at the same moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    time: u64,
    processor: u64,
    /// Whether the last method was long.
    is_long: bool,
}

impl Clocks {
    /// Reads both.
    pub(crate) fn read(layer: &dyn MachineLayer) -> Clocks {
        Clocks { time: layer.time(), processor: layer.processor_time(), is_long: false }
    }

    /// A method begins: the moment.
    pub(crate) fn begin(&mut self, layer: &dyn MachineLayer) -> u64 {
        if !self.is_long {
            return layer.time();
        }
        *self = Clocks { is_long: true, ..Clocks::read(layer) };
        self.time
    }

    /// How long a method has run that began at this moment and has ended.
    pub(crate) fn since(&mut self, begun: u64, layer: &dyn MachineLayer) -> u64 {
        let passed = layer.time().saturating_sub(begun);
        self.is_long = passed >= LONG;
        if !self.is_long {
            return passed;
        }
        let now = Clocks::read(layer);
        let ran = now.processor.saturating_sub(self.processor);
        let interrupted = now.time.saturating_sub(self.time).saturating_sub(ran);
        *self = Clocks { is_long: true, ..now };
        passed.saturating_sub(interrupted)
    }
}
