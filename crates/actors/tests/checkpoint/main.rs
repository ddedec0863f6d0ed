//! Checkpoints on simulated ranks, and restarts on other numbers of ranks.

mod cells;
#[path = "../support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use fastrand::Rng;
use towpath_actors::balance::NORMAL_SPEED;
use towpath_actors::reducers::PROGRAM_REDUCERS;
use towpath_actors::runtime::{broadcast, invocation};
use towpath_actors::{
    ActorError, Balancer, BalancerOptions, ChareCallback, ChareId, CollectionId, CollectionOptions,
    Contribution, HomeMap, Index, QueueOrder, Runtime, SectionId,
};

use cells::{Cells, FINGERPRINT, QUIET, SAVED, STEP, SUM, SYNCHRONIZE, Seen, State, TELL};
use support::{WireEnd, Wires};

struct Job {
    runtimes: Vec<Runtime>,
    seen: Rc<Seen>,
    wires: Rc<RefCell<Wires>>,
}

impl Job {
    fn new(ranks: u32) -> Job {
        let wires = Wires::new(ranks, 11);
        let seen = Rc::new(Seen::default());
        let runtime = |rank| {
            let layer = WireEnd { wires: wires.clone(), rank };
            let chares = Cells::new(seen.clone());
            let options = BalancerOptions { balancer: Balancer::Rotate, speed: NORMAL_SPEED };
            let order = QueueOrder::Random(Rng::with_seed(rank.into()));
            Runtime::new(Box::new(layer), Box::new(chares), order).with_balancer(options)
        };
        let runtimes = (0..ranks).map(runtime).collect();
        Job { runtimes, seen, wires }
    }

    fn work(&self) {
        let mut idle = 0;
        while idle < 100 {
            let worked = self.runtimes.iter().fold(false, |worked, runtime| {
                assert_eq!(runtime.ended(), Ok(None));
                runtime.step() || worked
            });
            idle = if worked || !self.wires.borrow().are_empty() { 0 } else { idle + 1 };
        }
    }

    fn create(&self, rank: usize, map: HomeMap, filled: bool) -> CollectionId {
        let constructor = if map == HomeMap::FirstWord { 8 } else { 7 };
        let parameters = Vec::new();
        let options =
            CollectionOptions { chare: constructor, constructor, map, filled, parameters };
        self.runtimes[rank].create_collection(options).unwrap()
    }

    /// Lets all elements compute: the number of their reduction, and its result.
    fn step(&self, collection: CollectionId) -> (BTreeSet<u32>, Vec<u8>) {
        self.runtimes[0].broadcast(broadcast(collection, STEP, &[]));
        self.work();
        let called = self.seen.called.take();
        assert_eq!(called.len(), 1, "{called:?}");
        (self.seen.numbers.take(), called[0].1.clone())
    }

    /// Writes a checkpoint: what its callback was given.
    fn checkpoint(&self, directory: &Path) -> String {
        let callback = ChareCallback::Function { rank: 0, function: SAVED };
        self.runtimes.last().unwrap().start_checkpoint(directory.to_str().unwrap(), callback);
        self.work();
        let called = self.seen.called.take();
        assert_eq!(called.len(), 1, "{called:?}");
        assert_eq!(called[0].0, SAVED);
        String::from_utf8(called[0].1.clone()).unwrap()
    }

    /// A job that restarts from a checkpoint, or why it does not.
    fn restart(ranks: u32, directory: &Path) -> Result<Job, ActorError> {
        let job = Job::new(ranks);
        job.runtimes.iter().try_for_each(|one| one.restart(directory.to_str().unwrap()))?;
        job.work();
        assert_eq!(job.seen.called.take(), [(SAVED, vec![])], "the callback is called again");
        Ok(job)
    }

    /// The states of all chares of a collection, by index.
    fn states(&self, collection: CollectionId) -> BTreeMap<Index, State> {
        self.runtimes[0].broadcast(broadcast(collection, TELL, &[]));
        self.work();
        let told = self.seen.told.take();
        let all = told.len();
        let states: BTreeMap<Index, State> =
            told.into_iter().map(|(id, chare, state)| (id.index, (chare, state))).collect();
        assert_eq!(states.len(), all, "no element is there twice");
        states
    }
}

