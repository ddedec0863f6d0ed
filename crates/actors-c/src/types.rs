//! Structures of `actors.h`, and what they mean.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use towpath_actors::message::MessageMemory;
use towpath_actors::persistent::PersistentChannel;
use towpath_actors::{
    ChareCallback, ChareId, CollectionId, CollectionOptions, HomeMap, Index, MessageArray,
    SectionId,
};

use crate::value::ReductionValue;

/// `towpath_index`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct CIndex {
    words: [i32; 6],
    length: i32,
}

impl CIndex {
    /// The index; an error if its length is not one.
    pub(crate) fn index(&self) -> Result<Index, String> {
        let length = u8::try_from(self.length).ok();
        length
            .and_then(|length| Index::of(self.words, length))
            .ok_or_else(|| format!("an index has 0 to 6 words, but its length is {}", self.length))
    }
}

impl From<Index> for CIndex {
    fn from(index: Index) -> CIndex {
        let (words, length) = index.parts();
        CIndex { words, length: i32::from(length) }
    }
}

/// `towpath_chare_id`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CChareId {
    collection: u64,
    index: CIndex,
}

impl CChareId {
    /// The words of its index.
    pub(crate) fn words(&self) -> &[i32] {
        self.index.words.get(..self.index.length.max(0) as usize).unwrap_or(&[])
    }

    /// Which chare it names.
    pub(crate) fn id(&self) -> Result<ChareId, String> {
        Ok(ChareId { collection: CollectionId(self.collection), index: self.index.index()? })
    }
}

impl From<ChareId> for CChareId {
    fn from(id: ChareId) -> CChareId {
        CChareId { collection: id.collection.0, index: id.index.into() }
    }
}

/// `towpath_section`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CSection {
    collection: u64,
    root: u32,
    number: u32,
}

impl CSection {
    /// Which section it names.
    pub(crate) fn id(&self) -> SectionId {
        let collection = CollectionId(self.collection);
        SectionId { collection, root: self.root, number: self.number }
    }
}

impl From<SectionId> for CSection {
    fn from(id: SectionId) -> CSection {
        CSection { collection: id.collection.0, root: id.root, number: id.number }
    }
}

/// `towpath_placement`.
#[repr(C)]
pub struct CPlacement {
    pub(crate) array: u32,
    pub(crate) memory: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) is_on_device: u32,
}

/// `towpath_channel`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CChannel {
    chare: CChareId,
    rank: u32,
    number: u32,
    bytes: usize,
    /// One more than the place in shared memory; 0 if it is in none.
    shared: u64,
}

impl CChannel {
    /// The name of a channel of a chare.
    pub(crate) fn new(chare: CChareId, channel: PersistentChannel) -> CChannel {
        let PersistentChannel { rank, number, bytes, shared } = channel;
        CChannel { chare, rank, number, bytes, shared: shared.map_or(0, |place| place + 1) }
    }

    /// Which channel it names, and of which chare.
    pub(crate) fn channel(&self) -> Result<(PersistentChannel, ChareId), String> {
        let CChannel { chare, rank, number, bytes, shared } = *self;
        let shared = shared.checked_sub(1);
        Ok((PersistentChannel { rank, number, bytes, shared }, chare.id()?))
    }
}

/// `towpath_message`.
#[repr(C)]
pub struct CMessage {
    pub(crate) payload: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) entry: u32,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) reference: u32,
    pub(crate) memory: *mut MessageMemory,
    pub(crate) arrays: *const MessageArray,
    pub(crate) array_count: usize,
}

// As in actors.h.
const _: () = assert!(
    size_of::<CMessage>() == 56
        && offset_of!(CMessage, memory) == 32
        && offset_of!(CMessage, arrays) == 40
);

pub(crate) type PackedBytes = unsafe extern "C" fn(*mut c_void, *mut c_void) -> usize;

