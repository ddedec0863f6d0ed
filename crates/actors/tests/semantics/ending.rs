//! Jobs that do not end themselves, on simulated ranks.

use std::time::Duration;

use towpath_actors::runtime::invocation;
use towpath_actors::{ActorError, ChareCallback, HomeMap};

use crate::job::{Job, at, options};

#[test]
fn a_job_in_which_nothing_is_left_to_do_ends_with_a_sentence() {
    for ranks in [1, 2, 7] {
        let job = Job::new(ranks, |_, _, _| Ok(()));
        let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![9]), true));
        job.runtimes[0].invoke(invocation(at(array.unwrap(), 8), 1, &[])).unwrap();
        job.run();
        let mut ends = job.ends();
        assert_eq!(ends.remove(0), Err(ActorError::Stalled));
        assert!(ends.into_iter().all(|end| end == Ok(Some(1))));
    }
}

#[test]
fn messages_for_chares_that_were_never_made_are_named_then() {
    let job = Job::new(3, |_, _, _| Ok(()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Hash, false)).unwrap();
    for method in [6, 6, 8] {
        job.runtimes[1].invoke(invocation(at(array, 4), method, &[])).unwrap();
    }
    job.run();
    assert!(job.sentence().starts_with("nothing is left to do, but method6 waits for Chare3[4]"));
    let undelivered: Vec<String> = job.runtimes.iter().flat_map(|r| r.undelivered()).collect();
    assert_eq!(
        undelivered,
        [
            "2 messages of method6 were not delivered: Chare3[4] was never made",
            "1 message of method8 was not delivered: Chare3[4] was never made"
        ]
    );
}

#[test]
fn messages_to_deleted_chares_are_named_after_any_end() {
    let job = Job::new(2, |runtime, id, _| runtime.delete(id).map_err(|error| error.to_string()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![4]), true)).unwrap();
    for _ in 0..3 {
        job.runtimes[0].invoke(invocation(at(array, 2), 6, &[])).unwrap();
    }
    job.work();
    job.runtimes[1].exit(0);
    job.work();
    assert!(job.ends().into_iter().all(|end| end == Ok(Some(0))));
    let undelivered: Vec<String> = job.runtimes.iter().flat_map(|r| r.undelivered()).collect();
    assert_eq!(
        undelivered,
        ["2 messages of method6 were not delivered: Chare3[2] has been deleted"]
    );
}

#[test]
fn who_waits_for_quiescence_and_a_callback_keeps_no_rank_busy() {
    for ranks in [1, 3] {
        let job = Job::new(ranks, |_, _, _| Ok(()));
        let time = job.wires.borrow().time.clone();
        job.wires.borrow_mut().awaited = Some(0);
        let function = |function| ChareCallback::Function { rank: 0, function };
        let due = Duration::from_millis(500);
        job.runtimes[ranks as usize - 1].call_after(due, function(9));
        job.runtimes[0].start_quiescence(function(4));
        let mut worked = 0;
        while job.told.borrow().len() < 2 {
            for runtime in &job.runtimes {
                if runtime.step() {
                    worked += 1;
                } else {
                    runtime.wait();
                }
            }
            time.set(time.get() + 10_000);
            assert!(time.get() < 530_000_000, "quiescence is seen late");
        }
        assert_eq!(*job.told.borrow(), ["0 9 []", "0 4 []"]);
        assert!(worked < 5000, "there are too many waves: {worked}");
    }
}

#[test]
fn functions_are_called_once_a_rank_has_nothing_to_do() {
    let job = Job::new(3, |runtime, id, message| {
        let left = message.payload()[0];
        runtime.call_when_idle(u64::from(left));
        if left > 0 {
            let message = invocation(id, 1, &[left - 1]);
            runtime.invoke(message).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![3]), true)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 1), 1, &[3])).unwrap();
    job.work();
    assert!(job.told.borrow().is_empty());
    job.run();
    assert_eq!(*job.told.borrow(), ["1 3 []", "1 2 []", "1 1 []", "1 0 []"]);
    assert_eq!(job.ends()[0], Err(ActorError::Stalled));
}

#[test]
fn nothing_is_quiet_while_a_message_waits_for_what_a_rank_does_when_it_is_idle() {
    let job = Job::new(2, |_, _, _| Ok(()));
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![2]), true)).unwrap();
    job.work();
    let held = invocation(at(array, 1), 1, &[]).into_buffer();
    // The second sentence replaces the first.
    job.runtimes[1].hold_message(&held, "a message waits".into());
    job.runtimes[1].hold_message(&held, "the message waits".into());
    job.runtimes[1].call_when_idle(4);
    job.runtimes[0].start_quiescence(ChareCallback::Function { rank: 0, function: 9 });
    let work = || {
        let time = job.wires.borrow().time.clone();
        for _ in 0..2000 {
            if !job.runtimes[0].step() {
                job.runtimes[0].wait();
            }
            job.runtimes[1].step();
            time.set(time.get() + 10_000);
        }
    };
    work();
    assert!(job.told.borrow().is_empty());
    job.runtimes[1].release_held(&held);
    work();
    assert_eq!(*job.told.borrow(), ["0 9 []"]);
}

#[test]
fn a_job_goes_on_until_functions_have_been_called() {
    let job = Job::new(3, |_, _, _| Ok(()));
    job.runtimes[1].call_when_idle(4);
    job.runtimes[2].start_quiescence(ChareCallback::Function { rank: 0, function: 9 });
    for _ in 0..2000 {
        for runtime in [&job.runtimes[0], &job.runtimes[2]] {
            if !runtime.step() {
                runtime.wait();
            }
        }
        job.runtimes[1].step();
    }
    assert!(job.ends().into_iter().all(|end| end == Ok(None)));
    assert_eq!(*job.told.borrow(), ["0 9 []"], "quiescence is about messages");
    job.run();
    assert_eq!(*job.told.borrow(), ["0 9 []", "1 4 []"]);
    assert_eq!(job.ends()[0], Err(ActorError::Stalled));
}

#[test]
fn a_job_in_which_something_is_left_to_do_does_not_end() {
    let job = Job::new(3, |runtime, id, message| {
        let next = at(id.collection, (id.index.words()[0] + 1) % 5);
        let left = u32::from_ne_bytes(message.payload().try_into().unwrap());
        if left == 0 {
            runtime.exit(9);
            return Ok(());
        }
        let message = invocation(next, 1, &(left - 1).to_ne_bytes());
        runtime.invoke(message).map_err(|error| error.to_string())
    });
    let array =
        job.runtimes[0].create_collection(options(HomeMap::RoundRobin(vec![5]), true)).unwrap();
    job.runtimes[0].invoke(invocation(at(array, 0), 1, &300_u32.to_ne_bytes())).unwrap();
    job.run();
    assert!(job.ends().into_iter().all(|end| end == Ok(Some(9))), "{:?}", job.ends());
}
