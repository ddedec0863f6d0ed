//! Arrays that are put into persistent channels. Each is one message, which invokes a method: it
//! says neither where the array is nor how long, and the sender is told nothing in return.

use crate::arrays::{ArrayMemory, PooledArray};
use crate::callback::ChareCallback;
use crate::error::ActorError;
use crate::message::{ActorMessage, CHANNEL};
use crate::persistent::{ChannelMemory, OpenChannel, PersistentChannel};
use crate::runtime::{Processed, Runtime};

impl Runtime {
    /// Opens a channel of so many bytes.
    pub fn open_channel(&self, memory: Box<dyn ChannelMemory>, bytes: usize) -> PersistentChannel {
        let mut state = self.state.borrow_mut();
        let shared = state.layer.shared_place(memory.first(bytes).bytes());
        state.channels_made += 1;
        let number = state.channels_made;
        state.channels.insert(number, OpenChannel { memory, bytes });
        PersistentChannel { rank: state.rank, number, bytes, shared }
    }

    /// Closes a channel of this rank. Nobody puts anything into it any more.
    ///
    /// # Errors
    /// It is not open.
    pub fn close_channel(&self, channel: &PersistentChannel) -> Processed {
        let PersistentChannel { rank, number, .. } = *channel;
        let mut state = self.state.borrow_mut();
        let is_here = rank == state.rank;
        let closed = if is_here { state.channels.remove(&number) } else { None };
        closed.map(drop).ok_or(ActorError::ClosedChannel { rank, number })
    }

    /// Puts an array into the memory of a channel, and then invokes an entry method of a chare on
    /// the rank of the channel. The callback is told once the array may change; without one it may
    /// at once.
    ///
    /// # Errors
    /// The array is longer than the channel, or that is not open.
    pub fn put(
        &self,
        channel: &PersistentChannel,
        array: Box<dyn ArrayMemory>,
        done: Option<ChareCallback>,
        mut then: ActorMessage,
    ) -> Processed {
        self.check_rank(Some(channel.rank))?;
        let bytes = array.length();
        if bytes > channel.bytes {
            return Err(ActorError::ShortChannel { array: bytes, channel: channel.bytes });
        }
        let mut state = self.state.borrow_mut();
        let is_here = channel.rank == state.rank;
        let is_put = if is_here {
            let closed = ActorError::ClosedChannel { rank: state.rank, number: channel.number };
            let open = state.channels.get(&channel.number).ok_or(closed)?;
            open.memory.first(bytes).bytes_mut().copy_from_slice(array.bytes());
            true
        } else {
            let shared = channel.shared;
            shared.is_some_and(|place| state.layer.put(channel.rank, place, array.bytes()))
        };
        drop(state);
        if is_put {
            self.invoke(then)?;
            return done.map_or(Ok(()), |done| self.call(done, &[]));
        }
        let (array, done) = match done {
            Some(done) => (array, done),
            None => {
                let copy = PooledArray::of(array.bytes());
                (Box::new(copy) as Box<dyn ArrayMemory>, ChareCallback::Ignore)
            }
        };
        let header = then.header_mut();
        header.flags |= CHANNEL;
        header.number = channel.number;
        // The last array is the one that is put.
        let mut arrays = then.arrays().to_vec();
        arrays.push(self.posted_array(array, done));
        let then = then.with_arrays(arrays);
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        state.layer.send(channel.rank, then.into());
        Ok(())
    }

    /// An array has come for a channel of this rank.
    pub(crate) fn array_for_channel(&self, message: ActorMessage) -> Processed {
        let mut header = *message.header();
        let mut arrays = message.arrays().to_vec();
        let placement = {
            let mut state = self.state.borrow_mut();
            state.counts.processed += 1;
            let closed = ActorError::ClosedChannel { rank: state.rank, number: header.number };
            let open = state.channels.get(&header.number).ok_or(closed)?;
            let array = arrays.pop().filter(|array| array.length() <= open.bytes);
            let array = array.ok_or_else(|| ActorError::Unknown { rank: state.rank })?;
            let memory = open.memory.first(array.length());
            (array, memory)
        };
        header.flags &= !CHANNEL;
        header.number = 0;
        let mut then = message.with_arrays(arrays);
        *then.header_mut() = header;
        self.place(vec![placement], then)
    }
}
