//! A machine layer in memory, which delays and reorders messages as far as layers may.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use towpath_actors::message::{HEADER_BYTES, MessageHandle};
use towpath_actors::{ActorMessage, MachineLayer};

/// Messages of more bytes than this may be overtaken.
const ORDERED: usize = HEADER_BYTES + 40;

/// The messages between all ranks.
pub(crate) struct Wires {
    ranks: usize,
    /// From each rank to each other one.
    lanes: Vec<VecDeque<ActorMessage>>,
    random: Rng,
    /// After so many percent of the limit something may have arrived for a rank that waits for a
    /// limited time; if none, the limit has passed or not at random, and the clock stands still.
    pub(crate) awaited: Option<u64>,
    /// What the clocks of all ranks show. The test lets the time pass.
    pub(crate) time: Rc<Cell<u64>>,
    /// For how long the threads did not have the processor.
    pub(crate) interrupted: Rc<Cell<u64>>,
}

impl Wires {
    /// Wires between so many ranks.
    pub(crate) fn new(ranks: u32, seed: u64) -> Rc<RefCell<Wires>> {
        let ranks = ranks as usize;
        let lanes = (0..ranks * ranks).map(|_| VecDeque::new()).collect();
        Rc::new(RefCell::new(Wires {
            ranks,
            lanes,
            random: Rng::with_seed(seed),
            awaited: None,
            time: Rc::default(),
            interrupted: Rc::default(),
        }))
    }

    /// Whether nothing is under way.
    pub(crate) fn are_empty(&self) -> bool {
        self.lanes.iter().all(VecDeque::is_empty)
    }

    /// A message to this rank, unless they are all delayed.
    fn next(&mut self, to: usize) -> Option<(u32, ActorMessage)> {
        let from = self.random.usize(..self.ranks);
        if self.random.u8(..4) == 0 {
            return None;
        }
        let lane = &mut self.lanes[from * self.ranks + to];
        let long = lane.iter().take_while(|message| may_be_overtaken(message)).count();
        let at = self.random.usize(..=long);
        Some((from as u32, lane.remove(at)?))
    }
}

fn may_be_overtaken(message: &ActorMessage) -> bool {
    message.bytes().len() > ORDERED || !message.arrays().is_empty()
}

/// One rank's end of them.
pub(crate) struct WireEnd {
    pub(crate) wires: Rc<RefCell<Wires>>,
    pub(crate) rank: u32,
}

impl MachineLayer for WireEnd {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.wires.borrow().ranks as u32
    }

    fn ordered_bytes(&self) -> usize {
        ORDERED
    }

    fn send(&mut self, to: u32, message: MessageHandle) {
        assert_ne!(to, self.rank, "a rank sends itself nothing");
        let message = message.into_owned();
        let mut wires = self.wires.borrow_mut();
        let lane = self.rank as usize * wires.ranks + to as usize;
        wires.lanes[lane].push_back(message);
    }

    fn receive(&mut self) -> Option<(u32, ActorMessage)> {
        self.wires.borrow_mut().next(self.rank as usize)
    }

    fn time(&self) -> u64 {
        self.wires.borrow().time.get()
    }

    fn processor_time(&self) -> u64 {
        self.time() - self.wires.borrow().interrupted.get()
    }

    fn wait(&mut self, limit: Option<Duration>) -> bool {
        let Some(limit) = limit else { return false };
        let mut wires = self.wires.borrow_mut();
        let Some(percent) = wires.awaited else {
            // Delays may be longer than any limit.
            return wires.random.bool();
        };
        let waited = (limit.as_nanos() as u64 * percent).div_ceil(100);
        wires.time.set(wires.time.get() + waited);
        false
    }

    fn close(&mut self) {}
}
