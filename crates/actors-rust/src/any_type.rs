//! Types of chares, whichever they are.

use std::any::Any;
use std::marker::PhantomData;

use towpath_actors::ChareId;

use crate::chare::{ChareContext, ChareType, WRONG_OBJECT};
use crate::codec;
use crate::received::MethodMessage;

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
        message: &MethodMessage<'_>,
    ) -> Result<(), String>;
    fn pack(&self, object: &dyn Any) -> Result<Vec<u8>, String>;
    fn unpack(&self, packed: &[u8]) -> Result<Box<dyn Any>, String>;
}

pub(crate) struct TypeOf<T>(PhantomData<fn() -> T>);

impl<T: ChareType> TypeOf<T> {
    pub(crate) fn new() -> TypeOf<T> {
        TypeOf(PhantomData)
    }
}

const NO_MIGRATION: &str = "chares of its type do not migrate";

impl<T: ChareType> AnyType for TypeOf<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn entries(&self) -> &'static [&'static str] {
        T::ENTRIES
    }

    fn construct(&self, id: ChareId, arguments: &[u8]) -> Result<Box<dyn Any>, String> {
        Ok(Box::new(T::construct(&ChareContext::new(id), codec::read(arguments)?)))
    }

    fn invoke(
        &self,
        object: &mut dyn Any,
        id: ChareId,
        entry: usize,
        message: &MethodMessage<'_>,
    ) -> Result<(), String> {
        let chare = object.downcast_mut::<T>().ok_or(WRONG_OBJECT)?;
        chare.invoke(&ChareContext::new(id), entry, message)
    }

    fn pack(&self, object: &dyn Any) -> Result<Vec<u8>, String> {
        let chare = object.downcast_ref::<T>().ok_or(WRONG_OBJECT)?;
        (T::migration().ok_or(NO_MIGRATION)?.pack)(chare)
    }

    fn unpack(&self, packed: &[u8]) -> Result<Box<dyn Any>, String> {
        Ok(Box::new((T::migration().ok_or(NO_MIGRATION)?.unpack)(packed)?))
    }
}
