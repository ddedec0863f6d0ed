//! An array whose first half has three times the work of the second: load balancing, and a
//! checkpoint in the middle from which any number of ranks goes on.
//!
//! `mpiexec -n RANKS chare_balance BALANCER PERIODS [write|restart DIRECTORY]`: rank 0 prints how
//! long each period took, and a sum that does not depend on the ranks; each rank prints its load in
//! the end. The balancer is `none`, `greedy`, `refine` or `hierarchical`. `write` writes a
//! checkpoint to the directory after half of the periods; `restart` goes on from there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use towpath_actors::balance::NORMAL_SPEED;
use towpath_actors::collection::ObjectId;
use towpath_actors::reducers::PROGRAM_REDUCERS;
use towpath_actors::runtime::broadcast;
use towpath_actors::{
    ActorHeader, ActorMessage, Balancer, BalancerOptions, ChareCallback, ChareId, Chares,
    CollectionId, CollectionOptions, Contribution, HomeMap, MessageHandle, Runtime,
};

const ELEMENTS: u32 = 32;
/// Iterations between two balancings.
const PERIOD: u32 = 10;
/// Multiplications that an element with a load of 1 does in one iteration.
const WORK: u64 = 20_000;
/// Entry methods.
const COMPUTE: u32 = 1;
const SYNCHRONIZE: u32 = 2;
/// Functions that are told of results.
const COMPUTED: u64 = 1;
const SAVED: u64 = 2;

/// One rank of the job.
struct Rank {
    /// The states of the elements here.
    values: BTreeMap<ObjectId, u64>,
    /// How much they have to do.
    loads: BTreeMap<ObjectId, u64>,
    made: ObjectId,
    /// Rank 0: how far the program is, and when each period began.
    array: CollectionId,
    iteration: u32,
    last: u32,
    directory: Option<String>,
    begun: Instant,
    periods: Vec<u128>,
}

#[derive(Clone)]
struct Elements(Rc<RefCell<Rank>>);

impl Elements {
    fn add(&self, id: ChareId, value: u64) -> ObjectId {
        let load = if id.index.words()[0] < ELEMENTS.cast_signed() / 2 { 3 } else { 1 };
        let rank = &mut *self.0.borrow_mut();
        rank.made += 1;
        rank.values.insert(rank.made, value);
        rank.loads.insert(rank.made, load);
        rank.made
    }

    fn compute(&self, object: ObjectId) {
        let rank = &mut *self.0.borrow_mut();
        let load = rank.loads[&object];
        let value = rank.values.get_mut(&object).expect("the object is here");
        for _ in 0..load * WORK {
            // Not linear, which a compiler would abbreviate.
            *value = (*value ^ *value >> 29).wrapping_mul(6_364_136_223_846_793_005);
            *value = value.wrapping_add(1);
        }
    }

    fn contribute(&self, runtime: &Runtime, id: ChareId, object: ObjectId) -> Result<(), String> {
        let value = self.0.borrow().values[&object].to_ne_bytes().to_vec();
        let callback = Some(ChareCallback::Function { rank: 0, function: COMPUTED });
        let contribution = Contribution { reducer: PROGRAM_REDUCERS, elements: 1, callback, value };
        runtime.contribute(id, contribution).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Rank 0: all elements have done an iteration.
    fn next(&self, runtime: &Runtime, sum: u64) {
        let rank = &mut *self.0.borrow_mut();
        rank.iteration += 1;
        if rank.iteration.is_multiple_of(PERIOD) {
            rank.periods.push(rank.begun.elapsed().as_micros());
            rank.begun = Instant::now();
        }
        if rank.iteration == rank.last {
            println!("periods {:?} us", rank.periods);
            println!("sum {sum}");
            return runtime.exit(0);
        }
        if let (Some(directory), true) = (&rank.directory, rank.iteration == rank.middle()) {
            let callback = ChareCallback::Function { rank: 0, function: SAVED };
            return runtime.start_checkpoint(directory, callback);
        }
        rank.go_on(runtime);
    }
}

impl Rank {
    fn middle(&self) -> u32 {
        self.last / PERIOD / 2 * PERIOD
    }

    fn go_on(&self, runtime: &Runtime) {
        let is_end = (self.iteration + 1).is_multiple_of(PERIOD);
        let entry = if is_end { SYNCHRONIZE } else { COMPUTE };
        runtime.broadcast(broadcast(self.array, entry, &[]));
    }
}

impl Chares for Elements {
    fn construct(&self, _: &Runtime, id: ChareId, _: &ActorMessage) -> Result<ObjectId, String> {
        Ok(self.add(id, u64::from(id.index.words()[0].cast_unsigned())))
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        self.compute(object);
        if message.header().entry == SYNCHRONIZE {
            return runtime.at_sync(id).map(|_| ()).map_err(|error| error.to_string());
        }
        self.contribute(runtime, id, object)
    }

