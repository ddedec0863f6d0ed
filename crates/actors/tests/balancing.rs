//! Load balancing as programs see it, on simulated ranks whose clock the methods let run.

mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use support::{WireEnd, Wires};
use towpath_actors::balance::NORMAL_SPEED;
use towpath_actors::collection::ObjectId;
use towpath_actors::runtime::{broadcast, invocation};
use towpath_actors::{
    ActorHeader, ActorMessage, Balancer, BalancerOptions, ChareId, Chares, CollectionId,
    CollectionOptions, HomeMap, Index, MessageHandle, QueueOrder, Runtime,
};

/// Entry methods: work, work and get ready, get deleted.
const WORK: u32 = 1;
const SYNCHRONIZE: u32 = 2;
const DELETE: u32 = 3;

/// Elements that work as long as the program says.
#[derive(Clone)]
struct Workers {
    time: Rc<Cell<u64>>,
    /// How long an element with this index works.
    work: Rc<dyn Fn(i32) -> u64>,
    /// The bytes of an element.
    bytes: u64,
    /// Elements that have gone on, in this order.
    resumed: Rc<RefCell<Vec<(CollectionId, i32)>>>,
    arrivals: Rc<Cell<u32>>,
}

impl Chares for Workers {
    fn construct(&self, _: &Runtime, _: ChareId, _: &ActorMessage) -> Result<ObjectId, String> {
        Ok(0)
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        _: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        self.time.set(self.time.get() + (self.work)(id.index.words()[0]));
        match message.header().entry {
            SYNCHRONIZE => runtime.at_sync(id).map(|_| ()),
            DELETE => runtime.delete(id),
            _ => Ok(()),
        }
        .map_err(|error| error.to_string())
    }

    fn resume_from_sync(&self, _: &Runtime, id: ChareId, _: ObjectId) -> Result<(), String> {
        self.resumed.borrow_mut().push((id.collection, id.index.words()[0]));
        Ok(())
    }

    fn packed_bytes(&self, _: &Runtime, _: u32, _: ObjectId) -> Result<u64, String> {
        Ok(self.bytes)
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
        self.arrivals.set(self.arrivals.get() + 1);
        Ok(0)
    }

    fn destroy(&self, _: &Runtime, _: u32, _: ObjectId) -> Result<(), String> {
        Ok(())
    }

    fn chare_type(&self, _: u32) -> u32 {
        0
    }

    fn chare_name(&self, _: u32) -> String {
        "Worker".into()
    }

    fn entry_name(&self, entry: u32) -> String {
        format!("method{entry}")
    }
}

struct Job {
    runtimes: Vec<Runtime>,
    workers: Workers,
    wires: Rc<RefCell<Wires>>,
}

impl Job {
    fn new(ranks: u32, balancer: Balancer, work: impl Fn(i32) -> u64 + 'static) -> Job {
        Job::with(ranks, balancer, 0, |_| NORMAL_SPEED, work)
    }

    fn with(
        ranks: u32,
        balancer: Balancer,
        bytes: u64,
        speed: impl Fn(u32) -> u32,
        work: impl Fn(i32) -> u64 + 'static,
    ) -> Job {
        let wires = Wires::new(ranks, 5);
        let time = wires.borrow().time.clone();
        let (resumed, arrivals) = (Rc::default(), Rc::default());
        let workers = Workers { time, work: Rc::new(work), bytes, resumed, arrivals };
        let runtime = |rank| {
            let layer = WireEnd { wires: wires.clone(), rank };
            let options = BalancerOptions { balancer, speed: speed(rank) };
            let chares = Box::new(workers.clone());
            Runtime::new(Box::new(layer), chares, QueueOrder::Fifo).with_balancer(options)
        };
        let runtimes = (0..ranks).map(runtime).collect();
        Job { runtimes, workers, wires }
    }

    fn work(&self) {
        for _ in 0..3000 {
            for runtime in &self.runtimes {
                runtime.step();
                assert_eq!(runtime.ended(), Ok(None));
            }
        }
        assert!(self.wires.borrow().are_empty(), "messages are under way");
    }

    fn array(&self, elements: u32) -> CollectionId {
        let map = HomeMap::Block(vec![elements]);
        let parameters = Vec::new();
        let options = CollectionOptions { chare: 0, constructor: 0, map, filled: true, parameters };
        let array = self.runtimes[0].create_collection(options).unwrap();
        self.work();
        array
    }

    /// Lets all elements of an array work and get ready.
    fn synchronize(&self, array: CollectionId) {
        self.runtimes[0].broadcast(broadcast(array, SYNCHRONIZE, &[]));
        self.work();
    }

