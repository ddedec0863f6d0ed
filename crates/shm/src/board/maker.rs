//! Makes boards: allocates their memory from the maker's area and reclaims it.

use std::sync::{Arc, Mutex};

use towpath_base::sync::{LongWords, MappedLongWords};

use super::{BoardShape, PAGE};
use crate::arena::Arena;
use crate::layout::{BOARD_AREA, LINE};
use crate::segment::Segment;
use crate::walk::Walk;

/// A board that its maker has left. Its memory is free once all members have finished its last
/// round.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(super) offset: usize,
    pub(super) shape: BoardShape,
    pub(super) rounds: u64,
}

impl Leaving {
    /// True if no member will access the board any more.
    pub(crate) fn is_over(&self, segment: &Segment) -> bool {
        // SAFETY: the board's memory is not back in the arena yet, so these words inside the
        // segment still count the rounds that its members have finished.
        let done = unsafe { MappedLongWords::new(segment.at(self.offset), LINE / 8) };
        (0..self.shape.members).all(|member| done.load_acquire(member) >= self.rounds)
    }
}

/// Boards that this process has made and left.
pub(crate) type Left = Arc<Mutex<Vec<Leaving>>>;

/// Bytes of the area that small boards leave for others, so that these can have long walks.
const LEFT_BY_SMALL: usize = BOARD_AREA / 4 * 3;

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

    /// Allocates a board for `members` members and populates its lines. Returns its location in the
    /// segment (offset plus the number of its walk), or `None` if there is no room or memory is
    /// short.
    pub(crate) fn make(
        &mut self,
        segment: &Segment,
        members: usize,
        is_small: bool,
    ) -> Option<usize> {
        self.sweep(segment);
        let free = self.arena.free_bytes();
        if is_small && free <= LEFT_BY_SMALL {
            return None;
        }
        let has_long_walk = !is_small && free > BOARD_AREA / 2;
        let walk = if has_long_walk { segment.walk() } else { Walk::SHORTEST };
        let shape = BoardShape::new(members, walk);
        let area = segment.layout().board_area(segment.own_rank());
        let inside = self.arena.take(shape.bytes())?;
        let (offset, head) = (area + inside, shape.head_bytes());
        if !segment.populate(offset, head) {
            self.arena.give(inside, shape.bytes());
            return None;
        }
        // SAFETY: the range was just allocated from this rank's own area, so no other process uses
        // it. This clears the words of an earlier board.
        unsafe { segment.at(offset).write_bytes(0, head) };
        debug_assert!(offset.is_multiple_of(PAGE));
        Some(offset + walk.number() as usize)
    }

    /// The list in which boards of this maker record that they were left.
    pub(crate) fn left(&self) -> Left {
        self.left.clone()
    }

    /// Reclaims the memory of boards that no member accesses any more.
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
