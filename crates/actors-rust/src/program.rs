//! What the runtime asks of a program in Rust: calls of its methods.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use towpath_actors::collection::ObjectId;
use towpath_actors::{ActorHeader, ActorMessage, ChareId, Chares, MessageHandle, Runtime};

use crate::received::MethodMessage;
use crate::registry::ChareRegistry;

/// The program of this rank.
pub(crate) struct RustProgram {
    registry: Rc<ChareRegistry>,
}

impl RustProgram {
    pub(crate) fn new(registry: Rc<ChareRegistry>) -> RustProgram {
        RustProgram { registry }
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

impl Chares for RustProgram {
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
            guarded(|| chare.invoke(object, id, entry, &MethodMessage::new(&message)))
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
    ) -> Result<ActorMessage, String> {
        let mut packed = Vec::new();
        self.registry.with_object(object, |object| {
            let chare = self.registry.chare(chare).ok_or("its type is unknown")?;
            packed = guarded(|| chare.pack(object))?;
            Ok(())
        })?;
        if packed.len() < runtime.shortest_array() {
            return Ok(ActorMessage::of(header, &packed));
        }
        Ok(ActorMessage::new(header, 0).with_arrays(vec![runtime.copied_array(&packed)]))
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

    fn destroy(&self, _: &Runtime, _: u32, object: ObjectId) -> Result<(), String> {
        self.registry.remove(object);
        Ok(())
    }

    fn call_back(&self, _: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        let function = self.registry.take_function(function);
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
