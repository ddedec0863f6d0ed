//! Random programs of chares over MPI, one after the other in one job: messages, broadcasts,
//! reductions, sections and migrations, checked by sums over all ranks when a program is quiescent.
//!
//! `mpiexec -n RANKS chare_traffic PROGRAMS SEED`: rank 0 prints "ok", or a sentence. Without
//! programs, it does nothing, so the runtime ends the job.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use towpath_actors::collection::ObjectId;
use towpath_actors::reducers::{NOP, NumberOperation, NumberType, of_numbers};
use towpath_actors::runtime::{broadcast, invocation};
use towpath_actors::{
    ActorHeader, ActorMessage, ChareCallback, ChareId, Chares, CollectionId, CollectionOptions,
    Contribution, HomeMap, Index, MessageHandle, QueueOrder, Runtime, SectionId,
};

/// Entry methods and constructors.
const NEW_WORKER: u32 = 0;
const WORK: u32 = 1;
const NEW_COUNTER: u32 = 2;
const REPORT: u32 = 3;
const SUM: u32 = of_numbers(NumberOperation::Sum, NumberType::U64);
/// Functions that are told of results.
const QUIESCENT: u64 = 1;
const REPORTED: u64 = 2;
const REDUCED: u64 = 3;
const RETURNED: u64 = 4;
const ANSWERED: u64 = 5;
/// What a message is, in its third word.
const BROADCAST: u64 = 1;
const MULTICAST: u64 = 2;
/// Longest padding of a message: some are longer than the layer sends at once.
const LONGEST: usize = 40_000;
/// Longest array: some are lent where ranks share memory.
const LONGEST_ARRAY: usize = 200_000;

/// What a rank counts; the sums of all ranks must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    /// Messages sent and received, and the sums of their random numbers.
    sent: [u64; 2],
    received: [u64; 2],
    broadcasts: u64,
    delivered: u64,
    elements: u64,
    /// What the elements have counted themselves.
    invoked: u64,
    /// Arrays that were sent, and that nobody reads any more.
    arrays: u64,
    returned: u64,
    /// Sections, of which each gets one multicast; their members; deliveries; and reductions.
    sections: [u64; 2],
    reached: [u64; 2],
}

impl Sums {
    fn words(&self) -> [u64; 14] {
        let [sent, sum] = self.sent;
        let [received, total] = self.received;
        let (broadcasts, delivered) = (self.broadcasts, self.delivered);
        let ([sections, members], [answered, reached]) = (self.sections, self.reached);
        let (elements, invoked) = (self.elements, self.invoked);
        let (arrays, returned) = (self.arrays, self.returned);
        let of_all = [broadcasts, delivered, elements, invoked];
        let of_sections = [sections, members, answered, reached];
        let parts = [[sent, sum, received, total], of_all, of_sections].concat();
        [&parts[..], &[arrays, returned]].concat().try_into().expect("fourteen")
    }
}

/// One rank of the job.
struct Rank {
    random: fastrand::Rng,
    /// Programs that rank 0 has still to run.
    programs: u32,
    elements: u32,
    sums: Sums,
    objects: BTreeMap<ObjectId, Worker>,
    made: ObjectId,
    /// Rank 0: the group of the program that runs, and the array's next reduction.
    group: Option<CollectionId>,
    reduced: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    invoked: u64,
    contributed: u32,
}

/// The program's chares, and rank 0's course of action.
struct Traffic(Rc<RefCell<Rank>>);

impl Traffic {
    fn add(&self, worker: Worker) -> ObjectId {
        let rank = &mut *self.0.borrow_mut();
        rank.made += 1;
        rank.objects.insert(rank.made, worker);
        rank.made
    }

