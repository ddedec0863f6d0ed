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

/// Bytes of the area that the boards of single operations may take together, so that another one
/// can have a long walk.
const OPERATIONS_AREA: usize = BOARD_AREA * 3 / 8;

/// The boards that this process has made for teams.
#[derive(Debug)]
pub(crate) struct Maker {
    arena: Arena,
    left: Left,
    /// Offsets and lengths in bytes of the boards of single operations.
    of_operations: Vec<(usize, usize)>,
}

impl Maker {
    pub(crate) fn new() -> Maker {
        Maker { arena: Arena::new(BOARD_AREA), left: Left::default(), of_operations: Vec::new() }
    }

    /// Allocates a board for `members` members and populates its lines. With `longest` it serves
    /// one operation, in which a member posts so many bytes at most. Returns its location in the
    /// segment (offset plus the number of its shape), or `None` if there is no room or memory is
    /// short.
    pub(crate) fn make(
        &mut self,
        segment: &Segment,
        members: usize,
        longest: Option<usize>,
    ) -> Option<usize> {
        self.sweep(segment);
        let has_room = self.arena.free_bytes() > BOARD_AREA / 2;
        let walk = if has_room { segment.walk() } else { Walk::SHORTEST };
        let shape = match longest {
            Some(longest) => BoardShape::of_operation(members, longest),
            None => BoardShape::new(members, walk),
        };
        let taken: usize = self.of_operations.iter().map(|(_, bytes)| bytes).sum();
        if longest.is_some() && taken + shape.bytes() > OPERATIONS_AREA {
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
        if longest.is_some() {
            self.of_operations.push((offset, shape.bytes()));
        }
        Some(offset + shape.number())
    }

    /// The list in which boards of this maker record that they were left.
    pub(crate) fn left(&self) -> Left {
        self.left.clone()
    }

    /// Reclaims the memory of boards that no member accesses any more.
    fn sweep(&mut self, segment: &Segment) {
        let Maker { arena, left, of_operations } = self;
        let area = segment.layout().board_area(segment.own_rank());
        left.lock().unwrap().retain(|board| {
            let over = board.is_over(segment);
            if over {
                arena.give(board.offset - area, board.shape.bytes());
                of_operations.retain(|(offset, _)| *offset != board.offset);
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
    fn boards_of_single_operations_share_a_part_of_the_area() {
        const MEMBERS: usize = 8;
        let file = memory::create_file("towpath-maker").unwrap();
        let segment = Segment::map(&file, MEMBERS, 0).expect("memory for a segment");
        let mut maker = Maker::new();
        for _ in 0..2 {
            maker.make(&segment, MEMBERS, None).expect("room for full boards");
        }
        let (long, short) = (Some(1 << 20), Some(0));
        let [longest, shortest] = [long, short]
            .map(|longest| BoardShape::of_operation(MEMBERS, longest.unwrap()).bytes());
        let made = std::iter::from_fn(|| maker.make(&segment, MEMBERS, long)).count();
        assert_eq!(made, OPERATIONS_AREA / longest);
        let made = std::iter::from_fn(|| maker.make(&segment, MEMBERS, short)).count();
        assert_eq!(made, OPERATIONS_AREA % longest / shortest);
        assert!(maker.make(&segment, MEMBERS, None).is_some());
        // A board that all members have left makes room for one.
        let offset = maker.of_operations[0].0;
        let location = offset + BoardShape::of_operation(MEMBERS, 1 << 20).number();
        let members: Box<[u32]> = (0..MEMBERS as u32).collect();
        for own in (0..MEMBERS).rev() {
            assert!(maker.make(&segment, MEMBERS, long).is_none());
            let left = (own == MEMBERS - 1).then(|| maker.left());
            drop(Board::new(&segment, location, members.clone(), own, left));
        }
        assert!(maker.make(&segment, MEMBERS, long).is_some());
        assert!(maker.make(&segment, MEMBERS, long).is_none());
    }

    #[test]
    fn areas_fit_the_messages_of_an_operation() {
        let shape = |members, longest| BoardShape::of_operation(members, longest);
        assert_eq!((shape(8, 0).area, shape(8, 128).area), (PAGE, PAGE));
        assert_eq!((shape(8, 129).area, shape(8, 4096).area), (8192, 131_072));
        for members in [1, 2, 3, 8, 64, 1000, 5000] {
            let usual = BoardShape::new(members, Walk::SHORTEST);
            assert_eq!(shape(members, usize::MAX), usual);
            for longest in [0, 49, 5000, 1 << 20] {
                let shape = shape(members, longest);
                assert!(shape.largest == usual.largest || shape.largest >= longest, "{shape:?}");
                assert_eq!(BoardShape::from_number(members, shape.number()), shape);
            }
            let long = BoardShape::new(members, Walk::from_number(crate::walk::MOST_DOUBLINGS));
            assert_eq!(BoardShape::from_number(members, long.number()), long);
        }
    }
}
