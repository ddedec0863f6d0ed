//! Samples of all ranks for an observer at rank 0, on simulated ranks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use towpath_actors::runtime::{broadcast, invocation};
use towpath_actors::sample::{Observer, RankSample, SampleRequest};
use towpath_actors::{ActorError, ChareCallback, HomeMap, Runtime};

use crate::job::{Job, at, options};

/// What the observer has seen.
type Seen = Rc<RefCell<Vec<RankSample>>>;

struct Keeper(Seen);

impl Observer for Keeper {
    fn sampled(&mut self, sample: &RankSample, name: &dyn Fn(u32) -> String) {
        assert_eq!(name(3), "Chare3");
        self.0.borrow_mut().push(sample.clone());
    }
}

const ONCE: SampleRequest = SampleRequest { measures: true, until_end: false };
const TO_THE_END: SampleRequest = SampleRequest { measures: true, until_end: true };

fn observed(job: &Job) -> Seen {
    let seen = Seen::default();
    job.runtimes[0].observe(Box::new(Keeper(seen.clone())));
    seen
}

/// The samples by rank, which leaves none.
fn taken(seen: &Seen) -> Vec<RankSample> {
    let mut samples = seen.take();
    samples.sort_by_key(|sample| (sample.rank, sample.time));
    samples
}

/// A job whose methods take a thousand nanoseconds.
fn timed(ranks: u32) -> Job {
    timed_with(ranks, |_, time| time.set(time.get() + 1000))
}

/// A job whose methods are a function that gets the clock.
fn timed_with(ranks: u32, method: impl Fn(&Runtime, &Cell<u64>) + 'static) -> Job {
    let clock = Rc::new(RefCell::new(None::<Rc<Cell<u64>>>));
    let inner = clock.clone();
    let job = Job::new(ranks, move |runtime, _, _| {
        if let Some(time) = &*inner.borrow() {
            method(runtime, time);
        }
        Ok(())
    });
    *clock.borrow_mut() = Some(job.wires.borrow().time.clone());
    job
}

/// How long the methods of all ranks have run.
fn busy(job: &Job, seen: &Seen) -> u64 {
    seen.take();
    job.runtimes[0].ask_for_samples(ONCE);
    job.work();
    taken(seen).iter().map(|sample| sample.busy).sum()
}

#[test]
fn every_rank_answers_with_its_elements_messages_and_load() {
    let job = timed(5);
    let seen = observed(&job);
    let array = job.runtimes[2].create_collection(options(HomeMap::Block(vec![12]), true)).unwrap();
    job.work();
    assert!(seen.borrow().is_empty(), "nobody has asked");
    job.runtimes[0].ask_for_samples(ONCE);
    job.work();
    let first = taken(&seen);
    assert!(first.iter().map(|sample| sample.rank).eq(0..5));
    assert!(first.iter().all(|sample| sample.busy == 0 && !sample.is_last));
    job.runtimes[0].broadcast(broadcast(array, 1, &[]));
    job.work();
    job.runtimes[0].ask_for_samples(SampleRequest { measures: false, until_end: false });
    job.work();
    let second = taken(&seen);
    let sum = |of: &dyn Fn(&RankSample) -> u64| second.iter().map(of).sum::<u64>();
    assert_eq!(sum(&|sample| sample.busy), 12_000, "each of twelve methods was measured");
    assert_eq!(sum(&|sample| sample.queue + sample.waiting), 0);
    let elements = |sample: &RankSample| {
        let part = sample.collections.iter().find(|part| part.collection == array).unwrap();
        assert_eq!((part.chare, part.is_group, part.waiting), (3, false, 0));
        part.elements
    };
    assert_eq!(sum(&elements), 12);
    assert!(first.iter().zip(&second).all(|(one, two)| one.processed < two.processed));
    job.runtimes[0].broadcast(broadcast(array, 1, &[]));
    job.work();
    job.runtimes[0].ask_for_samples(ONCE);
    job.work();
    let busy: u64 = taken(&seen).iter().map(|sample| sample.busy).sum();
    assert_eq!(busy, 12_000, "nothing was measured after the second request");
}