    /// Starts the next program, or ends the job.
    fn next(&self, runtime: &Runtime) {
        let (elements, messages) = {
            let rank = &mut *self.0.borrow_mut();
            if rank.programs == 0 {
                println!("ok");
                return runtime.exit(0);
            }
            rank.programs -= 1;
            rank.reduced = 0;
            rank.elements = rank.random.u32(1..20);
            (rank.elements, rank.random.u32(1..4))
        };
        let map = HomeMap::RoundRobin(vec![elements]);
        let options = |map, constructor| CollectionOptions {
            chare: constructor,
            constructor,
            map,
            filled: true,
            // Elements send to elements whose number they know from here.
            parameters: elements.to_ne_bytes().to_vec(),
        };
        let array = runtime.create_collection(options(map, NEW_WORKER)).expect("one dimension");
        let group =
            runtime.create_collection(options(HomeMap::FirstWord, NEW_COUNTER)).expect("a group");
        {
            let rank = &mut *self.0.borrow_mut();
            rank.group = Some(group);
        }
        for _ in 0..messages {
            let budget = self.0.borrow_mut().random.u32(1..60);
            self.send(runtime, array, budget);
        }
        runtime.start_quiescence(ChareCallback::Function { rank: 0, function: QUIESCENT });
    }

    fn send(&self, runtime: &Runtime, collection: CollectionId, budget: u32) {
        let (to, payload) = {
            let rank = &mut *self.0.borrow_mut();
            let (number, payload) = payload(&mut rank.random, budget);
            rank.sums.sent[0] += 1;
            rank.sums.sent[1] = rank.sums.sent[1].wrapping_add(number);
            (rank.random.u32(..rank.elements).cast_signed(), payload)
        };
        let id = ChareId { collection, index: Index::one(to) };
        let message = self.with_array(runtime, invocation(id, WORK, &payload));
        runtime.invoke(message).expect("the element exists");
    }

    /// Some messages have an array, which is their random number again and again.
    fn with_array(&self, runtime: &Runtime, message: ActorMessage) -> ActorMessage {
        let rank = &mut *self.0.borrow_mut();
        if rank.random.u8(..6) != 0 {
            return message;
        }
        let words = rank.random.usize(..LONGEST_ARRAY / 8);
        let content = message.payload()[..8].repeat(words);
        let array = if rank.random.bool() {
            runtime.copied_array(&content)
        } else {
            rank.sums.arrays += 1;
            let (rank, function) = (runtime.rank(), RETURNED);
            runtime.array(Box::new(content), ChareCallback::Function { rank, function })
        };
        message.with_arrays(vec![array])
    }

    fn work(&self, runtime: &Runtime, id: ChareId, object: ObjectId, message: &ActorMessage) {
        let words = message.payload();
        let word = |at: usize| u64::from_ne_bytes(words[at..at + 8].try_into().expect("8 bytes"));
        for array in message.arrays() {
            assert!(array.bytes().chunks(8).all(|word| *word == words[..8]), "an array");
        }
        let (number, budget, is_for) = (word(0), word(8) as u32, word(16));
        {
            let rank = &mut *self.0.borrow_mut();
            rank.objects.get_mut(&object).expect("the object is here").invoked += 1;
            match is_for {
                BROADCAST => rank.sums.delivered += 1,
                MULTICAST => rank.sums.reached[1] += 1,
                _ => {
                    rank.sums.received[0] += 1;
                    rank.sums.received[1] = rank.sums.received[1].wrapping_add(number);
                }
            }
        }
        if let Some(section) = SectionId::of(message.header()) {
            let callback = ChareCallback::Function { rank: runtime.rank(), function: ANSWERED };
            let contribution =
                Contribution { reducer: NOP, elements: 1, callback: Some(callback), value: vec![] };
            runtime.contribute_to_section(id, section, contribution).expect("it is a member");
        }
        let mut left = budget;
        while left > 0 {
            let share = self.0.borrow_mut().random.u32(1..=left);
            left -= share;
            self.act(runtime, id, object, share - 1);
        }
        let (chance, to) = {
            let rank = &mut *self.0.borrow_mut();
            (rank.random.u8(..3), rank.random.u32(..runtime.ranks()))
        };
        if chance == 0 {
            runtime.migrate(id, to).expect("the chare is here");
        }
    }

