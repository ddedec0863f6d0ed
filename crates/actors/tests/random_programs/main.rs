//! Random programs of chares on simulated ranks, with random delays, orders and migrations, against
//! a model that allows every order of delivery: messages, broadcasts, reductions, sections,
//! insertions, deletions, load balancing and quiescence. A seed gives the same run again.

mod model;
#[path = "../support/mod.rs"]
mod support;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use towpath_actors::balance::NORMAL_SPEED;
use towpath_actors::collection::ObjectId;
use towpath_actors::queue::QueueOrder;
use towpath_actors::quiescence::MessageCounts;
use towpath_actors::reducers::PROGRAM_REDUCERS;
use towpath_actors::runtime::{broadcast, invocation};
use towpath_actors::{
    ActorError, ActorHeader, ActorMessage, Balancer, BalancerOptions, ChareCallback, ChareId,
    Chares, CollectionOptions, Contribution, HomeMap, Index, MessageHandle, Runtime, SectionId,
};

use model::{Model, Seen};
use support::{WireEnd, Wires};

/// The only type, entry method, reducer and functions of the programs. Functions from `SECTION` on
/// are told of reductions over sections.
const WORKER: u32 = 0;
const WORK: u32 = 1;
const SUM: u32 = PROGRAM_REDUCERS;
const REDUCED: u64 = 1;
const QUIESCENT: u64 = 2;
const SECTION: u64 = 1000;
/// Elements from this index on are deleted by the only message that they get.
const MORTAL: i32 = 1000;
/// No program takes so many steps.
const STEPS: u32 = 3_000_000;

/// What an element does when it is invoked.
#[derive(Debug, Serialize, Deserialize)]
struct Work {
    /// The model's number of this message.
    number: u64,
    seed: u64,
    /// Messages that may follow from this one.
    budget: u32,
    /// The element gets ready for load balancing, and does nothing else.
    synchronize: bool,
    /// A mortal element ends with this message: broadcasts may come before it.
    is_last: bool,
    /// Makes some messages long.
    padding: Vec<u8>,
}

/// What the ranks of a job share.
struct Job {
    model: RefCell<Model>,
    elements: u32,
    /// Whether elements are inserted and deleted while the program runs.
    mortals: bool,
    /// How long methods run.
    time: Rc<Cell<u64>>,
    /// Mortal elements that somebody has inserted and that are not deleted.
    reserved: RefCell<BTreeSet<Index>>,
    sections: RefCell<Vec<SectionId>>,
}

/// The objects of one rank: how often each was invoked.
#[derive(Clone)]
struct Workers {
    job: Rc<Job>,
    objects: Rc<RefCell<BTreeMap<ObjectId, (Index, u64)>>>,
    made: Rc<RefCell<ObjectId>>,
}

impl Workers {
    fn add(&self, index: Index, invoked: u64) -> ObjectId {
        *self.made.borrow_mut() += 1;
        let object = *self.made.borrow();
        self.objects.borrow_mut().insert(object, (index, invoked));
        object
    }

