//! What programs of chares see, on simulated ranks: groups, single chares, callbacks, the end of a
//! job, and sentences for wrong calls.

#[path = "semantics/ending.rs"]
mod ending;
#[path = "semantics/job.rs"]
mod job;
#[path = "semantics/observing.rs"]
mod observing;
#[path = "semantics/sections.rs"]
mod sections;
mod support;

use std::cell::RefCell;
use std::rc::Rc;

use job::{FINGERPRINT, Job, at, options};
use towpath_actors::reducers::PROGRAM_REDUCERS;
use towpath_actors::runtime::{broadcast, invocation};
use towpath_actors::{ChareCallback, ChareId, Contribution, HomeMap, Index, Runtime};

/// Every chare contributes its index to one reduction of the method's collection.
fn contribute(runtime: &Runtime, id: ChareId, bytes: usize) -> Result<(), String> {
    let callback = Some(ChareCallback::Function { rank: 1, function: 5 });
    let value = vec![id.index.words()[0] as u8; bytes];
    let contribution = Contribution { reducer: PROGRAM_REDUCERS, elements: 1, callback, value };
    runtime.contribute(id, contribution).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn a_group_has_a_branch_on_every_rank_whoever_makes_it() {
    let job = Job::new(6, |runtime, id, _| {
        assert_eq!(id.index, Index::one(runtime.rank() as i32));
        contribute(runtime, id, 1)
    });
    let group = job.runtimes[4].create_collection(options(HomeMap::FirstWord, true)).unwrap();
    assert_eq!(job.runtimes[4].indexes(group), [Index::one(4)], "its own branch is there at once");
    job.runtimes[4].broadcast(broadcast(group, 1, &[]));
    job.work();
    assert_eq!(*job.told.borrow(), ["1 5 [15]"]);
}

#[test]
fn single_chares_are_made_where_the_program_says_and_can_be_deleted() {
    let job = Job::new(3, |runtime, id, message| {
        assert_eq!((runtime.rank(), message.payload()), (2, &[9][..]));
        runtime.delete(id).map_err(|error| error.to_string())
    });
    let made = job.runtimes[1].create_chare(0, Some(2), &[]).unwrap();
    job.runtimes[1].invoke(invocation(made, 1, &[9])).unwrap();
    job.work();
    assert!(job.runtimes[2].indexes(made.collection).is_empty());
    assert!(job.runtimes[1].create_chare(0, Some(3), &[]).is_err(), "there is no rank 3");
}

#[test]
fn reductions_of_elements_that_are_inserted_begin_when_all_are_there() {
    let job = Job::new(4, |runtime, id, _| contribute(runtime, id, 2));
    let array = job.runtimes[0].create_collection(options(HomeMap::Hash, false)).unwrap();
    for index in 0..10 {
        job.runtimes[0].insert(at(array, index), 0, Some(index as u32 % 4), &[]).unwrap();
        job.runtimes[0].invoke(invocation(at(array, index), 1, &[])).unwrap();
        job.work();
    }
    assert!(job.told.borrow().is_empty());
    job.runtimes[0].done_inserting(array);
    job.work();
    assert_eq!(*job.told.borrow(), ["1 5 [45, 45]"]);
}

#[test]
fn elements_that_a_rank_has_inserted_get_its_next_broadcast_and_take_part_in_the_first_reduction() {
    for seed in 0..100 {
        let job = Job::seeded(seed, 5, |runtime, id, _| contribute(runtime, id, 2));
        let made_by = seed as usize % 5;
        let maker = &job.runtimes[made_by];
        let array = maker.create_collection(options(HomeMap::Hash, false)).unwrap();
        for index in 0..10 {
            let parameters = vec![0; if index % 3 == 0 { 100 } else { 0 }];
            maker.insert(at(array, index), 0, Some(index as u32 % 2), &parameters).unwrap();
        }
        maker.broadcast(broadcast(array, 1, &[]));
        for index in 10..12 {
            maker.insert(at(array, index), 0, Some(index as u32 % 2), &[]).unwrap();
        }
        maker.done_inserting(array);
        maker.broadcast(broadcast(array, 1, &[]));
        job.work();
        // The last two may have had the first broadcast too.
        let told = job.told.borrow();
        let all = !told.is_empty() && told.iter().all(|result| result == "1 5 [66, 66]");
        assert!(all, "seed {seed}: {told:?}");
    }
}

#[test]
fn a_rank_that_does_not_have_a_collection_yet_may_insert_and_broadcast() {
    let job = Job::new(6, |runtime, id, _| contribute(runtime, id, 1));
    let array = job.runtimes[0].create_collection(options(HomeMap::Hash, false)).unwrap();
    let early = &job.runtimes[5];
    assert!(early.indexes(array).is_empty());
    early.insert(at(array, 3), 0, None, &[]).unwrap();
    early.insert(at(array, 4), 0, Some(2), &[]).unwrap();
    early.done_inserting(array);
    early.broadcast(broadcast(array, 1, &[]));
    job.work();
    assert_eq!(*job.told.borrow(), ["1 5 [7]"]);
}

#[test]
fn arrays_with_too_many_dimensions_or_elements_are_refused() {
    let job = Job::new(1, |_, _, _| Ok(()));
    for extents in [vec![1; 7], vec![1 << 31]] {
        let refused = job.runtimes[0].create_collection(options(HomeMap::Block(extents), false));
        assert!(refused.unwrap_err().to_string().contains("six dimensions"));
    }
    let large = options(HomeMap::Block(vec![1 << 30; 6]), false);
    let array = job.runtimes[0].create_collection(large).unwrap();
    let corner = Index::new(&[(1 << 30) - 1; 6]).unwrap();
    let id = ChareId { collection: array, index: corner };
    job.runtimes[0].insert(id, 0, None, &[]).unwrap();
    job.work();
    assert_eq!(job.runtimes[0].indexes(array), [corner]);
    let callback = ChareCallback::Function { rank: 1, function: 0 };
    job.runtimes[0].start_quiescence(callback);
    assert!(job.sentence().contains("rank 1 was named, but the job has 1 ranks"));
}

#[test]
fn an_exit_from_any_chare_ends_all_ranks_with_its_code() {
    let job = Job::new(5, |runtime, _, _| {
        runtime.exit(42);
        Ok(())
    });
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![5]), true)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 3), 1, &[])).unwrap();
    job.work();
    assert!(job.ends().into_iter().all(|end| end == Ok(Some(42))));
}

