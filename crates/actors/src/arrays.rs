//! Large arrays that travel beside the payload of a message, from the memory of the sender: no copy
//! is made of them unless the layer below has to.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::callback::ChareCallback;

/// Memory of an array. It does not change as long as this exists.
pub trait ArrayMemory: fmt::Debug {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
}

impl ArrayMemory for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// An array of a message, which several places may hold.
pub type MessageArray = Rc<dyn ArrayMemory>;

/// Arrays that the program may change again: whom to tell.
pub(crate) type ReturnedArrays = Rc<RefCell<Vec<ChareCallback>>>;

/// An array of this rank's program, until nobody reads it any more.
#[derive(Debug)]
pub(crate) struct SentArray {
    memory: Box<dyn ArrayMemory>,
    done: ChareCallback,
    returned: ReturnedArrays,
}

impl SentArray {
    pub(crate) fn new(
        memory: Box<dyn ArrayMemory>,
        done: ChareCallback,
        returned: ReturnedArrays,
    ) -> SentArray {
        SentArray { memory, done, returned }
    }
}

impl ArrayMemory for SentArray {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }
}

impl Drop for SentArray {
    fn drop(&mut self) {
        let done = std::mem::replace(&mut self.done, ChareCallback::Ignore);
        self.returned.borrow_mut().push(done);
    }
}
