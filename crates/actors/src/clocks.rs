//! The clocks by which methods are measured.
//!
//! What counts is the time for which a method had the processor. Reading that clock is a system
//! call; the clock of the host is not. A method that was interrupted takes as long as the time
//! slice of another process at least, so only long methods are corrected.

use crate::layer::MachineLayer;

/// Nanoseconds from which on a method may have been interrupted.
const LONG: u64 = 200_000;

/// Two clocks that were read at the same moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    time: u64,
    processor: u64,
}

impl Clocks {
    /// Reads both.
    pub(crate) fn read(layer: &dyn MachineLayer) -> Clocks {
        Clocks { time: layer.time(), processor: layer.processor_time() }
    }

    /// How long a method has run that began at this moment and has ended.
    pub(crate) fn since(&mut self, begun: u64, layer: &dyn MachineLayer) -> u64 {
        let passed = layer.time().saturating_sub(begun);
        if passed < LONG {
            return passed;
        }
        let now = Clocks::read(layer);
        let ran = now.processor.saturating_sub(self.processor);
        let interrupted = now.time.saturating_sub(self.time).saturating_sub(ran);
        *self = now;
        passed.saturating_sub(interrupted)
    }
}