#[test]
fn quiescence_comes_after_the_last_message() {
    let job = Job::new(3, |runtime, id, message| {
        let [left] = message.payload() else { return Err("a number is missing".into()) };
        if *left > 0 {
            let next = at(id.collection, (id.index.words()[0] + 1) % 7);
            runtime.invoke(invocation(next, 1, &[left - 1])).map_err(|error| error.to_string())?;
        } else {
            runtime.start_quiescence(ChareCallback::Function { rank: 2, function: 8 });
        }
        Ok(())
    });
    let array =
        job.runtimes[0].create_collection(options(HomeMap::RoundRobin(vec![7]), true)).unwrap();
    job.runtimes[0].start_quiescence(ChareCallback::Function { rank: 0, function: 7 });
    job.runtimes[0].invoke(invocation(at(array, 0), 1, &[100])).unwrap();
    job.work();
    let mut told = job.told.borrow().clone();
    told.sort();
    assert_eq!(told, ["0 7 []", "2 8 []"]);
}

#[test]
fn a_chare_that_is_deleted_does_not_migrate_whatever_its_method_says_then() {
    let job = Job::new(2, |runtime, id, _| {
        runtime.delete(id).map_err(|error| error.to_string())?;
        runtime.migrate(id, 1 - runtime.rank()).map_err(|error| error.to_string())
    });
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![2]), true)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 0), 1, &[])).unwrap();
    job.work();
    let indexes = |rank: usize| job.runtimes[rank].indexes(array);
    assert_eq!((indexes(0), indexes(1)), (vec![], vec![Index::one(1)]));
}

#[test]
fn an_element_with_which_an_array_begins_is_not_made_twice() {
    let job = Job::new(1, |_, _, _| Ok(()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![2]), true)).unwrap();
    job.runtimes[0].insert(at(array, 1), 8, None, &[]).unwrap();
    job.work();
    assert_eq!(job.runtimes[0].indexes(array).len(), 2);
    job.runtimes[0].start_quiescence(ChareCallback::Ignore);
    assert_eq!(
        job.sentence(),
        "nothing is left to do, but method8 waits for Chare3[1], which exists, so it was not made \
         again; 1 messages wait on this rank"
    );
}

#[test]
fn an_index_outside_the_array_is_an_error_of_the_call() {
    let job = Job::new(2, |_, _, _| Ok(()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![4]), true)).unwrap();
    job.work();
    let error = job.runtimes[1].invoke(invocation(at(array, 4), 6, &[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "method6 was invoked on Chare3[4], but the array has no element with that index"
    );
    assert!(job.runtimes[1].invoke(invocation(at(array, -1), 6, &[])).is_err());
    assert!(job.runtimes[1].insert(at(array, 4), 0, None, &[]).is_err());
    assert!(job.runtimes[1].migrate(at(array, 3), 2).is_err(), "there is no rank 2");
    assert!(job.runtimes[0].delete(at(array, 3)).is_err(), "it is on the other rank");
}

#[test]
fn a_message_for_an_element_that_is_never_made_is_named_in_the_end() {
    let job = Job::new(2, |_, _, _| Ok(()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Hash, false)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 4), 6, &[])).unwrap();
    job.runtimes[0].start_quiescence(ChareCallback::Ignore);
    assert_eq!(
        job.sentence(),
        "nothing is left to do, but method6 waits for Chare3[4], which was never made; 1 messages \
         wait on this rank"
    );
}