#[test]
fn constructors_inside_a_method_count_once() {
    // Short ones, and long ones of which the first 400 us were an interruption.
    for (each, interruption) in [(1000, 0), (1_000_000, 400_000)] {
        let interrupted = Rc::new(RefCell::new(Rc::<Cell<u64>>::default()));
        let inner = interrupted.clone();
        let job = timed_with(1, move |runtime, time| {
            time.set(time.get() + each);
            inner.borrow().set(interruption);
            runtime.create_collection(options(HomeMap::FirstWord, true)).unwrap();
        });
        *interrupted.borrow_mut() = job.wires.borrow().interrupted.clone();
        let seen = observed(&job);
        let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![1]), true));
        assert_eq!(busy(&job, &seen), 0);
        job.construction.set(each);
        job.runtimes[0].broadcast(broadcast(array.unwrap(), 1, &[]));
        job.work();
        assert_eq!(busy(&job, &seen), 2 * each - interruption);
    }
}

#[test]
fn code_outside_of_methods_counts_once() {
    let job = timed(1);
    let seen = observed(&job);
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![2]), true)).unwrap();
    assert_eq!(busy(&job, &seen), 0);
    let (here, time) = (&job.runtimes[0], job.wires.borrow().time.clone());
    let pass = |nanoseconds| time.set(time.get() + nanoseconds);
    here.enter(at(array, 0)).unwrap();
    pass(1000);
    here.enter(at(array, 1)).unwrap();
    pass(300_000);
    here.leave(at(array, 1));
    pass(1);
    here.leave(at(array, 0));
    assert_eq!(busy(&job, &seen), 301_001);
}

#[test]
fn the_last_request_of_many_reaches_a_rank_that_did_not_answer() {
    let job = timed(3);
    let seen = observed(&job);
    let array = job.runtimes[2].create_collection(options(HomeMap::Block(vec![12]), true)).unwrap();
    job.work();
    let ended = SampleRequest { measures: false, until_end: false };
    // All others are in a method meanwhile.
    for request in [ONCE; 20].into_iter().chain([ended]) {
        job.runtimes[0].ask_for_samples(request);
        for _ in 0..9 {
            job.runtimes[0].step();
        }
    }
    assert_eq!(taken(&seen).len(), 21, "rank 0 has answered all of them");
    job.work();
    let answers = taken(&seen).iter().filter(|sample| sample.rank == 2).count();
    assert!((2..10).contains(&answers), "it is not asked as often: {answers}");
    job.runtimes[0].broadcast(broadcast(array, 1, &[]));
    job.work();
    assert_eq!(busy(&job, &seen), 0, "the last request has ended measuring");
}

#[test]
fn migrations_and_messages_that_wait_are_counted_where_they_are() {
    let job = Job::new(3, |runtime: &Runtime, id, _| {
        runtime.migrate(id, 2).map_err(|error| error.to_string())
    });
    let seen = observed(&job);
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![3]), true)).unwrap();
    job.runtimes[0].broadcast(broadcast(array, 1, &[]));
    let sparse = job.runtimes[0].create_collection(options(HomeMap::Hash, false)).unwrap();
    for _ in 0..4 {
        job.runtimes[0].invoke(invocation(at(sparse, 5), 1, &[])).unwrap();
    }
    job.work();
    job.runtimes[0].ask_for_samples(ONCE);
    job.work();
    let samples = taken(&seen);
    assert!(samples.iter().map(|sample| sample.migrations).eq([1, 1, 0]));
    assert_eq!(samples.iter().map(|sample| sample.waiting).sum::<u64>(), 4);
    let waiting = samples.iter().flat_map(|sample| &sample.collections);
    let waiting: Vec<u64> =
        waiting.filter(|part| part.collection == sparse).map(|part| part.waiting).collect();
    assert_eq!((waiting.iter().sum::<u64>(), waiting.iter().max()), (4, Some(&4)));
}