/// `towpath_type`.
#[repr(C)]
pub struct CType {
    pub(crate) name: *const c_char,
    pub(crate) context: *mut c_void,
    pub(crate) packed_bytes: Option<PackedBytes>,
    pub(crate) pack: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, usize)>,
    pub(crate) unpack: Option<
        unsafe extern "C" fn(*mut c_void, *const CChareId, *const c_void, usize) -> *mut c_void,
    >,
    pub(crate) destroy: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub(crate) number: u32,
}

/// Flag of an entry method: it runs on a user-level thread.
pub(crate) const THREADED: u32 = 1;

/// Flag of an entry method: chares of its type go on with it after load balancing.
pub(crate) const RESUMES: u32 = 2;

type Construct = unsafe extern "C" fn(*mut c_void, *const CChareId, *mut CMessage) -> *mut c_void;
type Invoke = unsafe extern "C" fn(*mut c_void, *mut c_void, *const CChareId, *mut CMessage);

/// `towpath_entry`.
#[repr(C)]
pub struct CEntry {
    pub(crate) name: *const c_char,
    pub(crate) context: *mut c_void,
    pub(crate) flags: u32,
    pub(crate) number: u32,
    /// Of a constructor: the type of the chares that it makes. Of a method with the flag RESUMES:
    /// the type of those that go on with it, or null for all that have no other one.
    pub(crate) chare: *const CType,
    pub(crate) construct: Option<Construct>,
    pub(crate) invoke: Option<Invoke>,
}

/// `towpath_reducer`.
#[repr(C)]
pub struct CReducer {
    pub(crate) name: *const c_char,
    pub(crate) context: *mut c_void,
    pub(crate) combine:
        Option<unsafe extern "C" fn(*mut c_void, *mut ReductionValue, *const c_void, usize)>,
    pub(crate) number: u32,
}

/// `towpath_program`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CProgram {
    pub(crate) context: *mut c_void,
    pub(crate) read_only: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize)>,
    pub(crate) call_back: Option<unsafe extern "C" fn(*mut c_void, u64, *const c_void, usize)>,
}

/// `towpath_collection`.
#[repr(C)]
pub struct CCollection {
    chare: u32,
    constructor: u32,
    map: u32,
    dimensions: u32,
    extents: [u32; 6],
    is_filled: i32,
}

impl CCollection {
    /// What it says, with these parameters of the constructor.
    pub(crate) fn options(&self, parameters: &[u8]) -> Result<CollectionOptions, String> {
        let extents = self.extents.get(..self.dimensions as usize);
        let extents = extents.map(<[u32]>::to_vec).ok_or_else(|| {
            format!("an array has up to 6 dimensions, but {} were named", self.dimensions)
        })?;
        let map = match self.map {
            0 => HomeMap::Block(extents),
            1 => HomeMap::RoundRobin(extents),
            2 => HomeMap::Hash,
            3 => HomeMap::FirstWord,
            other => return Err(format!("there is no map {other}; maps are 0 to 3")),
        };
        Ok(CollectionOptions {
            chare: self.chare,
            constructor: self.constructor,
            map,
            filled: self.is_filled != 0,
            parameters: parameters.to_vec(),
        })
    }
}

/// `towpath_callback`.
#[repr(C)]
pub struct CCallback {
    kind: u32,
    entry: u32,
    reference: u32,
    rank: u32,
    collection: u64,
    index: CIndex,
    function: u64,
}

impl CCallback {
    /// Whom it tells.
    pub(crate) fn callback(&self) -> Result<ChareCallback, String> {
        let (collection, entry, reference) = (self.collection, self.entry, self.reference);
        Ok(match self.kind {
            0 => ChareCallback::Ignore,
            1 => ChareCallback::Exit,
            2 => {
                let index = self.index.index()?;
                ChareCallback::Chare { collection, index, entry, reference }
            }
            3 => ChareCallback::All { collection, entry, reference },
            4 => ChareCallback::Function { rank: self.rank, function: self.function },
            5 => {
                // No section has the number 0.
                let (root, number) = (self.rank, u32::try_from(self.function).unwrap_or(0));
                ChareCallback::Section { collection, root, number, entry, reference }
            }
            other => return Err(format!("there is no callback of kind {other}; they are 0 to 5")),
        })
    }
}
