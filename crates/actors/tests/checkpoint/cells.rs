//! Chares whose state is a list of numbers.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use towpath_actors::collection::ObjectId;
use towpath_actors::reducers::PROGRAM_REDUCERS;
use towpath_actors::{
    ActorError, ActorHeader, ActorMessage, ChareCallback, ChareId, Chares, Contribution,
    MessageHandle, Runtime,
};

pub(crate) const FINGERPRINT: u64 = 0xfeed;
/// Entry methods: compute and contribute; contribute with the number of the reduction; get ready;
/// say what the state is.
pub(crate) const STEP: u32 = 1;
pub(crate) const SYNCHRONIZE: u32 = 2;
pub(crate) const TELL: u32 = 3;
/// Functions.
pub(crate) const SUM: u64 = 1;
pub(crate) const SAVED: u64 = 2;
pub(crate) const QUIET: u64 = 3;

/// The type of a chare, and its numbers.
pub(crate) type State = (u32, Vec<u64>);

/// What the ranks of a job have seen.
#[derive(Default)]
pub(crate) struct Seen {
    /// What functions were called with.
    pub(crate) called: RefCell<Vec<(u64, Vec<u8>)>>,
    pub(crate) told: RefCell<Vec<(ChareId, u32, Vec<u64>)>>,
    /// The numbers of the reductions to which elements have contributed.
    pub(crate) numbers: RefCell<BTreeSet<u32>>,
    pub(crate) read_only: RefCell<Vec<Vec<u8>>>,
    pub(crate) progress: Cell<(u64, u64)>,
}

/// Chares whose state is a list of numbers.
#[derive(Clone, Default)]
pub(crate) struct Cells {
    pub(crate) seen: Rc<Seen>,
    objects: Rc<RefCell<BTreeMap<ObjectId, State>>>,
    made: Rc<Cell<ObjectId>>,
}

impl Cells {
    /// The chares of one rank.
    pub(crate) fn new(seen: Rc<Seen>) -> Cells {
        Cells { seen, ..Cells::default() }
    }

    fn add(&self, chare: u32, state: Vec<u64>) -> ObjectId {
        self.made.set(self.made.get() + 1);
        self.objects.borrow_mut().insert(self.made.get(), (chare, state));
        self.made.get()
    }

    fn step(&self, runtime: &Runtime, id: ChareId, object: ObjectId) -> Result<(), ActorError> {
        let value = {
            let mut objects = self.objects.borrow_mut();
            let state = &mut objects.get_mut(&object).unwrap().1;
            let last = *state.last().unwrap();
            let next = last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Some elements become long messages.
            state.push(next);
            next
        };
        let callback = Some(ChareCallback::Function { rank: 0, function: SUM });
        let value = value.to_le_bytes().to_vec();
        let contribution = Contribution { reducer: PROGRAM_REDUCERS, elements: 1, callback, value };
        let number = runtime.contribute(id, contribution)?;
        self.seen.numbers.borrow_mut().insert(number);
        Ok(())
    }
}

impl Chares for Cells {
    fn construct(
        &self,
        _: &Runtime,
        id: ChareId,
        message: &ActorMessage,
    ) -> Result<ObjectId, String> {
        let words = id.index.words().iter().map(|word| u64::from(word.cast_unsigned()));
        let seed = words.fold(1, |all, word| all * 1000 + word);
        Ok(self.add(message.header().entry, vec![seed]))
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        match message.header().entry {
            STEP => self.step(runtime, id, object),
            SYNCHRONIZE => runtime.at_sync(id).map(|_| ()),
            _ => {
                let (chare, state) = self.objects.borrow()[&object].clone();
                self.seen.told.borrow_mut().push((id, chare, state));
                Ok(())
            }
        }
        .map_err(|error| error.to_string())
    }

    fn begin(&self, fingerprint: u64, data: &[u8]) -> Result<(), String> {
        self.seen.read_only.borrow_mut().push(data.to_vec());
        if fingerprint == FINGERPRINT { Ok(()) } else { Err("this is another program".into()) }
    }

    fn packed_bytes(&self, _: &Runtime, _: u32, object: ObjectId) -> Result<u64, String> {
        Ok(8 * self.objects.borrow()[&object].1.len() as u64)
    }

    fn checkpoint_progress(&self, _: &Runtime, written: u64, all: u64) {
        self.seen.progress.set((written, all));
    }

    fn pack(
        &self,
        _: &Runtime,
        chare: u32,
        object: ObjectId,
        header: ActorHeader,
    ) -> Result<ActorMessage, String> {
        let (packed_chare, state) = self.objects.borrow()[&object].clone();
        assert_eq!(chare, packed_chare);
        let bytes: Vec<u8> = state.iter().flat_map(|number| number.to_le_bytes()).collect();
        Ok(ActorMessage::of(header, &bytes))
    }

    fn unpack(
        &self,
        _: &Runtime,
        chare: u32,
        _: ChareId,
        packed: &[u8],
    ) -> Result<ObjectId, String> {
        let numbers = packed.chunks(8).map(|bytes| bytes.try_into().map(u64::from_le_bytes));
        let state: Result<Vec<u64>, _> = numbers.collect();
        Ok(self.add(chare, state.map_err(|_| "not a multiple of eight bytes")?))
    }

    fn destroy(&self, _: &Runtime, _: u32, object: ObjectId) -> Result<(), String> {
        self.objects.borrow_mut().remove(&object);
        Ok(())
    }

    fn combine(&self, _: u32, into: &mut Vec<u8>, value: &[u8]) -> Result<(), String> {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        *into = number(into).wrapping_add(number(value)).to_le_bytes().to_vec();
        Ok(())
    }

    fn call_back(&self, _: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        self.seen.called.borrow_mut().push((function, value.to_vec()));
        Ok(())
    }

    fn chare_type(&self, constructor: u32) -> u32 {
        constructor
    }

    fn chare_name(&self, chare: u32) -> String {
        format!("Cell{chare}")
    }

    fn entry_name(&self, entry: u32) -> String {
        format!("method{entry}")
    }
}
