//! Making boards: memory for a team, out of the area of the member that makes the board, and back.

use std::sync::{Arc, Mutex};

use towpath_base::sync::{LongWords, MappedLongWords};

use super::{PAGE, Shape};
use crate::arena::Arena;
use crate::layout::{BOARD_AREA, LINE};
use crate::segment::Segment;
use crate::walk::Walk;

/// A board that its maker has left; its memory is free when all members have finished its last
/// round.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(super) offset: usize,
    pub(super) shape: Shape,
    pub(super) rounds: u64,
}

impl Leaving {
    /// Whether nobody will touch the board any more.
    pub(crate) fn is_over(&self, segment: &Segment) -> bool {
        // SAFETY: the maker has not given the memory away yet.
        let done = unsafe { MappedLongWords::new(segment.at(self.offset), LINE / 8) };
        (0..self.shape.members).all(|member| done.load_acquire(member) >= self.rounds)
    }
}

/// Boards left by this process that it had made.
pub(crate) type Left = Arc<Mutex<Vec<Leaving>>>;

/// The boards that this process has made for teams.
#[derive(Debug)]
pub(crate) struct Maker {
    arena: Arena,
    left: Left,
}

impl Maker {
    pub(crate) fn new() -> Maker {
        Maker { arena: Arena::new(BOARD_AREA), left: Left::default() }
    }

    /// Takes memory for a board of `members` and provides its lines; its place in the segment
    /// (offset, and number of its walk), or `None` where there is no room or no page.
    pub(crate) fn make(&mut self, segment: &Segment, members: usize) -> Option<usize> {
        self.sweep(segment);
        let walk = if self.arena.free_bytes() > BOARD_AREA / 2 { segment.walk() } else { Walk::SHORTEST };
        let shape = Shape::new(members, walk);
        let area = segment.layout().board_area(segment.own_rank());
        let inside = self.arena.take(shape.bytes())?;
        let (offset, head) = (area + inside, shape.head_bytes());
        if !segment.populate(offset, head) {
            self.arena.give(inside, shape.bytes());
            return None;
        }
        // SAFETY: the range was taken out of our own area, so nobody else uses it; words of an
        // earlier board vanish.
        unsafe { segment.at(offset).write_bytes(0, head) };
        debug_assert!(offset.is_multiple_of(PAGE));
        Some(offset + walk.number() as usize)
    }

    /// Where boards of this maker say that they are left.
    pub(crate) fn left(&self) -> Left {
        self.left.clone()
    }

    /// Takes back the memory of boards that nobody touches any more.
    fn sweep(&mut self, segment: &Segment) {
        let area = segment.layout().board_area(segment.own_rank());
        self.left.lock().unwrap().retain(|board| {
            let over = board.is_over(segment);
            if over {
                self.arena.give(board.offset - area, board.shape.bytes());
            }
            !over
        });
    }
}