    fn act(&self, runtime: &Runtime, id: ChareId, object: ObjectId, budget: u32) {
        let choice = self.0.borrow_mut().random.u8(..7);
        match choice {
            0 => {
                let payload = {
                    let rank = &mut *self.0.borrow_mut();
                    rank.sums.broadcasts += 1;
                    let (_, mut payload) = payload(&mut rank.random, budget / rank.elements);
                    payload[16..24].copy_from_slice(&BROADCAST.to_ne_bytes());
                    payload
                };
                let message = broadcast(id.collection, WORK, &payload);
                runtime.broadcast(self.with_array(runtime, message));
            }
            1 => {
                let worker = &mut self.0.borrow_mut().objects;
                let worker = worker.get_mut(&object).expect("the object is here");
                let value = part(id.index.words()[0], worker.contributed);
                worker.contributed += 1;
                let contribution = Contribution {
                    reducer: SUM,
                    elements: 1,
                    callback: Some(ChareCallback::Function { rank: 0, function: REDUCED }),
                    value: value.to_ne_bytes().to_vec(),
                };
                runtime.contribute(id, contribution).expect("the chare is here");
            }
            2 => self.multicast(runtime, id.collection, budget),
            _ => self.send(runtime, id.collection, budget),
        }
    }

    /// Makes a section of some elements, and sends them a message.
    fn multicast(&self, runtime: &Runtime, collection: CollectionId, budget: u32) {
        let (members, payload) = {
            let rank = &mut *self.0.borrow_mut();
            // One at least, so there is an answer.
            let others = (1..rank.elements.cast_signed()).filter(|_| rank.random.bool());
            let members: Vec<Index> = others.chain([0]).map(Index::one).collect();
            rank.sums.sections[0] += 1;
            rank.sums.sections[1] += members.len() as u64;
            let (_, mut payload) = payload(&mut rank.random, budget / rank.elements);
            payload[16..24].copy_from_slice(&MULTICAST.to_ne_bytes());
            (members, payload)
        };
        let section = runtime.create_section(collection, &members).expect("the elements exist");
        let message = self.with_array(runtime, broadcast(collection, WORK, &payload));
        runtime.multicast(section, message).expect("it was made");
    }

    /// A branch of the group says what its rank has counted.
    fn report(&self, runtime: &Runtime, id: ChareId) {
        let value = {
            let rank = &mut *self.0.borrow_mut();
            rank.sums.elements = rank.objects.len() as u64;
            rank.sums.invoked = rank.objects.values().map(|worker| worker.invoked).sum();
            rank.objects.clear();
            std::mem::take(&mut rank.sums).words().map(u64::to_ne_bytes).concat()
        };
        let callback = Some(ChareCallback::Function { rank: 0, function: REPORTED });
        let contribution = Contribution { reducer: SUM, elements: 1, callback, value };
        runtime.contribute(id, contribution).expect("the branch is here");
    }

    /// Rank 0 has the sums of all ranks.
    fn check(&self, value: &[u8]) {
        let elements = u64::from(self.0.borrow().elements);
        let sums = words(value);
        assert_eq!(sums[0..2], sums[2..4], "messages sent and received, and their sums");
        assert_eq!(sums[4] * elements, sums[5], "broadcasts and their deliveries");
        assert_eq!(sums[6], elements, "elements");
        assert_eq!(sums[7], sums[2] + sums[5] + sums[11], "what elements have counted");
        assert_eq!(sums[8..10], sums[10..12], "sections and their members, answers and deliveries");
        assert_eq!(sums[12], sums[13], "arrays sent and returned");
    }

    /// Rank 0 has a result of the array's reductions, which come in the order of their numbers.
    fn reduced(&self, value: &[u8]) {
        let rank = &mut *self.0.borrow_mut();
        let parts = (0..rank.elements.cast_signed()).map(|element| part(element, rank.reduced));
        assert_eq!(words(value)[0], parts.fold(0, u64::wrapping_add), "{}", rank.reduced);
        rank.reduced += 1;
    }
}

/// What an element contributes to a reduction.
fn part(element: i32, number: u32) -> u64 {
    fastrand::Rng::with_seed(u64::from(number) << 32 | u64::from(element.cast_unsigned())).u64(..)
}