#[test]
fn quiescence_does_not_see_samples() {
    let job = Job::new(4, |_, _, _| Ok(()));
    let seen = observed(&job);
    let before: Vec<_> = job.runtimes.iter().map(Runtime::counts).collect();
    job.runtimes[0].ask_for_samples(ONCE);
    job.work();
    assert_eq!(taken(&seen).len(), 4);
    assert_eq!(job.runtimes.iter().map(Runtime::counts).collect::<Vec<_>>(), before);
    job.runtimes[3].start_quiescence(ChareCallback::Function { rank: 3, function: 4 });
    job.work();
    assert_eq!(*job.told.borrow(), ["3 4 []"]);
}

#[test]
fn ranks_that_have_not_begun_answer_too() {
    let job = Job::new(3, |_, _, _| Ok(()));
    let seen = observed(&job);
    job.runtimes[1..].iter().for_each(Runtime::hold);
    job.runtimes[0].ask_for_samples(ONCE);
    job.work();
    assert_eq!(taken(&seen).len(), 3);
}

#[test]
fn the_observer_gets_a_last_sample_of_every_rank() {
    for (request, last) in [(TO_THE_END, 6), (ONCE, 0)] {
        let job = Job::new(6, |_, _, _| Ok(()));
        let seen = observed(&job);
        job.runtimes[0].ask_for_samples(request);
        job.runtimes[4].exit(0);
        job.work();
        assert!(job.ends().into_iter().all(|end| end == Ok(Some(0))));
        // Rank 0 waits for the others.
        job.runtimes.iter().rev().for_each(Runtime::close);
        let samples = taken(&seen);
        assert_eq!(samples.iter().filter(|sample| sample.is_last).count(), last);
    }
}

#[test]
fn rank_0_does_not_wait_for_last_samples_for_ever() {
    let job = Job::new(2, |_, _, _| Ok(()));
    let seen = observed(&job);
    job.runtimes[0].ask_for_samples(TO_THE_END);
    job.runtimes[0].exit(0);
    job.work();
    taken(&seen);
    job.wires.borrow_mut().awaited = Some(75);
    job.runtimes[0].close();
    assert_eq!(job.wires.borrow().time.get(), 10_000_000_000, "ten seconds");
    assert!(taken(&seen).iter().all(|sample| sample.rank == 0));
}

#[test]
fn messages_for_an_array_that_is_not_filled_are_counted() {
    let job = Job::new(1, |_, _, _| Ok(()));
    let seen = observed(&job);
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![3]), true)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 2), 1, &[])).unwrap();
    job.runtimes[0].ask_for_samples(ONCE);
    let sample = &taken(&seen)[0];
    let part = sample.collections.iter().find(|part| part.collection == array).unwrap();
    assert_eq!((sample.waiting, part.waiting), (1, 1));
}

#[test]
fn a_job_that_is_observed_all_the_time_still_ends_when_nothing_is_left_to_do() {
    let job = Job::new(3, |_, _, _| Ok(()));
    let seen = observed(&job);
    let time = job.wires.borrow().time.clone();
    for _ in 0..400 {
        // Samples keep rank 0 from waiting for as long as it takes to see that.
        job.runtimes[0].ask_for_samples(TO_THE_END);
        time.set(time.get() + 10_000_000);
        for _ in 0..100 {
            for runtime in job.runtimes.iter().filter(|runtime| runtime.ended() == Ok(None)) {
                runtime.step();
            }
        }
        if job.ends()[0] == Err(ActorError::Stalled) {
            assert!(time.get() >= 1_000_000_000, "{time:?}");
            assert!(!seen.borrow().is_empty());
            return;
        }
    }
    panic!("the job does not end: {:?}", job.ends());
}