    fn elements(&self, array: CollectionId) -> Vec<usize> {
        self.runtimes.iter().map(|runtime| runtime.indexes(array).len()).collect()
    }

    /// How long every rank works.
    fn loads(&self, array: CollectionId) -> Vec<u64> {
        let of = |runtime: &Runtime| {
            let indexes = runtime.indexes(array);
            indexes.iter().map(|index| (self.workers.work)(index.words()[0])).sum()
        };
        self.runtimes.iter().map(of).collect()
    }

    /// How many elements have gone on since this was asked last.
    fn resumed(&self) -> usize {
        self.workers.resumed.take().len()
    }
}

fn at(collection: CollectionId, index: i32) -> ChareId {
    ChareId { collection, index: Index::one(index) }
}

#[test]
fn an_array_whose_first_half_has_three_times_the_load_is_balanced() {
    for balancer in [Balancer::Greedy, Balancer::Refine, Balancer::Hierarchical] {
        let job = Job::new(2, balancer, |index| if index < 16 { 3_000_000 } else { 1_000_000 });
        let array = job.array(32);
        assert_eq!(job.loads(array), [48_000_000, 16_000_000]);
        job.synchronize(array);
        let longest = *job.loads(array).iter().max().unwrap();
        assert!(longest <= 33_600_000, "{balancer:?}: {:?}", job.loads(array));
        assert_eq!(job.resumed(), 32);
        let moved = job.workers.arrivals.get();
        job.synchronize(array);
        assert_eq!(job.resumed(), 32);
        assert_eq!(job.workers.arrivals.get(), moved, "{balancer:?}: it is balanced now");
    }
}

#[test]
fn nothing_moves_in_a_balanced_array() {
    for balancer in [Balancer::Greedy, Balancer::Refine, Balancer::Hierarchical] {
        let job = Job::new(5, balancer, |index| 1_000_000 + 10_000 * u64::from(index % 2 == 0));
        let array = job.array(40);
        for _ in 0..3 {
            job.synchronize(array);
            assert_eq!(job.resumed(), 40);
        }
        assert_eq!(job.workers.arrivals.get(), 0, "{balancer:?}");
    }
}

#[test]
fn groups_of_ranks_share_the_load_of_one_rank() {
    let job = Job::new(10, Balancer::Hierarchical, |index| 1_000_000 * u64::from(index < 16));
    let array = job.array(160);
    job.synchronize(array);
    let loads = job.loads(array);
    assert_eq!(loads.iter().sum::<u64>(), 16_000_000);
    assert!(loads.iter().all(|load| *load <= 2_000_000), "{loads:?}");
    assert_eq!(job.resumed(), 160);
}

#[test]
fn elements_with_suspended_methods_stay_and_count_for_their_rank() {
    for balancer in [Balancer::Greedy, Balancer::Refine, Balancer::Rotate] {
        let job = Job::new(2, balancer, |_| 1_000_000);
        let array = job.array(16);
        let first = &job.runtimes[0];
        for index in 0..6 {
            first.pin(at(array, index)).unwrap();
        }
        // Two more messages for each of the pinned ones: 18 + 2 against 8.
        for index in 0..6 {
            for _ in 0..2 {
                first.invoke(invocation(at(array, index), WORK, &[])).unwrap();
            }
        }
        job.synchronize(array);
        let here = first.indexes(array);
        assert!((0..6).all(|index| here.contains(&Index::one(index))), "{balancer:?} {here:?}");
        assert!(!here.contains(&Index::one(6)) && !here.contains(&Index::one(7)));
        assert_eq!(job.resumed(), 16);
    }
}

#[test]
fn an_element_that_is_so_long_that_its_migration_does_not_pay_stays() {
    let work = |index: i32| if index < 4 { 3_000_000 } else { 1_000_000 };
    for (bytes, moves) in [(1_000, true), (100_000_000, false)] {
        let job = Job::with(2, Balancer::Refine, bytes, |_| NORMAL_SPEED, work);
        let array = job.array(8);
        job.synchronize(array);
        assert_eq!(job.workers.arrivals.get() > 0, moves);
        assert_eq!(job.resumed(), 8);
    }
}

#[test]
fn a_rank_that_is_twice_as_fast_gets_twice_as_many_elements() {
    // All elements have the same work, so they run half as long on the fast rank, where the second
    // half of them begins.
    let work = |index: i32| if index < 15 { 2_000_000 } else { 1_000_000 };
    let job = Job::with(2, Balancer::Greedy, 0, |rank| NORMAL_SPEED * (rank + 1), work);
    let array = job.array(30);
    job.synchronize(array);
    assert_eq!(job.elements(array), [10, 20]);
}