    fn resume_from_sync(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
    ) -> Result<(), String> {
        self.contribute(runtime, id, object)
    }

    fn packed_bytes(&self, _: &Runtime, _: u32, _: ObjectId) -> Result<u64, String> {
        Ok(8)
    }

    fn pack(
        &self,
        _: &Runtime,
        _: u32,
        object: ObjectId,
        header: ActorHeader,
    ) -> Result<ActorMessage, String> {
        Ok(ActorMessage::of(header, &self.0.borrow().values[&object].to_ne_bytes()))
    }

    fn unpack(&self, _: &Runtime, _: u32, id: ChareId, packed: &[u8]) -> Result<ObjectId, String> {
        let value = packed.try_into().map_err(|_| "an element has eight bytes")?;
        Ok(self.add(id, u64::from_ne_bytes(value)))
    }

    fn destroy(&self, _: &Runtime, _: u32, object: ObjectId) -> Result<(), String> {
        let rank = &mut *self.0.borrow_mut();
        rank.values.remove(&object);
        rank.loads.remove(&object);
        Ok(())
    }

    fn combine(&self, _: u32, into: &mut Vec<u8>, value: &[u8]) -> Result<(), String> {
        *into = number(into)?.wrapping_add(number(value)?).to_ne_bytes().to_vec();
        Ok(())
    }

    fn call_back(&self, runtime: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        if function == COMPUTED {
            self.next(runtime, number(value)?);
            return Ok(());
        }
        if !value.is_empty() {
            return Err(String::from_utf8_lossy(value).into());
        }
        let rank = &mut *self.0.borrow_mut();
        rank.iteration = rank.middle();
        rank.begun = Instant::now();
        rank.go_on(runtime);
        Ok(())
    }

    fn chare_type(&self, _: u32) -> u32 {
        0
    }

    fn chare_name(&self, _: u32) -> String {
        "Element".into()
    }

    fn entry_name(&self, _: u32) -> String {
        "compute".into()
    }
}

fn number(bytes: &[u8]) -> Result<u64, String> {
    Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| "a sum has eight bytes")?))
}

fn balancer(name: &str) -> Option<Balancer> {
    let all = [
        ("none", Balancer::None),
        ("greedy", Balancer::Greedy),
        ("refine", Balancer::Refine),
        ("hierarchical", Balancer::Hierarchical),
    ];
    all.into_iter().find(|(known, _)| *known == name).map(|(_, balancer)| balancer)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let balancer = words.first().and_then(|name| balancer(name));
    let periods: Option<u32> = words.get(1).and_then(|word| word.parse().ok());
    let (Some(balancer), Some(periods)) = (balancer, periods) else {
        eprintln!(
            "usage: chare_balance none|greedy|refine|hierarchical PERIODS [write|restart DIRECTORY]"
        );
        std::process::exit(2);
    };
    let restarts = words.get(2).is_some_and(|word| word == "restart");
    let directory = words.get(3).cloned();
    let elements = Elements(Rc::new(RefCell::new(Rank {
        values: BTreeMap::new(),
        loads: BTreeMap::new(),
        made: 0,
        array: CollectionId::new(0, 1),
        iteration: 0,
        last: periods * PERIOD,
        directory: directory.clone(),
        begun: Instant::now(),
        periods: Vec::new(),
    })));
    let options = BalancerOptions { balancer, speed: NORMAL_SPEED };
    let runtime = towpath_actors_mpi::start(Box::new(elements.clone()));
    let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
    let runtime = runtime.with_balancer(options);
    match directory.filter(|_| restarts) {
        Some(directory) => {
            let restarted = runtime.restart(&directory);
            restarted.unwrap_or_else(|error| runtime.fail(error));
        }
        None if runtime.rank() == 0 => begin(&runtime, &elements),
        None => {}
    }
    let code = runtime.run().unwrap_or_else(|error| {
        eprintln!("rank {}: {error}", runtime.rank());
        1
    });
    println!("load {}", elements.0.borrow().loads.values().sum::<u64>());
    towpath_actors_mpi::stop(&runtime);
    std::process::exit(code);
}

fn begin(runtime: &Runtime, elements: &Elements) {
    let options = CollectionOptions {
        chare: 0,
        constructor: 0,
        map: HomeMap::Block(vec![ELEMENTS]),
        filled: true,
        parameters: Vec::new(),
    };
    let array = runtime.create_collection(options).expect("one dimension");
    let rank = &mut *elements.0.borrow_mut();
    rank.array = array;
    rank.go_on(runtime);
}
