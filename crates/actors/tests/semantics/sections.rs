//! Sections, on simulated ranks.

use std::cell::RefCell;
use std::rc::Rc;

use towpath_actors::reducers::{NumberOperation, NumberType, of_numbers};
use towpath_actors::runtime::broadcast;
use towpath_actors::{
    ActorHeader, ActorMessage, BitPriority, ChareCallback, ChareId, CollectionId, Contribution,
    HomeMap, Index, Runtime, SectionId,
};

use crate::job::{Job, at, options};

/// Methods of the tests' chares.
const CONTRIBUTE: u32 = 1;
const MIGRATE: u32 = 2;

/// The indexes of the chares whose method was invoked, and by which.
type Invoked = Rc<RefCell<Vec<(i32, u32)>>>;

fn contribution(id: ChareId) -> Contribution {
    Contribution {
        reducer: of_numbers(NumberOperation::Sum, NumberType::I32),
        elements: 1,
        callback: Some(ChareCallback::Function { rank: 0, function: 5 }),
        value: id.index.words()[0].to_ne_bytes().to_vec(),
    }
}

/// A job with an array of ten, whose chares contribute to the section of a multicast, or migrate.
fn job(ranks: u32, seed: u64) -> (Job, CollectionId, Invoked) {
    let invoked = Invoked::default();
    let seen = invoked.clone();
    let job = Job::seeded(seed, ranks, move |runtime, id, message| {
        let header = message.header();
        seen.borrow_mut().push((id.index.words()[0], header.entry));
        if header.entry == MIGRATE {
            let to = (runtime.rank() + 1) % runtime.ranks();
            runtime.migrate(id, to).map_err(|error| error.to_string())?;
        } else if let Some(section) = SectionId::of(header) {
            let next = runtime.next_section_reduction(id, section);
            let number = runtime.contribute_to_section(id, section, contribution(id));
            assert_eq!(number.as_ref(), next.as_ref());
            number.map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![10]), true)).unwrap();
    (job, array, invoked)
}

fn section(runtime: &Runtime, array: CollectionId, members: &[i32]) -> SectionId {
    let members: Vec<Index> = members.iter().map(|index| Index::one(*index)).collect();
    runtime.create_section(array, &members).unwrap()
}

fn sums(job: &Job) -> Vec<i32> {
    let told = job.told.borrow();
    told.iter()
        .map(|told| {
            let bytes = told.split_once(" 5 ").unwrap().1.trim_matches(['[', ']']);
            let bytes: Vec<u8> = bytes.split(", ").map(|byte| byte.parse().unwrap()).collect();
            i32::from_ne_bytes(bytes.try_into().unwrap())
        })
        .collect()
}

#[test]
fn a_multicast_reaches_all_members_and_no_others_also_while_they_migrate() {
    for seed in 0..100 {
        let (job, array, invoked) = job(1 + seed as u32 % 6, seed);
        let maker = &job.runtimes[seed as usize % job.runtimes.len()];
        // Its rank may not have the array yet.
        let odd = section(maker, array, &[1, 3, 5, 7, 9, 3]);
        let sender = job.runtimes.last().unwrap();
        for method in [MIGRATE, 7, MIGRATE, 8] {
            sender.multicast(odd, broadcast(array, method, &[0; 50])).unwrap();
        }
        job.work();
        let mut invoked = invoked.borrow().clone();
        invoked.sort_unstable();
        let all = [1, 3, 5, 7, 9].map(|index| [2, 2, 7, 8].map(|method| (index, method)));
        assert_eq!(invoked, all.concat(), "seed {seed}");
        assert_eq!(sums(&job), [25, 25], "seed {seed}");
    }
}

