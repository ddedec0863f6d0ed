//! Arrays that have been announced by their messages, and wait until it is said where they are to
//! be.

use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

use towpath_actors::ArrayMemory;
use towpath_actors::arrays::UnreceivedArray;

/// An array that a rank has sent with this tag, and that this one has not received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnnouncedArray {
    pub(crate) from: u32,
    pub(crate) tag: c_int,
    pub(crate) bytes: usize,
}

/// Names of arrays that their messages have no more.
pub(crate) type UnwantedArrays = Rc<RefCell<Vec<UnreceivedArray>>>;

/// The same in its message.
#[derive(Debug)]
pub(crate) struct PostedArray {
    name: UnreceivedArray,
    bytes: usize,
    unwanted: UnwantedArrays,
}

impl PostedArray {
    /// An array of so many bytes, which the layer knows by this name.
    pub(crate) fn new(
        name: UnreceivedArray,
        bytes: usize,
        unwanted: &UnwantedArrays,
    ) -> PostedArray {
        PostedArray { name, bytes, unwanted: unwanted.clone() }
    }
}

impl ArrayMemory for PostedArray {
    fn bytes(&self) -> &[u8] {
        &[]
    }

    fn length(&self) -> usize {
        self.bytes
    }

    fn unreceived(&self) -> Option<UnreceivedArray> {
        Some(self.name)
    }
}

impl Drop for PostedArray {
    fn drop(&mut self) {
        self.unwanted.borrow_mut().push(self.name);
    }
}
