//! One way of a message between two chares on two ranks, in microseconds, over any MPI library:
//! `mpiexec -n 2 chare_pingpong [BYTES...]`. The MPI library is that of LD_LIBRARY_PATH.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use towpath_actors::collection::ObjectId;
use towpath_actors::runtime::invocation;
use towpath_actors::{
    ActorHeader, ActorMessage, ChareId, Chares, CollectionId, CollectionOptions, HomeMap, Index,
    MessageHandle, QueueOrder, Runtime,
};

/// Messages to and fro that are not measured, and that are.
const WARM: u32 = 1000;
const MEASURED: u32 = 20_000;

#[derive(Default)]
struct Player {
    /// Bytes of the messages, of each series.
    sizes: Vec<usize>,
    series: usize,
    rounds: u32,
    began: Option<Instant>,
    buffer: Vec<u8>,
}

struct Players(Rc<RefCell<Player>>);

impl Players {
    fn play(&self, runtime: &Runtime, id: ChareId) {
        let player = &mut *self.0.borrow_mut();
        if runtime.rank() == 0 {
            if player.rounds == WARM {
                player.began = Some(Instant::now());
            }
            let bytes = player.sizes[player.series];
            let measured = if bytes < 1 << 16 { MEASURED } else { 500 };
            if player.rounds == WARM + measured {
                let seconds = player.began.expect("it has begun").elapsed().as_secs_f64();
                println!("{bytes:>9} {:>9.3}", seconds / f64::from(measured) / 2.0 * 1e6);
                player.series += 1;
                player.rounds = 0;
                if player.series == player.sizes.len() {
                    return runtime.exit(0);
                }
            }
            player.rounds += 1;
            player.buffer.resize(player.sizes[player.series], 1);
        }
        let other = Index::one(1 - id.index.words()[0]);
        let message = invocation(ChareId { index: other, ..id }, 0, &player.buffer);
        runtime.invoke(message).expect("there are two");
    }
}

impl Chares for Players {
    fn construct(&self, _: &Runtime, _: ChareId, _: &ActorMessage) -> Result<ObjectId, String> {
        Ok(1)
    }

    fn invoke(
        &self,
        runtime: &Runtime,
        id: ChareId,
        _: ObjectId,
        message: MessageHandle,
    ) -> Result<(), String> {
        if runtime.rank() == 1 {
            let buffer = &mut self.0.borrow_mut().buffer;
            buffer.resize(message.payload().len(), 1);
        }
        self.play(runtime, id);
        Ok(())
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
        Ok(1)
    }

    fn destroy(&self, _: &Runtime, _: u32, _: ObjectId) -> Result<(), String> {
        Ok(())
    }

    fn chare_type(&self, constructor: u32) -> u32 {
        constructor
    }

    fn chare_name(&self, _: u32) -> String {
        "Player".into()
    }

    fn entry_name(&self, _: u32) -> String {
        "play".into()
    }
}

fn main() {
    let mut sizes: Vec<usize> =
        std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![8, 1 << 10, 16 << 10, 128 << 10, 1 << 20];
    }
    let layer = towpath_actors_mpi::open().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(layer.ranks(), 2, "this program plays with two ranks");
    let player = Rc::new(RefCell::new(Player { sizes, ..Player::default() }));
    let runtime = Runtime::new(layer, Box::new(Players(player)), QueueOrder::Fifo);
    if runtime.rank() == 0 {
        let options = CollectionOptions {
            chare: 0,
            constructor: 0,
            map: HomeMap::RoundRobin(vec![2]),
            filled: true,
            parameters: Vec::new(),
        };
        let collection: CollectionId = runtime.create_collection(options).expect("one dimension");
        let first = ChareId { collection, index: Index::one(0) };
        runtime.invoke(invocation(first, 0, &[])).expect("there is one");
    }
    let code = runtime.run().unwrap_or_else(|error| panic!("{error}"));
    runtime.close();
    std::process::exit(code);
}