    fn work(&self, runtime: &Runtime, id: ChareId, work: &Work) -> Result<(), String> {
        let mut random = Rng::with_seed(work.seed);
        let mut budget = work.budget;
        self.job.time.set(self.job.time.get() + random.u64(..1_000_000));
        if work.synchronize && self.job.model.borrow_mut().asked(id.index) {
            return self.get_ready(runtime, id);
        }
        while budget > 0 {
            let share = random.u32(1..=budget);
            budget -= share;
            self.act(runtime, id, &mut random, share - 1)?;
        }
        if work.is_last {
            runtime.delete(id).map_err(|error| error.to_string())?;
        } else if random.u8(..3) == 0 {
            let to = random.u32(..runtime.ranks());
            runtime.migrate(id, to).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn get_ready(&self, runtime: &Runtime, id: ChareId) -> Result<(), String> {
        self.job.model.borrow_mut().gets_ready(id.index);
        let round = runtime.at_sync(id).map_err(|error| error.to_string())?;
        self.job.model.borrow_mut().ready(id.index, round);
        Ok(())
    }

    /// One thing of many.
    fn act(
        &self,
        runtime: &Runtime,
        id: ChareId,
        random: &mut Rng,
        budget: u32,
    ) -> Result<(), String> {
        let said = |error: ActorError| error.to_string();
        match random.u8(..18) {
            0..4 => {
                let index = Index::one(random.i32(0..self.job.elements as i32));
                self.send(runtime, ChareId { index, ..id }, random, budget).map_err(said)?;
            }
            4 => {
                let number = self.job.model.borrow_mut().broadcast();
                let work = self.work_of(random, number, budget / self.job.elements);
                runtime.broadcast(broadcast(id.collection, WORK, &encoded(&work)));
            }
            5 => {
                let number = self.job.model.borrow_mut().broadcast();
                let synchronize = true;
                let work = Work { synchronize, ..self.work_of(random, number, 0) };
                runtime.broadcast(broadcast(id.collection, WORK, &encoded(&work)));
            }
            6..9 => {
                let value = random.u64(..);
                // What completes the reduction is a message, so the model hears of this first.
                let number = runtime.contribute(id, contribution(REDUCED, value)).map_err(said)?;
                self.job.model.borrow_mut().contributed(None, id.index, number, value);
            }
            9 => {
                let index = Index::one(MORTAL + random.i32(0..3));
                if self.job.mortals && self.job.reserved.borrow_mut().insert(index) {
                    let id = ChareId { index, ..id };
                    let on = random.bool().then(|| random.u32(..runtime.ranks()));
                    runtime.insert(id, 0, on, &[]).map_err(said)?;
                    self.send(runtime, id, random, budget).map_err(said)?;
                }
            }
            10 => {
                let callback = ChareCallback::Function { rank: 0, function: QUIESCENT };
                runtime.start_quiescence(callback);
            }
            11 => self.make_section(runtime, id, random).map_err(said)?,
            12..15 => self.multicast(runtime, random, budget).map_err(said)?,
            _ => {
                let section = random.choice(runtime.sections(id));
                self.contribute_to_section(runtime, id, section, random).map_err(said)?;
            }
        }
        Ok(())
    }

    fn make_section(
        &self,
        runtime: &Runtime,
        id: ChareId,
        random: &mut Rng,
    ) -> Result<(), ActorError> {
        let immortal = (0..self.job.elements as i32).map(Index::one);
        let mortal = self.job.reserved.borrow();
        let all = immortal.chain(mortal.iter().copied());
        let members: BTreeSet<Index> = all.filter(|_| random.bool()).collect();
        let list: Vec<Index> = members.iter().copied().collect();
        let mut sections = self.job.sections.borrow_mut();
        sections.push(runtime.create_section(id.collection, &list)?);
        assert_eq!(self.job.model.borrow_mut().section(members), sections.len() - 1);
        Ok(())
    }

    fn multicast(
        &self,
        runtime: &Runtime,
        random: &mut Rng,
        budget: u32,
    ) -> Result<(), ActorError> {
        let sections = self.job.sections.borrow();
        let Some(at) = random.choice(0..sections.len()) else { return Ok(()) };
        let number = self.job.model.borrow_mut().multicast(at);
        let work = self.work_of(random, number, budget / self.job.elements);
        let collection = sections[at].collection;
        runtime.multicast(sections[at], broadcast(collection, WORK, &encoded(&work)))
    }

    fn contribute_to_section(
        &self,
        runtime: &Runtime,
        id: ChareId,
        section: Option<SectionId>,
        random: &mut Rng,
    ) -> Result<(), ActorError> {
        let Some(section) = section else { return Ok(()) };
        let sections = self.job.sections.borrow();
        let at = sections.iter().position(|made| *made == section).expect("it was made");
        let value = random.u64(..);
        let contribution = contribution(SECTION + at as u64, value);
        let number = runtime.contribute_to_section(id, section, contribution)?;
        self.job.model.borrow_mut().contributed(Some(at), id.index, number, value);
        Ok(())
    }

    fn send(
        &self,
        runtime: &Runtime,
        to: ChareId,
        random: &mut Rng,
        budget: u32,
    ) -> Result<(), ActorError> {
        let number = self.job.model.borrow_mut().sent(to.index);
        let mut work = self.work_of(random, number, budget);
        work.is_last = to.index.words()[0] >= MORTAL;
        runtime.invoke(invocation(to, WORK, &encoded(&work)))
    }

    fn work_of(&self, random: &mut Rng, number: u64, budget: u32) -> Work {
        let padding = vec![0; if random.u8(..4) == 0 { 100 } else { 0 }];
        Work { number, seed: random.u64(..), budget, synchronize: false, is_last: false, padding }
    }
}

fn contribution(function: u64, value: u64) -> Contribution {
    Contribution {
        reducer: SUM,
        elements: 1,
        callback: Some(ChareCallback::Function { rank: 0, function }),
        value: value.to_ne_bytes().to_vec(),
    }
}

fn encoded(work: &Work) -> Vec<u8> {
    postcard::to_allocvec(work).unwrap()
}

impl Chares for Workers {
    fn construct(&self, _: &Runtime, id: ChareId, _: &ActorMessage) -> Result<ObjectId, String> {
        self.job.model.borrow_mut().born(id.index);
        Ok(self.add(id.index, 0))
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        let work: Work = postcard::from_bytes(message.payload()).map_err(|e| e.to_string())?;
        self.objects.borrow_mut().get_mut(&object).expect("the object is here").1 += 1;
        self.job.model.borrow_mut().delivered(id.index, work.number);
        // Members answer most multicasts, so reductions complete.
        let section = SectionId::of(message.header());
        assert!(section.is_none_or(|section| runtime.sections(id).contains(&section)), "{id:?}");
        let section = section.filter(|_| !work.number.is_multiple_of(4));
        let mut random = Rng::with_seed(work.seed ^ u64::from(id.index.words()[0] as u32));
        let contributed = self.contribute_to_section(runtime, id, section, &mut random);
        contributed.map_err(|error| error.to_string())?;
        self.work(runtime, id, &work)
    }

    fn resume_from_sync(&self, runtime: &Runtime, id: ChareId, _: ObjectId) -> Result<(), String> {
        if self.job.model.borrow_mut().goes_on(id.index) {
            return self.get_ready(runtime, id);
        }
        Ok(())
    }

    fn pack(
        &self,
        _: &Runtime,
        _: u32,
        object: ObjectId,
        header: ActorHeader,
    ) -> Result<ActorMessage, String> {
        let (_, invoked) = self.objects.borrow_mut().remove(&object).expect("the object is here");
        // Some elements are long messages.
        let mut packed = invoked.to_ne_bytes().to_vec();
        packed.resize(if invoked.is_multiple_of(2) { 8 } else { 200 }, 0);
        if invoked.is_multiple_of(3) {
            return Ok(ActorMessage::new(header, 0).with_arrays(vec![Rc::new(packed)]));
        }
        Ok(ActorMessage::of(header, &packed))
    }

    fn unpack(&self, _: &Runtime, _: u32, id: ChareId, packed: &[u8]) -> Result<ObjectId, String> {
        let invoked = packed[..8].try_into().map_err(|_| "short")?;
        Ok(self.add(id.index, u64::from_ne_bytes(invoked)))
    }

    fn destroy(&self, _: &Runtime, _: u32, object: ObjectId) -> Result<(), String> {
        // What has been packed has not died.
        let removed = self.objects.borrow_mut().remove(&object);
        let Some((index, invoked)) = removed else { return Ok(()) };
        self.job.model.borrow_mut().died(index, invoked);
        self.job.reserved.borrow_mut().remove(&index);
        Ok(())
    }

    fn combine(&self, _: u32, into: &mut Vec<u8>, value: &[u8]) -> Result<(), String> {
        let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
        *into = number(into).wrapping_add(number(value)).to_ne_bytes().to_vec();
        Ok(())
    }

    fn call_back(&self, _: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        let mut model = self.job.model.borrow_mut();
        let sum = || u64::from_ne_bytes(value.try_into().unwrap());
        match function {
            REDUCED => model.reduced(None, sum()),
            SECTION.. => model.reduced(Some((function - SECTION) as usize), sum()),
            _ => model.quiescent(),
        }
        Ok(())
    }

    fn chare_type(&self, _: u32) -> u32 {
        0
    }

    fn chare_name(&self, _: u32) -> String {
        "Worker".into()
    }

    fn entry_name(&self, _: u32) -> String {
        "work".into()
    }
}

/// Rotation and random places most often: they move most.
fn balancer(random: &mut Rng) -> Balancer {
    match random.u8(..8) {
        0 => Balancer::None,
        1 => Balancer::Greedy,
        2 => Balancer::Refine,
        3 => Balancer::Hierarchical,
        4 | 5 => Balancer::Rotate,
        _ => Balancer::Random(random.u64(..)),
    }
}

/// Runs the program of a seed to its end.
fn run(seed: u64) -> Seen {
    // Shown where the program fails.
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let ranks = random.u32(1..=8);
    let (elements, mortals) = (random.u32(1..=12), random.bool());
    let (balancer, reserved) = (balancer(&mut random), RefCell::default());
    let model = Model::new(balancer != Balancer::None);
    let wires = Wires::new(ranks, random.u64(..));
    let (model, time) = (RefCell::new(model), wires.borrow().time.clone());
    let sections = RefCell::default();
    let job = Rc::new(Job { model, elements, mortals, time, reserved, sections });
    let workers: Vec<Workers> = (0..ranks)
        .map(|_| Workers { job: job.clone(), objects: Rc::default(), made: Rc::default() })
        .collect();
    let runtimes: Vec<Runtime> = (0..ranks)
        .zip(&workers)
        .map(|(rank, workers)| {
            let order = QueueOrder::Random(Rng::with_seed(random.u64(..)));
            let layer = WireEnd { wires: wires.clone(), rank };
            let options = BalancerOptions { balancer, speed: NORMAL_SPEED };
            Runtime::new(Box::new(layer), Box::new(workers.clone()), order).with_balancer(options)
        })
        .collect();
    start(&runtimes[0], &workers[0], &mut random);
    // No program ends itself: the runtime sees that nothing is left to do.
    let mut steps = 0;
    while runtimes[0].ended() != Err(ActorError::Stalled) {
        steps += 1;
        assert!(steps < STEPS, "the program does not end: {:?}", counts(&runtimes));
        let runtime = &runtimes[random.usize(..runtimes.len())];
        if !runtime.step() && random.u8(..8) == 0 {
            runtime.wait();
        }
        let ended = runtime.ended();
        assert!(matches!(ended, Ok(_) | Err(ActorError::Stalled)), "{ended:?}");
    }
    while !wires.borrow().are_empty() {
        for runtime in &runtimes[1..] {
            runtime.step();
        }
    }
    assert!(runtimes[1..].iter().all(|runtime| runtime.ended() == Ok(Some(1))));
    let all = workers.iter().flat_map(|workers| workers.objects.borrow().clone());
    let here = all.map(|(_, element)| element).collect();
    let model = job.model.borrow();
    model.check_end(&here);
    model.seen
}

/// What the ranks have counted.
fn counts(runtimes: &[Runtime]) -> Vec<MessageCounts> {
    runtimes.iter().map(Runtime::counts).collect()
}

/// Makes an array, filled or element by element, and sends the first messages.
fn start(runtime: &Runtime, workers: &Workers, random: &mut Rng) {
    let elements = workers.job.elements;
    let filled = !workers.job.mortals && random.bool();
    let map = match random.bool() {
        _ if !filled => HomeMap::Hash,
        true => HomeMap::Block(vec![elements]),
        false => HomeMap::RoundRobin(vec![elements]),
    };
    let (chare, constructor, parameters) = (WORKER, 0, Vec::new());
    let options = CollectionOptions { chare, constructor, map, filled, parameters };
    let collection = runtime.create_collection(options).unwrap();
    let at = |index| ChareId { collection, index: Index::one(index) };
    if !filled {
        for index in 0..elements as i32 {
            let on = random.bool().then(|| random.u32(..runtime.ranks()));
            runtime.insert(at(index), 0, on, &[]).unwrap();
        }
        runtime.done_inserting(collection);
    }
    for _ in 0..random.u32(1..4) {
        let index = random.i32(0..elements as i32);
        let budget = random.u32(1..100);
        workers.send(runtime, at(index), random, budget).unwrap();
    }
}

#[test]
fn random_programs_do_what_the_model_allows() {
    let mut all = Seen::default();
    for seen in (0..10_000).map(run) {
        all.quiescences += seen.quiescences;
        all.multicasts += seen.multicasts;
        all.section_reductions += seen.section_reductions;
        all.resumed += seen.resumed;
    }
    println!("{all:?}");
    assert!(all.resumed > 10_000, "elements have gone on only {} times", all.resumed);
    assert!(all.quiescences > 100 && all.multicasts > 10_000 && all.section_reductions > 1000);
}

#[test]
#[ignore = "long: `make stress` runs it"]
fn many_random_programs_do_what_the_model_allows() {
    for seed in 10_000..1_000_000 {
        run(seed);
    }
}
