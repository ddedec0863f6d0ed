//! Arrays of messages: copied, or lent by a chare.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use bytemuck::Pod;

use towpath_actors::{ArrayMemory, ChareCallback, ChareId, MessageArray, Runtime};

use crate::current::{current, noticed};

/// What a caller passes for a parameter `&[T]`: a slice or a vector, which are copied into the
/// message, or a buffer that is lent ([`crate::ChareContext::lend`]).
pub enum SentSlice<'a, T> {
    /// Copied.
    Copied(&'a [T]),
    /// Sent from where it is.
    Lent(Lent<T>),
}

impl<T: Pod> SentSlice<'_, T> {
    pub(crate) fn of_message(self, runtime: &Runtime) -> MessageArray {
        match self {
            SentSlice::Copied(elements) => runtime.copied_array(bytemuck::cast_slice(elements)),
            SentSlice::Lent(lent) => lent.array,
        }
    }
}

impl<'a, T> From<&'a [T]> for SentSlice<'a, T> {
    fn from(elements: &'a [T]) -> SentSlice<'a, T> {
        SentSlice::Copied(elements)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for SentSlice<'a, T> {
    fn from(elements: &'a [T; N]) -> SentSlice<'a, T> {
        SentSlice::Copied(elements)
    }
}

impl<'a, T> From<&'a Vec<T>> for SentSlice<'a, T> {
    fn from(elements: &'a Vec<T>) -> SentSlice<'a, T> {
        SentSlice::Copied(elements)
    }
}

impl<'a, T> From<Lent<T>> for SentSlice<'a, T> {
    fn from(lent: Lent<T>) -> SentSlice<'a, T> {
        SentSlice::Lent(lent)
    }
}

/// A buffer that belongs to a transfer: for one message, also to all chares of a collection.
pub struct Lent<T> {
    array: MessageArray,
    buffer: PhantomData<T>,
}

/// The memory of a buffer, which its owner gets back.
struct LentMemory<T>(Rc<Vec<T>>);

impl<T> fmt::Debug for LentMemory<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a buffer of {} elements", self.0.len())
    }
}

impl<T: Pod> ArrayMemory for LentMemory<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Pod> Lent<T> {
    /// A buffer of a chare, and what the chare does when it comes back.
    pub(crate) fn new(
        id: ChareId,
        buffer: Vec<T>,
        back: impl FnOnce(&mut dyn Any, Vec<T>) -> Result<(), String> + 'static,
    ) -> Lent<T> {
        let job = current();
        let runtime = &job.runtime;
        // The function has to find the chare.
        noticed(runtime, runtime.pin(id));
        let shared = Rc::new(buffer);
        let memory = LentMemory(Rc::clone(&shared));
        let function = job.registry.add_function(Box::new(move |_| {
            let buffer = Rc::try_unwrap(shared).map_err(|_| "a buffer came back too early")?;
            give_back(id, |object| back(object, buffer))
        }));
        let done = ChareCallback::Function { rank: runtime.rank(), function };
        Lent { array: runtime.array(Box::new(memory), done), buffer: PhantomData }
    }
}

/// Runs a function of a chare of this rank, which was pinned.
fn give_back(
    id: ChareId,
    back: impl FnOnce(&mut dyn Any) -> Result<(), String>,
) -> Result<(), String> {
    let job = current();
    job.runtime.unpin(id);
    let object = job.runtime.local(id).ok_or("a buffer came back to a chare that is not here")?;
    job.runtime.enter(id).map_err(|error| error.to_string())?;
    let result = job.registry.with_object(object, back);
    job.runtime.leave(id);
    result
}