#[test]
fn reductions_over_sections_that_overlap_are_separate() {
    let (job, array, _) = job(4, 1);
    let (low, all) = (
        section(&job.runtimes[2], array, &[0, 1, 2, 3]),
        section(&job.runtimes[1], array, &(0..10).collect::<Vec<_>>()),
    );
    job.runtimes[0].multicast(low, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    job.runtimes[3].multicast(all, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    job.runtimes[3].broadcast(broadcast(array, MIGRATE, &[]));
    job.runtimes[0].multicast(low, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    assert_eq!(sums(&job), [6, 45, 6]);
}

#[test]
fn the_client_of_a_section_is_told_where_no_contribution_names_anybody() {
    let job = Job::new(3, |runtime, id, message| {
        let section = SectionId::of(message.header()).ok_or("it is no multicast")?;
        let unnamed = Contribution { callback: None, ..contribution(id) };
        let number = runtime.contribute_to_section(id, section, unnamed);
        number.map(|_| ()).map_err(|error| error.to_string())
    });
    let array = job.runtimes[0].create_collection(options(HomeMap::Block(vec![10]), true)).unwrap();
    // This rank has not heard of the array.
    let odd = section(&job.runtimes[1], array, &[1, 3, 5]);
    let client = ChareCallback::Function { rank: 0, function: 5 };
    assert_eq!(job.runtimes[0].set_section_client(odd, client.clone()), Ok(false), "of rank 1");
    assert_eq!(job.runtimes[1].set_section_client(odd, client), Ok(true));
    job.runtimes[2].multicast(odd, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    assert_eq!(sums(&job), [9]);
}

#[test]
fn members_that_are_deleted_are_missed_by_nobody() {
    let (job, array, invoked) = job(3, 2);
    let even = section(&job.runtimes[1], array, &[0, 2, 4, 6, 8]);
    job.work();
    job.runtimes[0].delete(at(array, 2)).unwrap();
    job.runtimes[1].multicast(even, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    job.runtimes[2].insert(at(array, 2), 0, None, &[]).unwrap();
    job.work();
    job.runtimes[1].multicast(even, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    assert_eq!(sums(&job), [18, 18], "element 2 was made again, but not as a member");
    assert_eq!(invoked.borrow().len(), 8);
    let late = section(&job.runtimes[1], array, &[2, 4]);
    job.runtimes[1].multicast(late, broadcast(array, CONTRIBUTE, &[])).unwrap();
    job.work();
    assert_eq!(sums(&job), [18, 18, 6]);
}

#[test]
fn a_multicast_under_way_is_not_for_an_element_that_is_made_again_meanwhile() {
    // The one with a priority leaves the queue after the element has been made, the other before.
    for late in [false, true] {
        let (job, array, invoked) = job(1, 3);
        let runtime = &job.runtimes[0];
        let both = section(runtime, array, &[4, 5]);
        job.work();
        let mut message = broadcast(array, CONTRIBUTE, &[]);
        if late {
            let header = *message.header();
            message = ActorMessage::prioritized(header, &BitPriority::new(&[!0], 20).unwrap(), 0);
        }
        runtime.multicast(both, message).unwrap();
        runtime.delete(at(array, 5)).unwrap();
        runtime.insert(at(array, 5), 0, None, &[]).unwrap();
        job.work();
        assert_eq!(*invoked.borrow(), [(4, CONTRIBUTE)], "late: {late}");
        assert_eq!(sums(&job), [4]);
        assert!(runtime.sections(at(array, 5)).is_empty());
    }
}

#[test]
fn a_multicast_waits_for_members_that_are_not_made_yet() {
    let (job, _, invoked) = job(3, 4);
    let sparse = job.runtimes[0].create_collection(options(HomeMap::Hash, false)).unwrap();
    job.runtimes[0].insert(at(sparse, 1), 0, None, &[]).unwrap();
    let both = section(&job.runtimes[0], sparse, &[1, 2]);
    job.runtimes[2].multicast(both, broadcast(sparse, CONTRIBUTE, &[])).unwrap();
    job.work();
    assert!(invoked.borrow().is_empty());
    job.runtimes[1].insert(at(sparse, 2), 0, Some(2), &[]).unwrap();
    job.work();
    assert_eq!(sums(&job), [3]);

    let none = section(&job.runtimes[1], sparse, &[1, 7]);
    // Its sender does not wait for the members, or the job would never end.
    let array = job.runtimes[2].array(Box::new(vec![5; 1000]), ChareCallback::Ignore);
    let message = broadcast(sparse, CONTRIBUTE, &[]).with_arrays(vec![array]);
    job.runtimes[2].multicast(none, message).unwrap();
    job.run();
    let mut said: Vec<String> = job.runtimes.iter().flat_map(|r| r.undelivered()).collect();
    said.sort();
    assert_eq!(
        said,
        [
            "1 message of a section was not delivered: Chare3[7] was never made",
            "1 message of method1 was not delivered: Chare3 is in a section whose members were \
             not all made"
        ]
    );
    let ends: Vec<String> =
        job.ends().into_iter().filter_map(|end| Some(end.err()?.to_string())).collect();
    assert!(ends.iter().any(|end| end.contains("a section waits for Chare3[7]")), "{ends:?}");
}

#[test]
fn a_group_has_sections_too_and_empty_ones_have_no_members() {
    let (job, _, invoked) = job(5, 5);
    let group = job.runtimes[0].create_collection(options(HomeMap::FirstWord, true)).unwrap();
    let some = section(&job.runtimes[0], group, &[1, 4]);
    job.runtimes[0].multicast(some, broadcast(group, CONTRIBUTE, &[])).unwrap();
    let none = section(&job.runtimes[0], group, &[]);
    job.runtimes[0].multicast(none, broadcast(group, CONTRIBUTE, &[])).unwrap();
    job.work();
    assert_eq!(sums(&job), [5]);
    assert_eq!(invoked.borrow().len(), 2);
}

#[test]
fn a_result_can_go_to_all_members_of_a_section() {
    let (job, array, invoked) = job(3, 8);
    let few = section(&job.runtimes[1], array, &[2, 6]);
    let SectionId { collection, root, number } = few;
    let collection = collection.0;
    let (entry, reference) = (CONTRIBUTE, 0);
    let callback = ChareCallback::Section { collection, root, number, entry, reference };
    job.runtimes[2].start_quiescence(callback);
    job.work();
    assert_eq!(invoked.borrow().len(), 2);
    assert_eq!(sums(&job), [8]);
}

#[test]
fn wrong_calls_about_sections_are_refused_with_a_sentence() {
    let (job, array, _) = job(2, 6);
    let runtime = &job.runtimes[0];
    job.work();
    let single = runtime.create_section(CollectionId::SINGLE_CHARES, &[]).unwrap_err();
    assert!(single.to_string().contains("single chares"));
    let outside = runtime.create_section(array, &[Index::one(10)]).unwrap_err();
    assert_eq!(
        outside.to_string(),
        "a section was made with Chare3[10], but the collection has no element with that index"
    );
    let few = section(runtime, array, &[1, 2]);
    job.work();
    let error = runtime.contribute_to_section(at(array, 0), few, contribution(at(array, 0)));
    assert_eq!(
        error.unwrap_err().to_string(),
        "Chare3[0] contributed to a section to which it does not belong; a member may do so once \
         it has had a multicast of the section"
    );
    let nowhere = SectionId { root: 2, ..few };
    assert!(runtime.multicast(nowhere, broadcast(array, 1, &[])).is_err(), "there is no rank 2");
    assert!(runtime.next_section_reduction(at(array, 0), few).is_err(), "it is no member");
    for number in [0, 9] {
        let unknown = SectionId { number, ..few };
        let error = runtime.multicast(unknown, broadcast(array, 1, &[])).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "a message was sent to section {number} of rank 0, which that rank has not made; \
                 name sections as create_section has"
            )
        );
    }
    let header = ActorHeader::new(towpath_actors::message::MessageKind::Invoke, 0, None, 0);
    assert_eq!(SectionId::of(&header), None);
}
