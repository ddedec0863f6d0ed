//! What the runtime asks of the program: to make its objects, invoke them, and pack them. Each
//! language implements this once.

use crate::collection::{CollectionId, ObjectId};
use crate::index::Index;
use crate::message::{ActorHeader, ActorMessage, MessageHandle};
use crate::runtime::Runtime;

/// Names a chare in the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChareId {
    /// Its collection.
    pub collection: CollectionId,
    /// Its index there.
    pub index: Index,
}

impl ChareId {
    /// The chare to which a message is addressed.
    #[must_use]
    pub fn of(header: &ActorHeader) -> ChareId {
        ChareId { collection: CollectionId(header.collection), index: header.index() }
    }
}

/// The chares of a program. Types, entry methods and reducers have numbers that the program gives
/// them, the same on all ranks. Methods that get the runtime may call it; an error is a sentence
/// that ends the job.
pub trait Chares {
    /// Constructs a chare; the message's header says by which constructor.
    ///
    /// # Errors
    /// The constructor has failed.
    fn construct(
        &self,
        runtime: &Runtime,
        id: ChareId,
        message: &ActorMessage,
    ) -> Result<ObjectId, String>;

    /// Invokes an entry method of an object, which may keep the message.
    ///
    /// # Errors
    /// The method has failed.
    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String>;

    /// Lets a method that is suspended go on.
    ///
    /// # Errors
    /// The method has failed, or there is none.
    fn resume(&self, runtime: &Runtime, method: u64) -> Result<(), String> {
        let _ = runtime;
        Err(format!("no method {method} is suspended"))
    }

    /// Takes in the read-only data of rank 0, whose program has this fingerprint.
    ///
    /// # Errors
    /// This is another program, or the data is not that of this one.
    fn begin(&self, fingerprint: u64, data: &[u8]) -> Result<(), String> {
        let _ = (fingerprint, data);
        Ok(())
    }

    /// As `begin`, with the read-only data of a checkpoint ([`Runtime::restart`]).
    ///
    /// # Errors
    /// Another program has written the checkpoint.
    fn restart(&self, fingerprint: u64, data: &[u8]) -> Result<(), String> {
        self.begin(fingerprint, data)
    }

    /// Whether elements of this type will be ready for load balancing: their arrays take part from
    /// the beginning ([`Runtime::join_balancing`]).
    fn takes_part(&self, chare: u32) -> bool {
        let _ = chare;
        false
    }

    /// Invokes the method of an object that waited for load balancing ([`Runtime::at_sync`]).
    ///
    /// # Errors
    /// The method has failed.
    fn resume_from_sync(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
    ) -> Result<(), String> {
        let _ = (runtime, id, object);
        Ok(())
    }

    /// The name of that method, for messages to the user.
    fn resuming_method(&self, chare: u32) -> String {
        let _ = chare;
        "method".into()
    }

    /// An object of this type is about to be packed because it leaves this rank: it is destroyed
    /// then. It is packed for a checkpoint without that.
    fn leaves(&self, runtime: &Runtime, chare: u32, object: ObjectId) {
        let _ = (runtime, chare, object);
    }

    /// Whether objects of this type can be packed.
    fn can_pack(&self, chare: u32) -> bool {
        let _ = chare;
        true
    }

    /// How many bytes `pack` would pack of an object of this type, or 0 if that is not known.
    ///
    /// # Errors
    /// The object cannot be measured.
    fn packed_bytes(&self, runtime: &Runtime, chare: u32, object: ObjectId) -> Result<u64, String> {
        let _ = (runtime, chare, object);
        Ok(0)
    }

    /// This rank has written so many bytes of a checkpoint, of about so many in all, or 0 if that
    /// is not known.
    fn checkpoint_progress(&self, runtime: &Runtime, written: u64, all: u64) {
        let _ = (runtime, written, all);
    }

    /// Packs an object of this type behind this header: as the payload, or as the only array. It is
    /// destroyed if it leaves this rank.
    ///
    /// # Errors
    /// The object cannot be packed.
    fn pack(
        &self,
        runtime: &Runtime,
        chare: u32,
        object: ObjectId,
        header: ActorHeader,
    ) -> Result<ActorMessage, String>;

    /// Makes an object of this type again out of what `pack` has packed.
    ///
    /// # Errors
    /// These are not the bytes of such an object.
    fn unpack(
        &self,
        runtime: &Runtime,
        chare: u32,
        id: ChareId,
        packed: &[u8],
    ) -> Result<ObjectId, String>;

    /// Destroys an object of this type.
    ///
    /// # Errors
    /// That has failed.
    fn destroy(&self, runtime: &Runtime, chare: u32, object: ObjectId) -> Result<(), String>;

    /// Combines two values that chares contribute to a reduction with a reducer of the program
    /// ([`crate::reducers::PROGRAM_REDUCERS`]): the second into the first.
    ///
    /// # Errors
    /// The values do not fit together.
    fn combine(&self, reducer: u32, into: &mut Vec<u8>, value: &[u8]) -> Result<(), String> {
        let _ = (into, value);
        Err(format!("there is no reducer {reducer}"))
    }

    /// Calls a function of the program with the result of a reduction, or on quiescence.
    ///
    /// # Errors
    /// The function has failed.
    fn call_back(&self, runtime: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        let _ = (runtime, value);
        Err(format!("there is no function {function}"))
    }

    /// The type of the chares that a constructor makes.
    fn chare_type(&self, constructor: u32) -> u32;

    /// The name of a type, for messages to the user.
    fn chare_name(&self, chare: u32) -> String;

    /// The name of an entry method, for messages to the user.
    fn entry_name(&self, entry: u32) -> String;
}
