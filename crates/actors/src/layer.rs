//! What the runtime asks of the layer below: messages between ranks.

use std::time::Duration;

use crate::arrays::{ArrayMemory, PooledArray, UnreceivedArray, WritableArray};
use crate::message::{ActorMessage, MessageHandle};

/// Arrays from this length on are faster as messages of their own than in a payload, into which and
/// out of which they are copied.
pub const SHORTEST_SENT: usize = 64 << 10;

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

    /// The length from which on arrays are sent faster beside the payload of a message than in it,
    /// at this moment.
    fn shortest_array(&self) -> usize {
        SHORTEST_SENT
    }

    /// Sends a message to another rank, and keeps it as long as that takes. It may wait for others
    /// until [`MachineLayer::flush`], `receive`, `wait` or `close` is called.
    fn send(&mut self, to: u32, message: MessageHandle);

    /// Sends what waits for other messages.
    fn flush(&mut self) {}

    /// Receives arrays, each into this memory, which has no more bytes, and then lets a message
    /// arrive from this rank. Only a layer that gives messages whose arrays it has not received is
    /// asked.
    fn receive_arrays(
        &mut self,
        arrays: Vec<(UnreceivedArray, Box<dyn WritableArray>)>,
        then: ActorMessage,
    ) {
        debug_assert!(arrays.is_empty(), "{then:?} waits for arrays that were received");
    }

    /// Copies the beginning of an array, which has been received, to memory that has no more bytes.
    /// Only a layer that knows devices is asked for their memory.
    fn copy(&mut self, array: &dyn ArrayMemory, memory: &mut dyn WritableArray) {
        debug_assert!(
            array.device().is_none() && memory.device().is_none(),
            "a layer with devices"
        );
        let into = memory.bytes_mut();
        into.copy_from_slice(&array.bytes()[..into.len()]);
    }

    /// Where memory of this rank is in what the ranks of its host share, if it is there.
    fn shared_place(&self, memory: &[u8]) -> Option<u64> {
        let _ = memory;
        None
    }

    /// Writes to memory of another rank of this host, which has said where it is. Whether it has.
    fn put(&mut self, to: u32, place: u64, content: &[u8]) -> bool {
        let _ = (to, place, content);
        false
    }

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