/// A job with collections of all kinds, whose elements are not at home.
struct Program {
    job: Job,
    dense: CollectionId,
    sparse: CollectionId,
    group: CollectionId,
    single: ChareId,
}

impl Program {
    fn new(ranks: u32) -> Program {
        let job = Job::new(ranks);
        job.runtimes[0].begin(FINGERPRINT, b"read-only".to_vec());
        let last = job.runtimes.len() - 1;
        let dense = job.create(0, HomeMap::Block(vec![5, 5]), true);
        let sparse = job.create(last, HomeMap::Hash, false);
        for at in 0..9 {
            let index = Index::new(&[at, -at, 7]).unwrap();
            let id = ChareId { collection: sparse, index };
            job.runtimes[last].insert(id, 7, None, &[]).unwrap();
        }
        job.runtimes[last].done_inserting(sparse);
        let group = job.create(last / 2, HomeMap::FirstWord, true);
        let single = job.runtimes[0].create_chare(9, Some(ranks - 1), &[]).unwrap();
        job.work();
        for _ in 0..3 {
            job.step(dense);
            job.step(sparse);
            job.step(group);
            // All elements go to the next rank.
            job.runtimes[0].broadcast(broadcast(dense, SYNCHRONIZE, &[]));
            job.work();
        }
        Program { job, dense, sparse, group, single }
    }
}

#[test]
fn a_checkpoint_of_four_ranks_goes_on_with_the_same_results_on_any_number() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::new(4);
    let Program { job, dense, sparse, group, single } = &program;
    let corner = Index::new(&[0, 0]).unwrap();
    assert!(!job.runtimes[0].indexes(*dense).contains(&corner), "it has migrated");
    assert_eq!(job.checkpoint(directory.path()), "");
    let (written, all) = job.seen.progress.get();
    assert!(written > 0 && written == all, "{written} of {all} bytes");
    let branches = job.states(*group);
    let results: Vec<_> = (0..3).map(|_| (job.step(*dense), job.step(*sparse))).collect();
    for ranks in [1, 2, 3, 4, 7] {
        let again = Job::restart(ranks, directory.path()).unwrap();
        assert_eq!(again.seen.read_only.take(), vec![b"read-only".to_vec(); ranks as usize]);
        let restored = again.states(*group);
        assert_eq!(restored.len(), ranks as usize);
        for (branch, state) in restored {
            assert_eq!(&state, branches.get(&branch).unwrap_or(&branches[&Index::one(0)]));
        }
        for result in &results {
            assert_eq!((again.step(*dense), again.step(*sparse)), *result, "{ranks} ranks");
        }
        assert_eq!(again.states(*dense), job.states(*dense));
        assert_eq!(again.states(*sparse), job.states(*sparse));
        // Chares of their own keep their names and their types.
        again.runtimes[0].invoke(invocation(*single, TELL, &[])).unwrap();
        again.work();
        let told = again.seen.told.take();
        assert_eq!((told.len(), told[0].0, told[0].1), (1, *single, 9));
    }
}

#[test]
fn elements_are_at_their_homes_and_names_are_not_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let Program { job, dense, sparse, group, single } = Program::new(4);
    assert_eq!(job.checkpoint(directory.path()), "");
    for ranks in [1, 3, 7] {
        let again = Job::restart(ranks, directory.path()).unwrap();
        let map = HomeMap::Block(vec![5, 5]);
        for rank in 0..ranks {
            let mut here = again.runtimes[rank as usize].indexes(dense);
            here.sort();
            assert!(here.into_iter().eq(map.homed(rank, ranks)));
        }
        for rank in 0..ranks as usize {
            let made = again.create(rank, HomeMap::Hash, false);
            assert!(![dense, sparse, group].contains(&made));
            let chare = again.runtimes[rank].create_chare(9, None, &[]).unwrap();
            assert_ne!(chare, single);
        }
        again.work();
    }
}

#[test]
fn a_checkpoint_of_a_restarted_job_can_be_restarted() {
    let directory = tempfile::tempdir().unwrap();
    let Program { job, dense, .. } = Program::new(3);
    assert_eq!(job.checkpoint(directory.path()), "");
    let result = (job.step(dense), job.step(dense));
    let second = Job::restart(5, directory.path()).unwrap();
    let first = second.step(dense);
    // It replaces the first checkpoint.
    assert_eq!(second.checkpoint(directory.path()), "");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 6);
    let third = Job::restart(2, directory.path()).unwrap();
    assert_eq!((first, third.step(dense)), result);
}

