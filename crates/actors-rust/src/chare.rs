//! What the macro says of a type of chares, and what a method gets beside its parameters.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use towpath_actors::{ChareId, Index};

use crate::codec;
use crate::received::MethodMessage;

pub(crate) const WRONG_OBJECT: &str = "the object is of another type";

/// A type of chares: [`macro@crate::chares`] implements this.
pub trait ChareType: Sized + 'static {
    /// Its name, for messages to the user.
    const NAME: &'static str;
    /// The names of its entry methods.
    const ENTRIES: &'static [&'static str];
    /// The parameters of its constructor, as a tuple.
    type Arguments: Serialize + DeserializeOwned;

    /// Constructs a chare.
    fn construct(context: &ChareContext<Self>, arguments: Self::Arguments) -> Self;

    /// Invokes an entry method.
    ///
    /// # Errors
    /// The method has failed, or the message is none for it.
    fn invoke(
        &mut self,
        context: &ChareContext<Self>,
        entry: usize,
        message: &MethodMessage<'_>,
    ) -> Result<(), String>;

    /// How chares are packed, if they migrate.
    fn migration() -> Option<Migration<Self>> {
        None
    }
}

/// A type whose chares migrate: `#[chares(migrate)]` implements this.
#[diagnostic::on_unimplemented(
    message = "chares of type `{Self}` do not migrate",
    note = "write #[chares(migrate)], and derive serde's Serialize and Deserialize for the type"
)]
pub trait Migratable: ChareType + Serialize + DeserializeOwned {}

/// How a chare is packed and made again.
pub struct Migration<T> {
    pub(crate) pack: fn(&T) -> Result<Vec<u8>, String>,
    pub(crate) unpack: fn(&[u8]) -> Result<T, String>,
}

impl<T: Migratable> Migration<T> {
    /// By serde.
    #[must_use]
    pub fn new() -> Migration<T> {
        Migration { pack: codec::written, unpack: codec::read }
    }
}

impl<T: Migratable> Default for Migration<T> {
    fn default() -> Migration<T> {
        Migration::new()
    }
}

/// What a method of a program returns: nothing, or a `Result`, whose error ends the job.
pub trait MethodResult {
    /// # Errors
    /// The method has failed, for this reason.
    fn outcome(self) -> Result<(), String>;
}

impl MethodResult for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> MethodResult for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// The chare whose method or constructor runs.
pub struct ChareContext<T> {
    pub(crate) id: ChareId,
    chare: PhantomData<fn() -> T>,
}

impl<T: ChareType> ChareContext<T> {
    pub(crate) fn new(id: ChareId) -> ChareContext<T> {
        ChareContext { id, chare: PhantomData }
    }

    /// Its index.
    #[must_use]
    pub fn index(&self) -> Index {
        self.id.index
    }

    /// One word of its index.
    ///
    /// # Panics
    /// The index has fewer words.
    #[must_use]
    pub fn coordinate(&self, dimension: usize) -> i32 {
        self.id.index.words()[dimension]
    }
}
