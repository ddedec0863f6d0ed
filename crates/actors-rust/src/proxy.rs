//! Names of chares, by which messages are sent, and their creation.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use towpath_actors::message::MessageKind;
use towpath_actors::{
    ActorError, ChareCallback, ChareId, CollectionId, CollectionOptions, HomeMap, Index,
};

use crate::callback::TypedCallback;
use crate::chare::ChareType;
use crate::codec::written;
use crate::current::{current, noticed};
use crate::error::ChareError;
use crate::outgoing::OutgoingMessage;

/// What messages are sent to. The trait that the macro writes has the entry methods of all targets
/// of its type.
pub trait MessageTarget {
    /// The type of the chares.
    type Chare: ChareType;

    /// Sends a message.
    fn send(&self, message: OutgoingMessage);

    /// A callback of an entry method.
    fn callback<V>(&self, entry: usize) -> TypedCallback<V>;
}

/// All chares of an array or a group.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct CollectionProxy<T> {
    collection: CollectionId,
    chare: PhantomData<fn() -> T>,
}

/// One chare.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ElementProxy<T> {
    collection: CollectionId,
    index: Index,
    chare: PhantomData<fn() -> T>,
}

impl<T> Clone for CollectionProxy<T> {
    fn clone(&self) -> CollectionProxy<T> {
        *self
    }
}

impl<T> Copy for CollectionProxy<T> {}

impl<T> Clone for ElementProxy<T> {
    fn clone(&self) -> ElementProxy<T> {
        *self
    }
}

impl<T> Copy for ElementProxy<T> {}

/// The index with these words.
fn index<const N: usize>(words: [i32; N]) -> Index {
    const { assert!(N <= 6, "an index has six words at most") };
    Index::new(&words).expect("it has six words at most")
}

/// The number of an entry method, or nothing if its type is none of the job, which ends.
fn number<T: ChareType>(entry: usize) -> Option<u32> {
    let job = current();
    match job.constructor::<T>() {
        Ok(base) => Some(base + 1 + entry as u32),
        Err(error) => {
            job.runtime.fail(ActorError::Main { reason: error.to_string() });
            None
        }
    }
}

fn send<T: ChareType>(
    message: OutgoingMessage,
    kind: MessageKind,
    collection: CollectionId,
    index: Option<&Index>,
) {
    let runtime = current().runtime;
    match message.addressed(kind, collection, index) {
        Ok(message) if index.is_some() => noticed(&runtime, runtime.invoke(message)),
        Ok(message) => runtime.broadcast(message),
        Err(reason) => {
            let reason = format!("a message to {} was not sent: {reason}", T::NAME);
            runtime.fail(ActorError::Main { reason });
        }
    }
}

impl<T: ChareType> MessageTarget for CollectionProxy<T> {
    type Chare = T;

    fn send(&self, message: OutgoingMessage) {
        send::<T>(message, MessageKind::Broadcast, self.collection, None);
    }

    fn callback<V>(&self, entry: usize) -> TypedCallback<V> {
        let collection = self.collection.0;
        TypedCallback::new(number::<T>(entry).map_or(ChareCallback::Ignore, |entry| {
            ChareCallback::All { collection, entry, reference: 0 }
        }))
    }
}

impl<T: ChareType> MessageTarget for ElementProxy<T> {
    type Chare = T;

    fn send(&self, message: OutgoingMessage) {
        send::<T>(message, MessageKind::Invoke, self.collection, Some(&self.index));
    }

    fn callback<V>(&self, entry: usize) -> TypedCallback<V> {
        let (collection, index) = (self.collection.0, self.index);
        TypedCallback::new(number::<T>(entry).map_or(ChareCallback::Ignore, |entry| {
            ChareCallback::Chare { collection, index, entry, reference: 0 }
        }))
    }
}

impl<T: ChareType> CollectionProxy<T> {
    pub(crate) fn new(collection: CollectionId) -> CollectionProxy<T> {
        CollectionProxy { collection, chare: PhantomData }
    }

    /// One of them.
    #[must_use]
    pub fn element<const N: usize>(&self, words: [i32; N]) -> ElementProxy<T> {
        self.at(index(words))
    }

    /// The one with this index.
    #[must_use]
    pub fn at(&self, index: Index) -> ElementProxy<T> {
        ElementProxy::new(ChareId { collection: self.collection, index })
    }

    /// Inserts an element, on the home of its index.
    ///
    /// # Errors
    /// No element can have this index, or the parameters cannot be written.
    pub fn insert<const N: usize>(
        &self,
        words: [i32; N],
        arguments: T::Arguments,
    ) -> Result<ElementProxy<T>, ChareError> {
        let job = current();
        let (constructor, parameters) = (job.constructor::<T>()?, parameters::<T>(&arguments)?);
        let id = ChareId { collection: self.collection, index: index(words) };
        job.runtime.insert(id, constructor, None, &parameters)?;
        Ok(ElementProxy::new(id))
    }

    /// All elements that this rank has inserted are the first ones: reductions may begin.
    pub fn done_inserting(&self) {
        current().runtime.done_inserting(self.collection);
    }
}

impl<T: ChareType> ElementProxy<T> {
    pub(crate) fn new(id: ChareId) -> ElementProxy<T> {
        ElementProxy { collection: id.collection, index: id.index, chare: PhantomData }
    }

    /// Its index.
    #[must_use]
    pub fn index(&self) -> Index {
        self.index
    }
}

fn parameters<T: ChareType>(arguments: &T::Arguments) -> Result<Vec<u8>, ChareError> {
    written(arguments).map_err(ChareError)
}

fn create<T: ChareType>(
    map: HomeMap,
    filled: bool,
    parameters: Vec<u8>,
) -> Result<CollectionProxy<T>, ChareError> {
    let job = current();
    let constructor = job.constructor::<T>()?;
    let chare = job.registry.type_of(constructor);
    let options = CollectionOptions { chare, constructor, map, filled, parameters };
    Ok(CollectionProxy::new(job.runtime.create_collection(options)?))
}

/// Makes a dense array, divided into blocks among the ranks. The arguments are those of the
/// constructor, a tuple.
///
/// # Errors
/// The array is too large, the type is none of the job, or the arguments cannot be written.
pub fn create_array<T: ChareType>(
    extents: &[u32],
    arguments: T::Arguments,
) -> Result<CollectionProxy<T>, ChareError> {
    create(HomeMap::Block(extents.to_vec()), true, parameters::<T>(&arguments)?)
}

/// Makes an array without elements, for [`CollectionProxy::insert`].
///
/// # Errors
/// The type is none of the job.
pub fn create_sparse_array<T: ChareType>() -> Result<CollectionProxy<T>, ChareError> {
    create(HomeMap::Hash, false, Vec::new())
}

/// Makes a group: one chare on each rank, whose index is the rank.
///
/// # Errors
/// The type is none of the job, or the arguments cannot be written.
pub fn create_group<T: ChareType>(
    arguments: T::Arguments,
) -> Result<CollectionProxy<T>, ChareError> {
    create(HomeMap::FirstWord, true, parameters::<T>(&arguments)?)
}

/// Makes a chare of its own on a rank, or on this one.
///
/// # Errors
/// There is no such rank, the type is none of the job, or the arguments cannot be written.
pub fn create_chare<T: ChareType>(
    rank: Option<u32>,
    arguments: T::Arguments,
) -> Result<ElementProxy<T>, ChareError> {
    let job = current();
    let (constructor, parameters) = (job.constructor::<T>()?, parameters::<T>(&arguments)?);
    Ok(ElementProxy::new(job.runtime.create_chare(constructor, rank, &parameters)?))
}
