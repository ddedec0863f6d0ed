//! What the runtime asks of the program: calls of its functions.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

use towpath_actors::collection::{NO_TYPE, ObjectId};
use towpath_actors::message::MessageKind;
use towpath_actors::reducers::PROGRAM_REDUCERS;
use towpath_actors::{ActorHeader, ActorMessage, ChareId, Chares, MessageHandle, Runtime};
use towpath_actors_mpi::progress::CheckpointProgress;

use crate::current::without_job;
use crate::failure::outcome;
use crate::messages::ReceivedMessage;
use crate::registry::{Numbered, ProgramParts};
use crate::threads;
use crate::types::{CChareId, CEntry, CProgram, CType, PackedBytes, THREADED};
use crate::value::ReductionValue;
use crate::writer::{RunningMethod, named};

const NOT_RESUMED: &str = "its type has no entry method with the flag TOWPATH_RESUMES, with which \
                           it goes on after load balancing";

/// The program of this process.
pub(crate) struct Program {
    functions: CProgram,
    parts: ProgramParts,
    progress: CheckpointProgress,
}

impl Program {
    pub(crate) fn new(functions: CProgram, parts: ProgramParts) -> Program {
        Program { functions, parts, progress: CheckpointProgress::default() }
    }

    fn entry(&self, number: u32) -> Result<&'static CEntry, String> {
        let entry = self.parts.entries.get(number as usize).map(|(_, entry)| *entry);
        entry.ok_or_else(|| format!("there is no entry method with the number {number}"))
    }

    fn chare(&self, number: u32) -> Result<&'static CType, String> {
        let chare = self.parts.types.get(number as usize).map(|(_, chare)| *chare);
        chare.ok_or_else(|| format!("there is no type with the number {number}"))
    }

    /// Calls an entry method of an object.
    #[inline]
    fn call(
        &self,
        runtime: &Runtime,
        entry: &'static CEntry,
        id: ChareId,
        target: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        let invoke = entry.invoke.ok_or("it is a constructor")?;
        let is_threaded = entry.flags & THREADED != 0;
        // A sender does not wait for what a thread waits for.
        let message = if is_threaded { message.kept() } else { message };
        let received = ReceivedMessage::new(message);
        let call = move || {
            let mut received = received;
            let message = (&raw mut received).cast();
            let id = CChareId::from(id);
            named(&RunningMethod { entry, id: &id }, || {
                // SAFETY: the function is called as the header says. The object exists (`object`),
                // and the message until this returns.
                unsafe { invoke(entry.context, object(target), &id, message) };
            });
        };
        if !is_threaded {
            call();
            return outcome();
        }
        threads::start(runtime, id, entry.number, call)
    }
}

thread_local! {
    /// Whether the object that is packed leaves this rank.
    static LEAVES: Cell<bool> = const { Cell::new(false) };
}

/// In functions that measure and pack: whether the object leaves this rank.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_leaves() -> c_int {
    LEAVES.get().into()
}

/// An object of the program. It exists as long as the runtime names it: the runtime calls `destroy`
/// after it has forgotten the object, and not while a method of it runs or is suspended.
fn object(id: ObjectId) -> *mut c_void {
    ptr::with_exposed_provenance_mut(id as usize)
}

/// How many bytes an object needs when it is packed.
fn measured(chare: &CType, function: PackedBytes, target: ObjectId) -> Result<usize, String> {
    // SAFETY: the function is called as the header says. The object exists (`object`).
    let bytes = unsafe { function(chare.context, object(target)) };
    outcome()?;
    Ok(bytes)
}

/// An object as a message: its payload, or if it is long its only array.
fn packed(
    runtime: &Runtime,
    chare: &CType,
    target: ObjectId,
    header: ActorHeader,
) -> Result<ActorMessage, String> {
    let functions = chare.packed_bytes.zip(chare.pack);
    let (packed_bytes, pack) = functions.ok_or("its type has no function that packs it")?;
    let bytes = measured(chare, packed_bytes, target)?;
    let pack = |into: &mut [u8]| {
        // SAFETY: the function is called as the header says, with memory of so many bytes. The
        // object exists (`object`).
        unsafe { pack(chare.context, object(target), into.as_mut_ptr().cast(), bytes) };
        outcome()
    };
    if bytes < runtime.shortest_array() {
        let mut message = ActorMessage::new(header, bytes);
        pack(message.payload_mut())?;
        return Ok(message);
    }
    let mut array = runtime.new_array(bytes);
    pack(array.bytes_mut())?;
    Ok(ActorMessage::new(header, 0).with_arrays(vec![array.into_array()]))
}

impl Chares for Program {
    fn construct(
        &self,
        _: &Runtime,
        id: ChareId,
        message: &ActorMessage,
    ) -> Result<ObjectId, String> {
        let entry = self.entry(message.header().entry)?;
        let construct = entry.construct.ok_or("it is no constructor")?;
        let copy = message.copy(*message.header());
        let mut received = ReceivedMessage::new(copy.into());
        // SAFETY: the function is called as the header says, with a message that lives until this
        // returns.
        let object =
            unsafe { construct(entry.context, &CChareId::from(id), (&raw mut received).cast()) };
        outcome()?;
        if object.is_null() {
            return Err("the constructor has returned no object".into());
        }
        Ok(object.expose_provenance() as ObjectId)
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        target: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        let entry = self.entry(message.header().entry)?;
        self.call(runtime, entry, id, target, message)
    }

    fn takes_part(&self, chare: u32) -> bool {
        self.parts.resumes.is_of(chare)
    }

