//! A job on simulated ranks, whose chares have no state.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use towpath_actors::collection::ObjectId;
use towpath_actors::{
    ActorError, ActorHeader, ActorMessage, ChareId, Chares, CollectionId, CollectionOptions,
    HomeMap, Index, MessageHandle, QueueOrder, Runtime,
};

use crate::support::{WireEnd, Wires};

/// What ranks compare when they begin.
pub(crate) const FINGERPRINT: u64 = 77;

type Method = dyn Fn(&Runtime, ChareId, &ActorMessage) -> Result<(), String>;

/// Chares without state, whose only method is a function of the test.
struct Stateless {
    method: Rc<Method>,
    /// How long constructors take, on this clock.
    construction: Rc<Cell<u64>>,
    time: Rc<Cell<u64>>,
    /// What the ranks have been told, as "rank function value".
    told: Rc<RefCell<Vec<String>>>,
}

impl Chares for Stateless {
    fn construct(&self, _: &Runtime, _: ChareId, _: &ActorMessage) -> Result<ObjectId, String> {
        self.time.set(self.time.get() + self.construction.get());
        Ok(0)
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        _: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        (self.method)(runtime, id, &message)
    }

    fn pack(
        &self,
        _: &Runtime,
        _: u32,
        _: ObjectId,
        header: ActorHeader,
    ) -> Result<ActorMessage, String> {
        Ok(ActorMessage::of(header, &[]))
    }

    fn unpack(&self, _: &Runtime, _: u32, _: ChareId, _: &[u8]) -> Result<ObjectId, String> {
        Ok(0)
    }

    fn destroy(&self, _: &Runtime, _: u32, _: ObjectId) -> Result<(), String> {
        Ok(())
    }

    fn combine(&self, _: u32, into: &mut Vec<u8>, value: &[u8]) -> Result<(), String> {
        if into.len() != value.len() {
            return Err(format!("{} bytes meet {}", into.len(), value.len()));
        }
        into.iter_mut().zip(value).for_each(|(sum, byte)| *sum += byte);
        Ok(())
    }

    fn call_back(&self, runtime: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        let rank = runtime.rank();
        self.told.borrow_mut().push(format!("{rank} {function} {value:?}"));
        Ok(())
    }

    fn begin(&self, fingerprint: u64, data: &[u8]) -> Result<(), String> {
        if fingerprint != FINGERPRINT {
            return Err("another program".into());
        }
        assert_eq!(data, b"read-only");
        Ok(())
    }

    fn chare_type(&self, constructor: u32) -> u32 {
        constructor
    }

    fn chare_name(&self, chare: u32) -> String {
        format!("Chare{chare}")
    }

    fn entry_name(&self, entry: u32) -> String {
        format!("method{entry}")
    }
}

/// The ranks of a job.
pub(crate) struct Job {
    pub(crate) runtimes: Vec<Runtime>,
    pub(crate) wires: Rc<RefCell<Wires>>,
    pub(crate) told: Rc<RefCell<Vec<String>>>,
    /// Nanoseconds that each constructor takes.
    pub(crate) construction: Rc<Cell<u64>>,
}

impl Job {
    /// The method of its chares is this function.
    pub(crate) fn new(
        ranks: u32,
        method: impl Fn(&Runtime, ChareId, &ActorMessage) -> Result<(), String> + 'static,
    ) -> Job {
        Job::seeded(7, ranks, method)
    }

    /// The seed decides how messages are delayed.
    pub(crate) fn seeded(
        seed: u64,
        ranks: u32,
        method: impl Fn(&Runtime, ChareId, &ActorMessage) -> Result<(), String> + 'static,
    ) -> Job {
        let (wires, told) = (Wires::new(ranks, seed), Rc::new(RefCell::default()));
        let method: Rc<Method> = Rc::new(method);
        let (construction, time) = (Rc::<Cell<u64>>::default(), wires.borrow().time.clone());
        let runtime = |rank| {
            let (method, told) = (method.clone(), told.clone());
            let (construction, time) = (construction.clone(), time.clone());
            let chares = Stateless { method, construction, time, told };
            let layer = WireEnd { wires: wires.clone(), rank };
            Runtime::new(Box::new(layer), Box::new(chares), QueueOrder::Fifo)
        };
        Job { runtimes: (0..ranks).map(runtime).collect(), wires, told, construction }
    }

    /// Lets all ranks work for so long that nothing is left to do.
    pub(crate) fn work(&self) {
        for _ in 0..2000 {
            self.runtimes.iter().for_each(|runtime| {
                runtime.step();
            });
        }
        assert!(self.wires.borrow().are_empty(), "messages are under way");
    }

    /// Lets all ranks run as long as programs do that do not end themselves.
    pub(crate) fn run(&self) {
        for _ in 0..2000 {
            for runtime in &self.runtimes {
                if runtime.ended() == Ok(None) && !runtime.step() {
                    runtime.wait();
                }
            }
        }
    }

    /// How each rank has ended, if it has.
    pub(crate) fn ends(&self) -> Vec<Result<Option<i32>, ActorError>> {
        self.runtimes.iter().map(Runtime::ended).collect()
    }

    /// What rank 0 says of the end.
    pub(crate) fn sentence(&self) -> String {
        self.work();
        let errors: Vec<ActorError> = self.ends().into_iter().filter_map(Result::err).collect();
        assert_eq!(errors.len(), 1, "one rank has found the error: {errors:?}");
        assert!(self.ends().into_iter().all(|end| end.map_or(true, |code| code == Some(1))));
        errors[0].to_string()
    }
}

pub(crate) fn options(map: HomeMap, filled: bool) -> CollectionOptions {
    CollectionOptions { chare: 3, constructor: 0, map, filled, parameters: Vec::new() }
}

pub(crate) fn at(collection: CollectionId, index: i32) -> ChareId {
    ChareId { collection, index: Index::one(index) }
}
