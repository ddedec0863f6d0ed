//! What the macro says of a type of chares, and what a method gets beside its parameters.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;

use towpath_actors::reducers::{self, NumberOperation};
use towpath_actors::{ChareCallback, ChareId, Contribution, Index};

use crate::array::Lent;
use crate::callback::{Callback, Number};
use crate::job::{current, noticed};
use crate::message::{self, Received};
use crate::proxy::{Element, Proxy};

/// A type of chares: [`macro@crate::chares`] implements this.
pub trait Chare: Sized + 'static {
    /// Its name, for messages to the user.
    const NAME: &'static str;
    /// The names of its entry methods.
    const ENTRIES: &'static [&'static str];
    /// The parameters of its constructor, as a tuple.
    type Arguments: Serialize + DeserializeOwned;

    /// Constructs a chare.
    fn construct(context: &Context<Self>, arguments: Self::Arguments) -> Self;

    /// Invokes an entry method.
    ///
    /// # Errors
    /// The method has failed, or the message is none for it.
    fn invoke(
        &mut self,
        context: &Context<Self>,
        entry: usize,
        message: &Received<'_>,
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
pub trait Migratable: Chare + Serialize + DeserializeOwned {}

/// How a chare is packed and made again.
pub struct Migration<T> {
    pack: fn(&T) -> Result<Vec<u8>, String>,
    unpack: fn(&[u8]) -> Result<T, String>,
}

impl<T: Migratable> Migration<T> {
    /// By serde.
    #[must_use]
    pub fn new() -> Migration<T> {
        Migration { pack: message::written, unpack: message::read }
    }
}

impl<T: Migratable> Default for Migration<T> {
    fn default() -> Migration<T> {
        Migration::new()
    }
}

/// What a method of a program returns: nothing, or a `Result`, whose error ends the job.
pub trait Outcome {
    /// # Errors
    /// The method has failed, for this reason.
    fn outcome(self) -> Result<(), String>;
}

impl Outcome for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// The chare whose method or constructor runs.
pub struct Context<T> {
    id: ChareId,
    chare: PhantomData<fn() -> T>,
}

impl<T: Chare> Context<T> {
    pub(crate) fn new(id: ChareId) -> Context<T> {
        Context { id, chare: PhantomData }
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

    /// Its name.
    #[must_use]
    pub fn this(&self) -> Element<T> {
        Element::new(self.id)
    }

    /// All chares of its collection.
    #[must_use]
    pub fn all(&self) -> Proxy<T> {
        Proxy::new(self.id.collection)
    }

    /// Contributes to the next reduction of its collection. The values of all chares are combined
    /// element by element, and given to the callback.
    pub fn contribute<N: Number>(
        &self,
        operation: NumberOperation,
        values: &[N],
        callback: &Callback<N>,
    ) {
        let reducer = reducers::of_numbers(operation, N::TYPE);
        self.contribute_bytes(reducer, bytemuck::cast_slice(values), callback.call.clone());
    }

    /// Contributes nothing: the callback is told when all chares have done so.
    pub fn barrier(&self, callback: &Callback<()>) {
        self.contribute_bytes(reducers::NOP, &[], callback.call.clone());
    }

    fn contribute_bytes(&self, reducer: u32, value: &[u8], callback: ChareCallback) {
        let runtime = current().runtime;
        let (value, callback) = (value.to_vec(), Some(callback));
        let contribution = Contribution { reducer, elements: 1, callback, value };
        noticed(&runtime, runtime.contribute(self.id, contribution).map(|_| ()));
    }

    /// Gives a buffer to a transfer, for one message. When no receiver reads it any more, or it was
    /// not sent, the function gets it back, and runs as a method of this chare does. The chare
    /// stays on its rank until then.
    pub fn lend<E: Pod>(
        &self,
        buffer: Vec<E>,
        back: impl FnOnce(&mut T, &Context<T>, Vec<E>) + 'static,
    ) -> Lent<E> {
        let id = self.id;
        Lent::new(id, buffer, move |object, buffer| {
            let chare = object.downcast_mut::<T>().ok_or(WRONG_OBJECT)?;
            back(chare, &Context::new(id), buffer);
            Ok(())
        })
    }

    /// Lets the chare migrate once the running method has returned.
    pub fn migrate(&self, to: u32)
    where
        T: Migratable,
    {
        let runtime = current().runtime;
        noticed(&runtime, runtime.migrate(self.id, to));
    }

    /// Deletes the chare once the running method has returned.
    pub fn delete(&self) {
        let runtime = current().runtime;
        noticed(&runtime, runtime.delete(self.id));
    }
}

/// A type, whichever it is.
pub(crate) trait AnyType {
    fn name(&self) -> &'static str;
    fn entries(&self) -> &'static [&'static str];
    fn construct(&self, id: ChareId, arguments: &[u8]) -> Result<Box<dyn Any>, String>;
    fn invoke(
        &self,
        object: &mut dyn Any,
        id: ChareId,
        entry: usize,
        message: &Received<'_>,
    ) -> Result<(), String>;
    fn pack(&self, object: &dyn Any) -> Result<Vec<u8>, String>;
    fn unpack(&self, packed: &[u8]) -> Result<Box<dyn Any>, String>;
}

pub(crate) struct TypeOf<T>(PhantomData<fn() -> T>);

impl<T: Chare> TypeOf<T> {
    pub(crate) fn new() -> TypeOf<T> {
        TypeOf(PhantomData)
    }
}

const WRONG_OBJECT: &str = "the object is of another type";
const NO_MIGRATION: &str = "chares of its type do not migrate";

impl<T: Chare> AnyType for TypeOf<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn entries(&self) -> &'static [&'static str] {
        T::ENTRIES
    }

    fn construct(&self, id: ChareId, arguments: &[u8]) -> Result<Box<dyn Any>, String> {
        Ok(Box::new(T::construct(&Context::new(id), message::read(arguments)?)))
    }

    fn invoke(
        &self,
        object: &mut dyn Any,
        id: ChareId,
        entry: usize,
        message: &Received<'_>,
    ) -> Result<(), String> {
        let chare = object.downcast_mut::<T>().ok_or(WRONG_OBJECT)?;
        chare.invoke(&Context::new(id), entry, message)
    }

    fn pack(&self, object: &dyn Any) -> Result<Vec<u8>, String> {
        let chare = object.downcast_ref::<T>().ok_or(WRONG_OBJECT)?;
        (T::migration().ok_or(NO_MIGRATION)?.pack)(chare)
    }

    fn unpack(&self, packed: &[u8]) -> Result<Box<dyn Any>, String> {
        Ok(Box::new((T::migration().ok_or(NO_MIGRATION)?.unpack)(packed)?))
    }
}