    fn resume_from_sync(
        &self,
        runtime: &Runtime,
        id: ChareId,
        target: ObjectId,
    ) -> Result<(), String> {
        let chare = runtime.chare_of(id).unwrap_or(NO_TYPE);
        let entry = self.parts.resumes.of(chare).ok_or(NOT_RESUMED)?;
        let header = ActorHeader::new(MessageKind::Invoke, id.collection.0, Some(&id.index), 0);
        self.call(runtime, entry, id, target, ActorMessage::new(header, 0).into())
    }

    fn resuming_method(&self, chare: u32) -> String {
        let entry = self.parts.resumes.of(chare);
        entry.map_or_else(|| "method".into(), |entry| self.entry_name(entry.number))
    }

    fn resume(&self, runtime: &Runtime, method: u64) -> Result<(), String> {
        threads::resume(runtime, method)
    }

    fn begin(&self, fingerprint: u64, data: &[u8]) -> Result<(), String> {
        if fingerprint != self.parts.fingerprint {
            return Err(
                "its program has other chares or entry methods than that of rank 0; start \
                        the same program on all ranks"
                    .into(),
            );
        }
        if let Some(read_only) = self.functions.read_only {
            // SAFETY: the function is called as the header says, with bytes that live until it
            // returns.
            unsafe { read_only(self.functions.context, data.as_ptr().cast(), data.len()) };
        }
        outcome()
    }

    fn restart(&self, fingerprint: u64, data: &[u8]) -> Result<(), String> {
        if fingerprint != self.parts.fingerprint {
            return Err(
                "it was written by a program with other chares or entry methods; restart the \
                        program that has written it"
                    .into(),
            );
        }
        self.begin(fingerprint, data)
    }

    fn leaves(&self, _: &Runtime, _: u32, _: ObjectId) {
        LEAVES.set(true);
    }

    fn can_pack(&self, chare: u32) -> bool {
        self.chare(chare).is_ok_and(|chare| chare.packed_bytes.is_some() && chare.pack.is_some())
    }

    fn packed_bytes(&self, _: &Runtime, chare: u32, target: ObjectId) -> Result<u64, String> {
        let chare = self.chare(chare)?;
        Ok(chare.packed_bytes.map_or(Ok(0), |function| measured(chare, function, target))? as u64)
    }

    fn pack(
        &self,
        runtime: &Runtime,
        chare: u32,
        target: ObjectId,
        header: ActorHeader,
    ) -> Result<ActorMessage, String> {
        let packed = self.chare(chare).and_then(|chare| packed(runtime, chare, target, header));
        LEAVES.set(false);
        packed
    }

    fn unpack(
        &self,
        _: &Runtime,
        chare: u32,
        id: ChareId,
        packed: &[u8],
    ) -> Result<ObjectId, String> {
        let chare = self.chare(chare)?;
        let unpack = chare.unpack.ok_or("its type has no function that unpacks it")?;
        // SAFETY: the function is called as the header says, with bytes that live until it returns.
        let object = unsafe {
            unpack(chare.context, &CChareId::from(id), packed.as_ptr().cast(), packed.len())
        };
        outcome()?;
        if object.is_null() {
            return Err("nothing was unpacked".into());
        }
        Ok(object.expose_provenance() as ObjectId)
    }

    fn destroy(&self, _: &Runtime, chare: u32, target: ObjectId) -> Result<(), String> {
        let chare = self.chare(chare)?;
        if let Some(destroy) = chare.destroy {
            // SAFETY: the function is called as the header says. The object exists (`object`), and
            // the runtime has forgotten it.
            unsafe { destroy(chare.context, object(target)) };
        }
        outcome()
    }

    fn combine(&self, reducer: u32, into: &mut Vec<u8>, value: &[u8]) -> Result<(), String> {
        let at = reducer.checked_sub(PROGRAM_REDUCERS);
        let reducer = at.and_then(|at| self.parts.reducers.get(at as usize));
        let reducer = reducer.map(|(_, reducer)| reducer);
        let found = reducer.and_then(|reducer| Some((reducer, reducer.combine?)));
        let (reducer, combine) = found.ok_or("there is no such reducer")?;
        let mut combined = ReductionValue(std::mem::take(into));
        without_job(|| {
            // SAFETY: the function is called as the header says, and both values live until it
            // returns.
            unsafe { combine(reducer.context, &mut combined, value.as_ptr().cast(), value.len()) };
        });
        *into = combined.0;
        outcome()
    }

    fn call_back(&self, _: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        let call_back = self.functions.call_back;
        let call_back = call_back.ok_or("the program has no functions for results")?;
        let (at, bytes) = (value.as_ptr().cast(), value.len());
        // SAFETY: the function is called as the header says, with bytes that live until it returns.
        unsafe { call_back(self.functions.context, function, at, bytes) };
        outcome()
    }

    fn checkpoint_progress(&self, runtime: &Runtime, written: u64, all: u64) {
        self.progress.written(runtime.rank(), written, all);
    }

    fn chare_type(&self, constructor: u32) -> u32 {
        let entry = self.entry(constructor).ok();
        // SAFETY: the type of a constructor is null, or registered, so that it stays in place.
        let chare = entry.and_then(|entry| unsafe { entry.chare.as_ref() });
        chare.map_or(NO_TYPE, |chare| chare.number)
    }

    fn chare_name(&self, chare: u32) -> String {
        name(&self.parts.types, chare, "chare")
    }

    fn entry_name(&self, entry: u32) -> String {
        name(&self.parts.entries, entry, "method")
    }
}

fn name<T>(all: &Numbered<T>, number: u32, otherwise: &str) -> String {
    all.get(number as usize).map_or_else(|| otherwise.into(), |(name, _)| name.clone())
}
