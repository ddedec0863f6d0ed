//! What the chare whose method runs can do about itself.

use bytemuck::Pod;

use towpath_actors::reducers::{self, NumberOperation};
use towpath_actors::{ChareCallback, Contribution};

use crate::array::Lent;
use crate::callback::{ReducedNumber, TypedCallback};
use crate::chare::{ChareContext, ChareType, Migratable, WRONG_OBJECT};
use crate::current::{current, noticed};
use crate::proxy::{CollectionProxy, ElementProxy};

impl<T: ChareType> ChareContext<T> {
    /// Its name.
    #[must_use]
    pub fn this(&self) -> ElementProxy<T> {
        ElementProxy::new(self.id)
    }

    /// All chares of its collection.
    #[must_use]
    pub fn all(&self) -> CollectionProxy<T> {
        CollectionProxy::new(self.id.collection)
    }

    /// Contributes to the next reduction of its collection. The values of all chares are combined
    /// element by element, and given to the callback.
    pub fn contribute<N: ReducedNumber>(
        &self,
        operation: NumberOperation,
        values: &[N],
        callback: &TypedCallback<N>,
    ) {
        let reducer = reducers::of_numbers(operation, N::TYPE);
        self.contribute_bytes(reducer, bytemuck::cast_slice(values), callback.call.clone());
    }

    /// Contributes nothing: the callback is told when all chares have done so.
    pub fn barrier(&self, callback: &TypedCallback<()>) {
        self.contribute_bytes(reducers::NOP, &[], callback.call.clone());
    }

    fn contribute_bytes(&self, reducer: u32, value: &[u8], callback: ChareCallback) {
        let runtime = current().runtime;
        let (value, callback) = (value.to_vec(), Some(callback));
        let contribution = Contribution { reducer, elements: 1, callback, value };
        noticed(&runtime, runtime.contribute(self.id, contribution).map(|_| ()));
    }

    /// Gives a buffer to a transfer, for one message. When no receiver reads it any more, or it was
    /// not sent, the function gets it back, and runs as a method of this chare does. Until then the
    /// chare neither migrates nor is deleted: it would end the job.
    pub fn lend<E: Pod>(
        &self,
        buffer: Vec<E>,
        back: impl FnOnce(&mut T, &ChareContext<T>, Vec<E>) + 'static,
    ) -> Lent<E> {
        let id = self.id;
        Lent::new(id, buffer, move |object, buffer| {
            let chare = object.downcast_mut::<T>().ok_or(WRONG_OBJECT)?;
            back(chare, &ChareContext::new(id), buffer);
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