#[test]
fn a_checkpoint_waits_until_no_message_is_under_way_and_others_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let Program { job, dense, .. } = Program::new(4);
    let called = |function| ChareCallback::Function { rank: 0, function };
    job.runtimes[1].broadcast(broadcast(dense, STEP, &[]));
    job.runtimes[2].start_quiescence(called(QUIET));
    job.runtimes[3].start_checkpoint(directory.path().to_str().unwrap(), called(SAVED));
    job.work();
    let order: Vec<u64> = job.seen.called.take().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order, [SUM, SAVED, QUIET]);
    job.seen.numbers.take();
    let result = job.step(dense);
    assert_eq!(Job::restart(1, directory.path()).unwrap().step(dense), result);
}

#[test]
fn two_checkpoints_at_once_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let job = Program::new(2).job;
    for rank in [0, 1] {
        let callback = ChareCallback::Function { rank: 0, function: SAVED };
        job.runtimes[rank].start_checkpoint(directory.path().to_str().unwrap(), callback);
    }
    job.work();
    let mut reasons: Vec<String> = job
        .seen
        .called
        .take()
        .into_iter()
        .map(|(_, why)| String::from_utf8(why).unwrap())
        .collect();
    reasons.sort();
    assert_eq!(reasons, ["", "no checkpoint was written: another one has not ended"]);
}

#[test]
fn what_would_be_lost_is_a_reason_for_no_checkpoint_and_the_job_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let Program { job, dense, .. } = Program::new(4);
    let id = |index| ChareId { collection: dense, index };
    let here = job.runtimes[2].indexes(dense)[0];

    assert_eq!(job.checkpoint(directory.path()), "");
    job.runtimes[2].pin(id(here)).unwrap();
    let reason = job.checkpoint(directory.path());
    let why = "has suspended methods, or memory that others fill";
    assert_eq!(reason, format!("no checkpoint was written: Cell7{here} {why}"));
    assert!(Job::restart(2, directory.path()).is_ok(), "the one before is still there");
    job.runtimes[2].unpin(id(here));

    job.runtimes[0].invoke(invocation(id(here), STEP, &[])).unwrap();
    job.work();
    let reason = job.checkpoint(directory.path());
    assert!(reason.contains("a reduction over Cell7 is under way"), "{reason}");
    for index in (0..4).flat_map(|rank| job.runtimes[rank].indexes(dense)) {
        if index != here {
            job.runtimes[0].invoke(invocation(id(index), STEP, &[])).unwrap();
        }
    }
    job.work();
    job.seen.called.take();

    job.runtimes[0].invoke(invocation(id(here), SYNCHRONIZE, &[])).unwrap();
    job.work();
    let reason = job.checkpoint(directory.path());
    assert!(reason.ends_with("waits for load balancing"), "{reason}");
}

#[test]
fn arrays_that_take_part_in_load_balancing_do_so_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let Program { job, dense, sparse, .. } = Program::new(3);
    job.runtimes[2].join_balancing(sparse);
    job.work();
    assert_eq!(job.checkpoint(directory.path()), "");
    let again = Job::restart(2, directory.path()).unwrap();
    // The balancer lets all elements migrate.
    let here = again.runtimes[0].indexes(dense);
    again.runtimes[0].broadcast(broadcast(dense, SYNCHRONIZE, &[]));
    again.work();
    assert_eq!(again.runtimes[0].indexes(dense), here, "the other array is not ready");
    again.runtimes[0].broadcast(broadcast(sparse, SYNCHRONIZE, &[]));
    again.work();
    assert_ne!(again.runtimes[0].indexes(dense), here);
}

fn contribute_one(runtime: &Runtime, section: SectionId, index: Index) -> Result<u32, ActorError> {
    let id = ChareId { collection: section.collection, index };
    let callback = Some(ChareCallback::Function { rank: 0, function: SUM });
    let value = 1_u64.to_le_bytes().to_vec();
    let one = Contribution { reducer: PROGRAM_REDUCERS, elements: 1, callback, value };
    runtime.contribute_to_section(id, section, one)
}