/// A random number, and a message with it.
fn payload(random: &mut fastrand::Rng, budget: u32) -> (u64, Vec<u8>) {
    let number = random.u64(..);
    let padding = if random.u8(..8) == 0 { random.usize(..LONGEST) } else { 0 };
    let mut payload = [number, u64::from(budget), 0].map(u64::to_ne_bytes).concat();
    payload.resize(payload.len() + padding, 7);
    (number, payload)
}

fn words(value: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
    value.chunks(8).map(word).collect()
}

impl Chares for Traffic {
    fn construct(
        &self,
        _: &Runtime,
        _: ChareId,
        message: &ActorMessage,
    ) -> Result<ObjectId, String> {
        let elements = message.payload().try_into().map_err(|_| "no number of elements")?;
        self.0.borrow_mut().elements = u32::from_ne_bytes(elements);
        if message.header().entry == NEW_COUNTER {
            return Ok(0);
        }
        Ok(self.add(Worker::default()))
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        object: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        if message.header().entry == REPORT {
            self.report(runtime, id);
        } else {
            self.work(runtime, id, object, &message);
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
        let rank = self.0.borrow();
        let worker = rank.objects[&object];
        // A rank may have an element before it has heard of the program itself.
        let words = [worker.invoked, u64::from(worker.contributed), u64::from(rank.elements)];
        let mut packed = words.map(u64::to_ne_bytes).concat();
        packed.resize(if worker.invoked.is_multiple_of(3) { LONGEST } else { 24 }, 0);
        Ok(ActorMessage::of(header, &packed))
    }

    fn unpack(&self, _: &Runtime, _: u32, _: ChareId, packed: &[u8]) -> Result<ObjectId, String> {
        let words = words(&packed[..24]);
        self.0.borrow_mut().elements = words[2] as u32;
        Ok(self.add(Worker { invoked: words[0], contributed: words[1] as u32 }))
    }

    fn destroy(&self, _: &Runtime, _: u32, object: ObjectId) -> Result<(), String> {
        self.0.borrow_mut().objects.remove(&object);
        Ok(())
    }

    fn combine(&self, reducer: u32, _: &mut Vec<u8>, _: &[u8]) -> Result<(), String> {
        Err(format!("there is no reducer {reducer}"))
    }

    fn call_back(&self, runtime: &Runtime, function: u64, value: &[u8]) -> Result<(), String> {
        match function {
            QUIESCENT => {
                let group = self.0.borrow().group.expect("a program runs");
                runtime.broadcast(broadcast(group, REPORT, &[]));
            }
            REPORTED => {
                self.check(value);
                self.next(runtime);
            }
            RETURNED => self.0.borrow_mut().sums.returned += 1,
            ANSWERED => self.0.borrow_mut().sums.reached[0] += 1,
            _ => self.reduced(value),
        }
        Ok(())
    }

    fn chare_type(&self, constructor: u32) -> u32 {
        constructor
    }

    fn chare_name(&self, chare: u32) -> String {
        if chare == NEW_COUNTER { "Counter" } else { "Worker" }.into()
    }

    fn entry_name(&self, entry: u32) -> String {
        if entry == REPORT { "report" } else { "work" }.into()
    }
}

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [programs, seed] = words[..] else {
        eprintln!("usage: chare_traffic PROGRAMS SEED");
        std::process::exit(2);
    };
    let layer = towpath_actors_mpi::open().unwrap_or_else(|error| panic!("{error}"));
    let own = seed * 1000 + u64::from(layer.rank());
    let rank = Rank {
        random: fastrand::Rng::with_seed(own),
        programs: programs as u32,
        elements: 1,
        sums: Sums::default(),
        objects: BTreeMap::new(),
        made: 0,
        group: None,
        reduced: 0,
    };
    let traffic = Rc::new(RefCell::new(rank));
    let order = QueueOrder::Random(fastrand::Rng::with_seed(own));
    let runtime = Runtime::new(layer, Box::new(Traffic(traffic.clone())), order);
    if runtime.rank() == 0 && programs > 0 {
        Traffic(traffic).next(&runtime);
    }
    let code = runtime.run().unwrap_or_else(|error| {
        eprintln!("rank {}: {error}", runtime.rank());
        1
    });
    runtime.close();
    std::process::exit(code);
}
