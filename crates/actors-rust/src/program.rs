//! What the runtime asks of a program in Rust: its types, and calls of its methods.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHasher};
use slab::Slab;

use towpath_actors::collection::{NO_TYPE, ObjectId};
use towpath_actors::{
    ActorError, ActorHeader, ActorMessage, ChareId, Chares, MessageHandle, Runtime,
};

use crate::chare::{AnyType, Chare, TypeOf};
use crate::message::Received;

/// Objects of so many bytes and more are packed beside the payload.
const BESIDE: usize = 64 << 10;

/// A function that is called with a value, once.
pub(crate) type Function = Box<dyn FnOnce(&[u8]) -> Result<(), String>>;

/// The types of a program, its objects on this rank, and functions that wait for values.
#[derive(Default)]
pub(crate) struct Registry {
    types: Vec<Box<dyn AnyType>>,
    /// The number of the constructor of each type; those of its entry methods follow.
    bases: FxHashMap<TypeId, u32>,
    /// Type and number there of each constructor and entry method.
    entries: Vec<(usize, usize)>,
    /// Nothing while a method of the object runs.
    objects: RefCell<Slab<Option<Box<dyn Any>>>>,
    functions: RefCell<Slab<Function>>,
}

impl Registry {
    pub(crate) fn add<T: Chare>(&mut self) {
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
        self.functions.borrow_mut().insert(function) as u64
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

    fn insert(&self, object: Box<dyn Any>) -> ObjectId {
        self.objects.borrow_mut().insert(Some(object)) as ObjectId
    }

    /// The type of an entry method or constructor, and its number there.
    fn entry(&self, number: u32) -> Result<(&dyn AnyType, usize), String> {
        let found = self.entries.get(number as usize);
        let (chare, entry) =
            *found.ok_or_else(|| format!("there is no entry method with the number {number}"))?;
        Ok((&*self.types[chare], entry))
    }

    /// The number of the type of an entry method or constructor.
    pub(crate) fn type_of(&self, entry: u32) -> u32 {
        self.entries.get(entry as usize).map_or(NO_TYPE, |(chare, _)| *chare as u32)
    }

    fn chare(&self, number: u32) -> Option<&dyn AnyType> {
        self.types.get(number as usize).map(|chare| &**chare)
    }
}

/// The program of this rank.
pub(crate) struct Program {
    registry: Rc<Registry>,
}

impl Program {
    pub(crate) fn new(registry: Rc<Registry>) -> Program {
        Program { registry }
    }
}

/// What a method returns, or why it has panicked.
fn guarded<R>(run: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    // What the method was changing may be half done, but the job ends.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(format!("it has panicked: {}", text.unwrap_or("without a text")))
    })
}

impl Chares for Program {
    fn construct(
        &self,
        _: &Runtime,
        id: ChareId,
        message: &ActorMessage,
    ) -> Result<ObjectId, String> {
        let (chare, _) = self.registry.entry(message.header().entry)?;
        let object = guarded(|| chare.construct(id, message.payload()))?;
        Ok(self.registry.insert(object))
    }

    fn invoke(
        &self,
        _: &Runtime,
        id: ChareId,
        object: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        let (chare, entry) = self.registry.entry(message.header().entry)?;
        let entry = entry.checked_sub(1).ok_or("it is a constructor")?;
        self.registry.with_object(object, |object| {
            guarded(|| chare.invoke(object, id, entry, &Received::new(&message)))
        })
    }

    fn begin(&self, fingerprint: u64, _: &[u8]) -> Result<(), String> {
        if fingerprint == self.registry.fingerprint() {
            return Ok(());
        }
        Err("its program has other chares or entry methods than that of rank 0; start the same \
             program on all ranks"
            .into())
    }

    fn pack(
        &self,
        runtime: &Runtime,
        chare: u32,
        object: ObjectId,
        header: ActorHeader,
    ) -> ActorMessage {
        let mut packed = Vec::new();
        let result = self.registry.with_object(object, |object| {
            let chare = self.registry.chare(chare).ok_or("its type is unknown")?;
            packed = guarded(|| chare.pack(object))?;
            Ok(())
        });
        if let Err(reason) = result {
            let (chare, method) = (self.chare_name(chare), "packing".into());
            runtime.fail(ActorError::Method { chare, method, index: header.index(), reason });
        }
        if packed.len() < BESIDE {
            return ActorMessage::of(header, &packed);
        }
        ActorMessage::new(header, 0).with_arrays(vec![runtime.copied_array(&packed)])
    }

    fn unpack(
        &self,
        _: &Runtime,
        chare: u32,
        _: ChareId,
        packed: &[u8],
    ) -> Result<ObjectId, String> {
        let chare = self.registry.chare(chare).ok_or("its type is unknown")?;
        Ok(self.registry.insert(guarded(|| chare.unpack(packed))?))
    }

    fn destroy(&self, _: &Runtime, _: u32, object: ObjectId) {
        let object = self.registry.objects.borrow_mut().try_remove(object as usize);
        // It may use the registry when it is dropped.
        drop(object);
    }

    fn call_back(&self, _: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        let function = self.registry.functions.borrow_mut().try_remove(function as usize);
        let function = function.ok_or("a callback of a function was called twice")?;
        guarded(|| function(value))
    }

    fn chare_type(&self, constructor: u32) -> u32 {
        self.registry.type_of(constructor)
    }

    fn chare_name(&self, chare: u32) -> String {
        self.registry.chare(chare).map_or_else(|| "chare".into(), |chare| chare.name().into())
    }

    fn entry_name(&self, entry: u32) -> String {
        let Ok((chare, entry)) = self.registry.entry(entry) else { return "method".into() };
        let method = entry.checked_sub(1).map_or("constructor", |entry| chare.entries()[entry]);
        format!("{}::{method}", chare.name())
    }
}