#[test]
fn a_reduction_over_a_section_is_a_reason_and_sections_are_made_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let Program { job, dense, .. } = Program::new(3);
    let members = job.runtimes[1].indexes(dense)[..2].to_vec();
    let section = job.runtimes[1].create_section(dense, &members).unwrap();
    job.work();
    contribute_one(&job.runtimes[1], section, members[0]).unwrap();
    job.work();
    let reason = job.checkpoint(directory.path());
    assert!(reason.contains("a reduction over a section of Cell7 is under way"), "{reason}");
    contribute_one(&job.runtimes[1], section, members[1]).unwrap();
    job.work();
    assert_eq!(job.seen.called.take(), [(SUM, 2_u64.to_le_bytes().to_vec())]);
    assert_eq!(job.checkpoint(directory.path()), "");
    for ranks in [1, 4] {
        let again = Job::restart(ranks, directory.path()).unwrap();
        let first = &again.runtimes[0];
        let refused = [
            first.multicast(section, broadcast(dense, TELL, &[])).map(|()| 0),
            first.next_section_reduction(ChareId { collection: dense, index: members[0] }, section),
            contribute_one(first, section, first.indexes(dense)[0]),
        ];
        for error in refused.map(Result::unwrap_err) {
            let sentence = error.to_string();
            let expected =
                "section 1 of rank 1 was made before the restart; sections are not saved";
            assert!(sentence.starts_with(expected), "{sentence}");
        }
        let new = first.create_section(dense, &members).unwrap();
        first.multicast(new, broadcast(dense, TELL, &[])).unwrap();
        again.work();
        assert_eq!(again.seen.told.take().len(), 2);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "occupied").unwrap();
    let job = Program::new(2).job;
    let reason = job.checkpoint(&file);
    assert!(reason.contains("file cannot be written"), "{reason}");
    // A directory stands where a rank's file should be.
    fs::create_dir_all(directory.path().join("checkpoint-1-rank-1.chares/x")).unwrap();
    let reason = job.checkpoint(directory.path());
    assert!(reason.contains("rank-1.chares cannot be written"), "{reason}");
    assert!(Job::restart(2, directory.path()).is_err(), "there is no index");
    let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let parts: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".part")).collect();
    assert!(parts.is_empty(), "what was not finished is removed: {parts:?}");
}

#[test]
fn another_program_does_not_restart() {
    let directory = tempfile::tempdir().unwrap();
    let job = Job::new(1);
    job.runtimes[0].begin(FINGERPRINT + 1, Vec::new());
    assert_eq!(job.checkpoint(directory.path()), "");
    let error = Job::restart(1, directory.path()).err().unwrap().to_string();
    let expected = format!(
        "the job cannot restart from the checkpoint in {}: this is another program",
        directory.path().display()
    );
    assert_eq!(error, expected);
}

#[test]
fn files_that_are_cut_off_changed_exchanged_or_missing_are_refused_with_a_sentence() {
    let (directory, older) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Program { job, dense, .. } = Program::new(4);
    assert_eq!(job.checkpoint(older.path()), "");
    job.step(dense);
    assert_eq!(job.checkpoint(directory.path()), "");
    let mut random = Rng::with_seed(1);
    let names = [
        "index.chares",
        "checkpoint-1-rank-0.chares",
        "checkpoint-1-rank-1.chares",
        "checkpoint-1-rank-3.chares",
    ];
    for name in names {
        let path = directory.path().join(name);
        let whole = fs::read(&path).unwrap();
        let mut refused = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let error = Job::restart(random.u32(1..8), directory.path()).err();
            let sentence = error.expect("it is damaged").to_string();
            assert!(sentence.contains(name), "{sentence}");
        };
        let mut places = Rng::with_seed(2);
        for _ in 0..100 {
            refused(&whole[..places.usize(..whole.len())]);
            let mut flipped = whole.clone();
            flipped[places.usize(..whole.len())] ^= 1 << places.u8(..8);
            refused(&flipped);
        }
        refused(&[&whole[..], &[0]].concat());
        let other = if name == "index.chares" { names[1] } else { name };
        refused(&fs::read(older.path().join(other)).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(Job::restart(2, directory.path()).is_err());
        fs::write(&path, &whole).unwrap();
    }
    assert!(Job::restart(2, directory.path()).is_ok());
}
