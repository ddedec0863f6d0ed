//! Large arrays that travel beside the payload of a message, from the memory of the sender: no copy
//! is made of them unless the layer below has to.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::callback::ChareCallback;
use crate::pool::{self, Block};

/// Memory of a device, which only the layer below reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct DeviceArray {
    /// Its address.
    pub at: *mut u8,
    /// How many bytes it has.
    pub bytes: usize,
}

/// Memory of an array. As long as this exists, nobody changes it but who has the only reference.
pub trait ArrayMemory: fmt::Debug {
    /// Its bytes; none if it has not been received, or is memory of a device.
    fn bytes(&self) -> &[u8];

    /// How many bytes it has, also if it has not been received.
    fn length(&self) -> usize {
        self.device().map_or_else(|| self.bytes().len(), |device| device.bytes)
    }

    /// The memory, if it is that of a device.
    fn device(&self) -> Option<DeviceArray> {
        None
    }

    /// Whether the method that gets the message says where the array is to be
    /// ([`crate::Runtime::place`]). So it need not be received before.
    fn is_posted(&self) -> bool {
        false
    }

    /// The name by which the layer below knows an array that it has not received.
    fn unreceived(&self) -> Option<UnreceivedArray> {
        None
    }

    /// Whether somebody waits until nobody reads it any more: who keeps it makes a copy.
    fn is_borrowed(&self) -> bool {
        false
    }

    /// Its bytes, which whoever has the only reference to it may change; `None` if others read them
    /// too.
    fn owned_bytes(&mut self) -> Option<&mut [u8]> {
        None
    }
}

/// Names an array that waits until it is said where it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnreceivedArray(pub u64);

impl ArrayMemory for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Memory for an array that is about to arrive, out of the pool of messages.
#[derive(Debug)]
pub struct PooledArray {
    blocks: Vec<Block>,
    bytes: usize,
}

impl PooledArray {
    /// Memory of so many bytes, whose content is arbitrary.
    #[must_use]
    pub fn new(bytes: usize) -> PooledArray {
        PooledArray { blocks: pool::take(bytes), bytes }
    }

    /// A copy of these bytes.
    #[must_use]
    pub fn of(content: &[u8]) -> PooledArray {
        let mut copy = PooledArray::new(content.len());
        copy.bytes_mut().copy_from_slice(content);
        copy
    }

    /// Its bytes, to be received into.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.bytes]
    }
}

impl ArrayMemory for PooledArray {
    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[..self.bytes]
    }

    fn owned_bytes(&mut self) -> Option<&mut [u8]> {
        Some(self.bytes_mut())
    }
}

impl Drop for PooledArray {
    fn drop(&mut self) {
        pool::give(std::mem::take(&mut self.blocks));
    }
}

/// An array that is being written, before it is part of a message.
pub trait WritableArray: ArrayMemory {
    /// Its bytes, to be written; none if it is memory of a device.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// The address of its bytes, or of its memory of a device.
    fn address(&mut self) -> *mut u8 {
        self.device().map_or_else(|| self.bytes_mut().as_mut_ptr(), |device| device.at)
    }

    /// The array, which nobody changes any more.
    fn into_array(self: Box<Self>) -> MessageArray;
}

impl WritableArray for PooledArray {
    fn bytes_mut(&mut self) -> &mut [u8] {
        PooledArray::bytes_mut(self)
    }

    fn into_array(self: Box<Self>) -> MessageArray {
        Rc::from(self as Box<dyn ArrayMemory>)
    }
}

/// An array of a message, which several places may hold.
pub type MessageArray = Rc<dyn ArrayMemory>;

/// An array that may be held as long as one likes: a copy, if somebody waits for it and it is not
/// memory of a device.
#[must_use]
pub fn kept(array: &MessageArray) -> MessageArray {
    let is_copied = array.is_borrowed() && array.device().is_none();
    if is_copied { Rc::new(PooledArray::of(array.bytes())) } else { array.clone() }
}

/// Arrays that the program may change again: whom to tell.
pub(crate) type ReturnedArrays = Rc<RefCell<Vec<ChareCallback>>>;

/// An array of this rank's program, until nobody reads it any more.
#[derive(Debug)]
pub(crate) struct SentArray {
    memory: Box<dyn ArrayMemory>,
    done: ChareCallback,
    returned: ReturnedArrays,
    is_posted: bool,
}

impl SentArray {
    pub(crate) fn new(
        memory: Box<dyn ArrayMemory>,
        done: ChareCallback,
        returned: ReturnedArrays,
        is_posted: bool,
    ) -> SentArray {
        SentArray { memory, done, returned, is_posted }
    }
}

impl ArrayMemory for SentArray {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn is_borrowed(&self) -> bool {
        true
    }

    fn device(&self) -> Option<DeviceArray> {
        self.memory.device()
    }

    fn is_posted(&self) -> bool {
        self.is_posted
    }
}

impl Drop for SentArray {
    fn drop(&mut self) {
        let done = std::mem::replace(&mut self.done, ChareCallback::Ignore);
        self.returned.borrow_mut().push(done);
    }
}
