//! What is in the place of a layer that was closed.

use std::time::Duration;

use crate::layer::MachineLayer;
use crate::message::{ActorMessage, MessageHandle};

/// Drops what is sent: objects of the program that end after the job may still send.
#[derive(Debug)]
pub(crate) struct ClosedLayer {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
}

impl MachineLayer for ClosedLayer {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn ordered_bytes(&self) -> usize {
        usize::MAX
    }

    fn send(&mut self, _: u32, _: MessageHandle) {}

    fn receive(&mut self) -> Option<(u32, ActorMessage)> {
        None
    }

    fn time(&self) -> u64 {
        0
    }

    fn processor_time(&self) -> u64 {
        0
    }

    fn wait(&mut self, _: Option<Duration>) -> bool {
        true
    }

    fn close(&mut self) {}
}
