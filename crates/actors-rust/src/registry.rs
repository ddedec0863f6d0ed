//! The types of a program, its objects on this rank, and functions that wait for values.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use slab::Slab;

use towpath_actors::collection::{NO_TYPE, ObjectId};

use crate::any_type::{AnyType, TypeOf};
use crate::chare::ChareType;

/// A function that is called with a value, once.
pub(crate) type Function = Box<dyn FnOnce(&[u8]) -> Result<(), String>>;

/// The types of a program, its objects on this rank, and functions that wait for values.
#[derive(Default)]
pub(crate) struct ChareRegistry {
    types: Vec<Box<dyn AnyType>>,
    /// The number of the constructor of each type; those of its entry methods follow.
    bases: FxHashMap<TypeId, u32>,
    /// Type and number there of each constructor and entry method.
    entries: Vec<(usize, usize)>,
    /// Nothing while a method of the object runs.
    objects: RefCell<Slab<Option<Box<dyn Any>>>>,
    /// By numbers that are not given twice: a second call of one finds nothing.
    functions: RefCell<FxHashMap<u64, Function>>,
    functions_added: Cell<u64>,
}

impl ChareRegistry {
    pub(crate) fn add<T: ChareType>(&mut self) {
        if self.bases.contains_key(&TypeId::of::<T>()) {
            return;
        }
        self.bases.insert(TypeId::of::<T>(), self.entries.len() as u32);
        let number = self.types.len();
        self.entries.extend((0..=T::ENTRIES.len()).map(|entry| (number, entry)));
        self.types.push(Box::new(TypeOf::<T>::new()));
    }

    pub(crate) fn base(&self, of: TypeId) -> Option<u32> {
        self.bases.get(&of).copied()
    }

    /// The same on all ranks that have the same types and methods.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        for chare in &self.types {
            (chare.name(), chare.entries()).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// A number by which the function is called.
    pub(crate) fn add_function(&self, function: Function) -> u64 {
        let number = self.functions_added.get();
        self.functions_added.set(number + 1);
        self.functions.borrow_mut().insert(number, function);
        number
    }

    /// Runs something with an object.
    pub(crate) fn with_object(
        &self,
        id: ObjectId,
        run: impl FnOnce(&mut dyn Any) -> Result<(), String>,
    ) -> Result<(), String> {
        let taken = self.objects.borrow_mut().get_mut(id as usize).and_then(Option::take);
        let mut object = taken.ok_or("a method of it runs already")?;
        let result = run(&mut *object);
        if let Some(place) = self.objects.borrow_mut().get_mut(id as usize) {
            *place = Some(object);
        }
        result
    }

    pub(crate) fn drop_objects(&self) {
        let objects = self.objects.take();
        let functions = self.functions.take();
        drop((objects, functions));
    }

    pub(crate) fn insert(&self, object: Box<dyn Any>) -> ObjectId {
        self.objects.borrow_mut().insert(Some(object)) as ObjectId
    }

    /// It may use the registry when it is dropped.
    pub(crate) fn remove(&self, id: ObjectId) {
        let object = self.objects.borrow_mut().try_remove(id as usize);
        drop(object);
    }

    pub(crate) fn take_function(&self, number: u64) -> Option<Function> {
        self.functions.borrow_mut().remove(&number)
    }

    /// The type of an entry method or constructor, and its number there.
    pub(crate) fn entry(&self, number: u32) -> Result<(&dyn AnyType, usize), String> {
        let found = self.entries.get(number as usize);
        let (chare, entry) =
            *found.ok_or_else(|| format!("there is no entry method with the number {number}"))?;
        Ok((&*self.types[chare], entry))
    }

    /// The number of the type of an entry method or constructor.
    pub(crate) fn type_of(&self, entry: u32) -> u32 {
        self.entries.get(entry as usize).map_or(NO_TYPE, |(chare, _)| *chare as u32)
    }

    pub(crate) fn chare(&self, number: u32) -> Option<&dyn AnyType> {
        self.types.get(number as usize).map(|chare| &**chare)
    }
}