#[test]
fn a_message_for_an_element_that_was_deleted_is_named_in_the_end() {
    let job = Job::new(2, |runtime, id, _| runtime.delete(id).map_err(|error| error.to_string()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![4]), true)).unwrap();
    for _ in 0..2 {
        job.runtimes[0].invoke(invocation(at(array, 2), 6, &[])).unwrap();
        job.work();
    }
    job.runtimes[0].start_quiescence(ChareCallback::Ignore);
    assert!(job.sentence().contains("Chare3[2], which has been deleted"), "{}", job.sentence());
}

#[test]
fn a_method_that_fails_ends_the_job_with_its_reason() {
    let job = Job::new(3, |_, _, _| Err("the matrix is singular".into()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![3]), true)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 2), 1, &[])).unwrap();
    assert_eq!(job.sentence(), "method1 of Chare3[2] failed: the matrix is singular");
}

#[test]
fn contributions_that_do_not_fit_together_end_the_job() {
    let job = Job::new(1, |runtime, id, _| contribute(runtime, id, id.index.words()[0] as usize));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![2]), true)).unwrap();
    job.runtimes[0].broadcast(broadcast(array, 1, &[]));
    assert!(job.sentence().contains("0 bytes meet 1"), "{}", job.sentence());
}

#[test]
fn ranks_keep_what_arrives_until_they_have_the_read_only_data() {
    let invoked = Rc::new(RefCell::new(0));
    let counter = invoked.clone();
    let job = Job::new(5, move |_, _, _| {
        *counter.borrow_mut() += 1;
        Ok(())
    });
    job.runtimes[1..].iter().for_each(Runtime::hold);
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![10]), true)).unwrap();
    job.runtimes[0].broadcast(broadcast(array, 1, &[]));
    job.work();
    assert_eq!(*invoked.borrow(), 2, "only those of rank 0");
    job.runtimes[0].begin(FINGERPRINT, b"read-only".to_vec());
    job.work();
    assert_eq!(*invoked.borrow(), 10);
}

#[test]
fn ranks_of_another_program_end_the_job() {
    let job = Job::new(2, |_, _, _| Ok(()));
    job.runtimes[1].hold();
    job.runtimes[0].begin(FINGERPRINT + 1, Vec::new());
    let sentence = job.sentence();
    assert!(sentence.starts_with("rank 1 cannot begin: another program"), "{sentence}");
}

#[test]
fn a_rank_that_has_not_begun_can_be_told_to_end() {
    let job = Job::new(3, |_, _, _| Ok(()));
    job.runtimes[1..].iter().for_each(Runtime::hold);
    job.runtimes[0].exit(4);
    job.work();
    assert!(job.ends().into_iter().all(|end| end == Ok(Some(4))));
}

#[test]
fn a_chare_with_suspended_methods_stays_where_it_is() {
    let job = Job::new(2, |_, _, _| Ok(()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![2]), true)).unwrap();
    job.work();
    let (here, id) = (&job.runtimes[1], at(array, 1));
    here.pin(id).unwrap();
    for left in [here.migrate(id, 0), here.delete(id)] {
        let sentence = left.unwrap_err().to_string();
        assert!(sentence.starts_with("Chare3[1] cannot migrate or be deleted"), "{sentence}");
    }
    here.unpin(id);
    here.enter(id).unwrap();
    here.migrate(id, 0).unwrap();
    assert_eq!(here.indexes(array), [id.index], "its method has not returned");
    here.leave(id);
    assert!(here.indexes(array).is_empty());
    assert!(here.pin(id).is_err(), "it is on another rank");
}

#[test]
fn an_array_belongs_to_its_sender_again_when_all_receivers_have_read_it() {
    let read = Rc::new(RefCell::new(0));
    let reader = read.clone();
    let job = Job::new(3, move |_, _, message| {
        assert_eq!(message.arrays()[0].bytes(), [5; 1000]);
        assert_eq!(message.payload(), [1, 2]);
        *reader.borrow_mut() += 1;
        Ok(())
    });
    let array = job.runtimes[1].create_collection(options(HomeMap::Block(vec![7]), true)).unwrap();
    let done = ChareCallback::Function { rank: 2, function: 8 };
    let sent = job.runtimes[1].array(Box::new(vec![5; 1000]), done);
    let message = broadcast(array, 1, &[1, 2]).with_arrays(vec![sent]);
    job.runtimes[1].broadcast(message);
    job.runtimes[0].start_quiescence(ChareCallback::Function { rank: 2, function: 9 });
    job.work();
    assert_eq!(*read.borrow(), 7);
    assert_eq!(*job.told.borrow(), ["2 8 []", "2 9 []"], "quiescence waits for the array");
}
