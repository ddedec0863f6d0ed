//! What the runtime asks of the layer below: messages between ranks.

use std::time::Duration;

use crate::arrays::{PooledArray, WritableArray};
use crate::message::{ActorMessage, MessageHandle};

/// Carries messages between the ranks of a job. Charm++ calls this its machine layer.
///
/// Messages from one rank to another arrive in the order in which they were sent, except that a
/// long one may arrive after shorter ones that were sent later.
pub trait MachineLayer {
    /// This rank.
    fn rank(&self) -> u32;

    /// How many ranks the job has.
    fn ranks(&self) -> u32;

    /// Messages of up to so many bytes, with their headers, are not overtaken.
    fn ordered_bytes(&self) -> usize;

    /// An array of so many bytes, where the layer sends it from most easily.
    fn array(&mut self, bytes: usize) -> Box<dyn WritableArray> {
        Box::new(PooledArray::new(bytes))
    }

    /// Sends a message to another rank, and keeps it as long as that takes.
    fn send(&mut self, to: u32, message: MessageHandle);

    /// The next message that has arrived, and who sent it.
    fn receive(&mut self) -> Option<(u32, ActorMessage)>;

    /// Bytes sent to other ranks so far, if the layer counts them.
    fn sent_bytes(&self) -> u64 {
        0
    }

    /// Nanoseconds since some moment.
    fn time(&self) -> u64;

    /// Nanoseconds for which this thread has had the processor.
    fn processor_time(&self) -> u64;

    /// Waits until a message may have arrived, or no longer than a limit. Whether that has passed.
    /// The rank has nothing else to do.
    fn wait(&mut self, limit: Option<Duration>) -> bool;

    /// Ends all communication, once all ranks call this. What nobody has received is dropped.
    fn close(&mut self);
}