#[test]
fn all_arrays_that_balance_wait_for_each_other_but_not_for_one_without_elements() {
    let job = Job::new(3, Balancer::Rotate, |_| 1_000_000);
    let (first, second) = (job.array(6), job.array(9));
    job.synchronize(first);
    assert_eq!(job.resumed(), 6, "the second has not balanced yet");
    job.synchronize(second);
    assert_eq!(job.resumed(), 0, "the first has balanced, and is not ready");
    job.synchronize(first);
    assert_eq!(job.resumed(), 15);
    job.runtimes[1].broadcast(broadcast(second, DELETE, &[]));
    job.work();
    job.synchronize(first);
    assert_eq!(job.resumed(), 6, "the second has no elements");
    job.runtimes[2].insert(at(second, 4), 0, None, &[]).unwrap();
    job.work();
    job.runtimes[2].invoke(invocation(at(second, 4), SYNCHRONIZE, &[])).unwrap();
    job.work();
    job.synchronize(first);
    assert_eq!(job.resumed(), 7);
}

#[test]
fn an_array_that_has_joined_is_waited_for_from_the_beginning() {
    let job = Job::new(3, Balancer::Rotate, |_| 1_000_000);
    let (first, second) = (job.array(6), job.array(9));
    job.runtimes[2].join_balancing(second);
    job.work();
    job.synchronize(first);
    assert_eq!(job.resumed(), 0, "the second is not ready");
    job.synchronize(second);
    assert_eq!(job.resumed(), 15);
    // Single chares do not take part.
    job.runtimes[1].join_balancing(CollectionId::SINGLE_CHARES);
    job.work();
    job.synchronize(first);
    job.synchronize(second);
    assert_eq!(job.resumed(), 15);
}

#[test]
fn without_a_balancer_elements_go_on_at_once() {
    let job = Job::new(2, Balancer::None, |_| 1_000_000);
    let array = job.array(4);
    job.runtimes[0].invoke(invocation(at(array, 3), SYNCHRONIZE, &[])).unwrap();
    job.work();
    assert_eq!(*job.workers.resumed.borrow(), [(array, 3)]);
    assert_eq!(job.workers.arrivals.get(), 0);
}

#[test]
fn elements_that_are_ready_twice_and_chares_outside_of_arrays_are_refused() {
    let job = Job::new(2, Balancer::Greedy, |_| 1_000_000);
    let array = job.array(4);
    job.runtimes[0].at_sync(at(array, 0)).unwrap();
    let twice = job.runtimes[0].at_sync(at(array, 0)).unwrap_err().to_string();
    assert!(twice.starts_with("at_sync was called for Worker[0], which waits"), "{twice}");
    assert!(job.runtimes[0].at_sync(at(array, 3)).is_err(), "it is on the other rank");
    let single = job.runtimes[0].create_chare(0, None, &[]).unwrap();
    job.work();
    let refused = job.runtimes[0].at_sync(single).unwrap_err().to_string();
    assert!(refused.ends_with("which is no element of an array"), "{refused}");
}

#[test]
fn code_outside_of_methods_is_measured() {
    let job = Job::new(2, Balancer::Greedy, |_| 1_000_000);
    let array = job.array(4);
    job.synchronize(array);
    assert_eq!(job.workers.arrivals.get(), 0, "all elements work alike");
    for index in [0, 1] {
        job.runtimes[0].enter(at(array, index)).unwrap();
        job.workers.time.set(job.workers.time.get() + 20_000_000);
        job.runtimes[0].leave(at(array, index));
    }
    job.synchronize(array);
    assert!(job.workers.arrivals.get() > 0, "the first elements work twenty times as much");
}

#[test]
fn multicasts_are_measured() {
    let job = Job::new(2, Balancer::Greedy, |_| 1_000_000);
    let array = job.array(4);
    job.synchronize(array);
    assert_eq!(job.workers.arrivals.get(), 0, "all elements work alike");
    let first: Vec<Index> = [0, 1].map(Index::one).to_vec();
    let section = job.runtimes[0].create_section(array, &first).unwrap();
    for _ in 0..20 {
        job.runtimes[0].multicast(section, broadcast(array, WORK, &[])).unwrap();
        job.work();
    }
    job.synchronize(array);
    assert!(job.workers.arrivals.get() > 0, "the first elements work twenty times as much");
}
