//! Makes boards: allocates their memory from the maker's area and reclaims it.

use std::sync::{Arc, Mutex};

use towpath_base::sync::{LongWords, MappedLongWords};

use super::{BoardShape, LEFT_AT, PAGE};
use crate::arena::Arena;
use crate::layout::{BOARD_AREA, LINE};
use crate::segment::Segment;
use crate::walk::Walk;

/// A board that its maker has left. Its memory is free once all members have left it.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(super) offset: usize,
    pub(super) shape: BoardShape,
}

impl Leaving {
    /// True if no member will access the board any more.
    pub(crate) fn is_over(&self, segment: &Segment) -> bool {
        // SAFETY: the board's memory is not back in the arena yet, so these words inside the
        // segment still say which of its members have left.
        let left = unsafe { MappedLongWords::new(segment.at(self.offset + LEFT_AT), LINE / 8) };
        (0..self.shape.members).all(|member| left.load_acquire(member) != 0)
    }
}

/// Boards that this process has made and left.
pub(crate) type Left = Arc<Mutex<Vec<Leaving>>>;

/// Bytes of the area that all small boards together may take, so that others can have long walks.
const SMALL_AREA: usize = BOARD_AREA / 4;

/// The boards that this process has made for teams.
#[derive(Debug)]
pub(crate) struct Maker {
    arena: Arena,
    left: Left,
    /// Offsets and lengths in bytes of the small boards.
    small: Vec<(usize, usize)>,
}

impl Maker {
    pub(crate) fn new() -> Maker {
        Maker { arena: Arena::new(BOARD_AREA), left: Left::default(), small: Vec::new() }
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
        let has_long_walk = !is_small && self.arena.free_bytes() > BOARD_AREA / 2;
        let walk = if has_long_walk { segment.walk() } else { Walk::SHORTEST };
        let shape = BoardShape::new(members, walk);
        let small: usize = self.small.iter().map(|(_, bytes)| bytes).sum();
        if is_small && small + shape.bytes() > SMALL_AREA {
            return None;
        }
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
        if is_small {
            self.small.push((offset, shape.bytes()));
        }
        Some(offset + walk.number() as usize)
    }

    /// The list in which boards of this maker record that they were left.
    pub(crate) fn left(&self) -> Left {
        self.left.clone()
    }

    /// Reclaims the memory of boards that no member accesses any more.
    fn sweep(&mut self, segment: &Segment) {
        let Maker { arena, left, small } = self;
        let area = segment.layout().board_area(segment.own_rank());
        left.lock().unwrap().retain(|board| {
            let over = board.is_over(segment);
            if over {
                arena.give(board.offset - area, board.shape.bytes());
                small.retain(|(offset, _)| *offset != board.offset);
            }
            !over
        });
    }
}

#[cfg(test)]
mod tests {
    use towpath_machine::memory;

    use super::*;
    use crate::board::Board;

    #[test]
    fn small_boards_share_a_quarter_of_the_area() {
        const MEMBERS: usize = 8;
        let file = memory::create_file("towpath-maker").unwrap();
        let segment = Segment::map(&file, MEMBERS, 0).expect("memory for a segment");
        let mut maker = Maker::new();
        for _ in 0..2 {
            maker.make(&segment, MEMBERS, false).expect("room for full boards");
        }
        let small = BoardShape::new(MEMBERS, Walk::SHORTEST).bytes();
        let made = std::iter::from_fn(|| maker.make(&segment, MEMBERS, true)).count();
        assert_eq!(made, SMALL_AREA / small);
        assert!(maker.make(&segment, MEMBERS, false).is_some());
        // A board that all members have left makes room for one.
        let offset = maker.small[0].0;
        let location = offset + Walk::SHORTEST.number() as usize;
        let members: Box<[u32]> = (0..MEMBERS as u32).collect();
        for own in (0..MEMBERS).rev() {
            assert!(maker.make(&segment, MEMBERS, true).is_none());
            let left = (own == MEMBERS - 1).then(|| maker.left());
            drop(Board::new(&segment, location, members.clone(), own, left));
        }
        assert!(maker.make(&segment, MEMBERS, true).is_some());
        assert!(maker.make(&segment, MEMBERS, true).is_none());
    }
}
