//! Layout of the shared segment: offsets that all ranks of a host compute alike.
//!
//! After the control pages follow the table of header slots (one line per ordered pair, grouped by
//! receiver) and one arena per rank. An arena holds the rank's outgoing cells, its bounce buffers,
//! its staging area, the area from which it grants rings to its senders, and the area from which it
//! makes boards for teams. After all arenas follows one heap per rank, from which programs allocate
//! memory that their peers can reach; the heaps are mapped separately because a rank can do without
//! them. The file is sparse: only pages that are touched are allocated.

use towpath_base::control::{PAGE, behind_control_pages};

use super::walk;

/// Bytes of a cache line, the unit of slots, ring lines and counters.
pub const LINE: usize = 64;
/// Maximum number of ranks on one host, which is the number of doorbell bits.
pub const RANK_LIMIT: usize = 2048;
/// Outgoing cells of a rank.
pub const CELLS: usize = 16;
/// Bytes of a cell, which is the largest copied message to a peer without a ring.
pub const CELL_BYTES: usize = 4096;
/// Bounce buffers that a rank fills itself: published regions that can be in flight at once.
pub const OUT_BOUNCES: usize = 4;
/// Bounce buffers that a rank lends to its senders.
pub const IN_BOUNCES: usize = 4;
/// Bytes of a bounce buffer: the longest walk of messages in it.
pub const BOUNCE_BYTES: usize = walk::LONGEST;
/// Offset of a bounce buffer from a page boundary. Large arrays of programs start 0 to 64 bytes
/// after a page boundary. A copy between addresses with the same page offset is up to a quarter
/// slower: the processor mistakes loads for loads of data that it has just stored if the low twelve
/// address bits match (4K aliasing).
const BOUNCE_SHIFT: usize = 1088;
const BOUNCE_STRIDE: usize = BOUNCE_BYTES + PAGE;
/// Maximum number of chunks of a bounce buffer.
pub const CHUNKS: usize = 16;
/// Largest message that a ring takes as a whole if it has room for it. For larger messages, bounce
/// buffers are as fast.
const RING_MESSAGE: usize = 16 * 1024;
/// Bytes of the area from which a receiver grants rings.
pub const RING_AREA: usize = 8 << 20;

/// Bytes of the two counter lines of a bounce buffer, the filler's and the drainer's.
pub const BOUNCE_LINES: usize = 2 * LINE;

/// Bytes of the area from which the first rank of a team allocates the team's board.
pub const BOARD_AREA: usize = 64 << 20;

/// Messages of a rank that may be split copies at the same time.
pub const SHARES: usize = 63;
const SHARES_IN_PAGE: usize = 3;
/// Bytes of the lines of a split copy: the sender's, the receiver's, the claims of both, and for
/// each side two for its strides and six for what it exports from the memory of a device.
pub const SHARE_BYTES: usize = 19 * LINE;
/// Ranges of memory that a rank may have registered at the same time.
pub const MEMORY_ROWS: usize = 16 * ROWS_IN_PAGE;
/// Rows of registered memory in a page, a line each.
pub const ROWS_IN_PAGE: usize = PAGE / LINE;
/// Address space for the heaps of all ranks together, and the maximum for one heap.
const HEAPS: usize = 64 << 30;
const HEAP_AT_MOST: usize = 4 << 30;
/// Alignment of the heaps, a huge page.
const HEAP_UNIT: usize = 2 << 20;

/// Bytes of the reserve, through which messages are sent when memory is short. It is in the same
/// page as the counter lines of a rank's bounce buffers, after them.
pub const RESERVE_BYTES: usize = PAGE / 2;

const CELLS_AT: usize = 0;
const BOUNCE_LINES_AT: usize = CELLS_AT + CELLS * CELL_BYTES;
/// Two lines of registered memory are in the page of the counter lines, which every rank populates
/// from the start, so that peers may read them at any time.
const MEMORY_ROW_COUNT_AT: usize = BOUNCE_LINES_AT + (OUT_BOUNCES + IN_BOUNCES) * BOUNCE_LINES;
const MEMORY_ACCESS_AT: usize = MEMORY_ROW_COUNT_AT + LINE;
const BOUNCES_AT: usize = BOUNCE_LINES_AT + PAGE;
/// The staging area is placed like one more bounce buffer.
const STAGING_AT: usize = BOUNCES_AT + (OUT_BOUNCES + IN_BOUNCES) * BOUNCE_STRIDE;
const SHARES_AT: usize = STAGING_AT + BOUNCE_STRIDE;
const MEMORY_ROWS_AT: usize = SHARES_AT + SHARES / SHARES_IN_PAGE * PAGE;
const RINGS_AT: usize = MEMORY_ROWS_AT + MEMORY_ROWS * LINE;
const BOARDS_AT: usize = RINGS_AT + RING_AREA;
const ARENA: usize = BOARDS_AT + BOARD_AREA;

/// The layout of a host with a given number of ranks.
#[derive(Clone, Copy, Debug)]
pub struct SegmentLayout {
    ranks: usize,
    slots_at: usize,
    arenas_at: usize,
}

impl SegmentLayout {
    /// The layout for `ranks` ranks.
    pub fn new(ranks: usize) -> SegmentLayout {
        let slots_at = behind_control_pages(ranks);
        let arenas_at =
            (slots_at + ranks * SegmentLayout::slots_bytes(ranks)).next_multiple_of(PAGE);
        SegmentLayout { ranks, slots_at, arenas_at }
    }

    /// Bytes of one receiver's slots.
    pub fn slots_bytes(ranks: usize) -> usize {
        ranks * LINE
    }

    /// Length of the segment in bytes, without the heaps.
    pub fn length(&self) -> usize {
        self.arenas_at + self.ranks * ARENA
    }

    /// The header slot of an ordered pair.
    pub fn slot(&self, receiver: usize, sender: usize) -> usize {
        self.slots_at + receiver * SegmentLayout::slots_bytes(self.ranks) + sender * LINE
    }

    fn arena(&self, rank: usize) -> usize {
        self.arenas_at + rank * ARENA
    }

    /// A cell of a sender.
    pub fn cell(&self, sender: usize, cell: usize) -> usize {
        self.arena(sender) + CELLS_AT + cell * CELL_BYTES
    }

    /// The filler's counter line of a rank's bounce buffer; the drainer's line follows. The bounce
    /// buffers that the rank fills come first, then those that it lends.
    pub fn bounce_lines(&self, owner: usize, bounce: usize) -> usize {
        self.arena(owner) + BOUNCE_LINES_AT + bounce * BOUNCE_LINES
    }

    /// First byte of the reserve of a rank's first lent bounce buffer ([`RESERVE_BYTES`] bytes).
    pub fn reserve(&self, owner: usize) -> usize {
        self.arena(owner) + BOUNCE_LINES_AT + PAGE - RESERVE_BYTES
    }

    /// First byte of a rank's bounce buffer.
    pub fn bounce_bytes(&self, owner: usize, bounce: usize) -> usize {
        self.arena(owner) + BOUNCES_AT + bounce * BOUNCE_STRIDE + BOUNCE_SHIFT
    }

    /// First byte of a rank's staging area, which is as long as a bounce buffer.
    pub fn staging(&self, owner: usize) -> usize {
        self.arena(owner) + STAGING_AT + BOUNCE_SHIFT
    }

    /// The first line of split copy `share` of `owner`.
    pub fn share(&self, owner: usize, share: usize) -> usize {
        let (page, inside) = (share / SHARES_IN_PAGE, share % SHARES_IN_PAGE);
        self.arena(owner) + SHARES_AT + page * PAGE + inside * SHARE_BYTES
    }

    /// The line of a range of memory that `owner` has registered.
    pub fn memory_row(&self, owner: usize, row: usize) -> usize {
        self.arena(owner) + MEMORY_ROWS_AT + row * LINE
    }

    /// The line in which a rank counts the rows that it has populated.
    pub fn memory_row_count(&self, owner: usize) -> usize {
        self.arena(owner) + MEMORY_ROW_COUNT_AT
    }

    /// The line in which a rank names the registered memory that it accesses.
    pub fn memory_access(&self, rank: usize) -> usize {
        self.arena(rank) + MEMORY_ACCESS_AT
    }

    /// Offset of the heaps in the file.
    pub fn heaps_at(&self) -> usize {
        self.length().next_multiple_of(HEAP_UNIT)
    }

    /// Bytes of a rank's heap. Heap i starts `i * heap_bytes()` after [`SegmentLayout::heaps_at`].
    pub fn heap_bytes(&self) -> usize {
        (HEAPS / self.ranks / HEAP_UNIT * HEAP_UNIT).min(HEAP_AT_MOST)
    }

    /// First byte of a receiver's ring area ([`RING_AREA`] bytes).
    pub fn ring_area(&self, receiver: usize) -> usize {
        self.arena(receiver) + RINGS_AT
    }

    /// First byte of the area for the boards that a rank makes ([`BOARD_AREA`] bytes).
    pub fn board_area(&self, maker: usize) -> usize {
        self.arena(maker) + BOARDS_AT
    }
}

/// Bytes before a ring's payload: the progress line and the header lines.
pub fn header_bytes(lines: usize) -> usize {
    LINE + lines * LINE
}

/// A ring in the segment: one progress line, then the header lines, then the payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPlace {
    /// Offset of the progress line in the segment.
    pub offset: u64,
    /// Header lines, a power of two.
    pub lines: u32,
    /// Payload bytes, a multiple of [`LINE`].
    pub bytes: u32,
    /// Payload bytes whose pages are populated from the start, a multiple of [`LINE`].
    pub provided: u32,
}

impl RingPlace {
    /// A ring at `offset`. If `ready`, the pages for its largest message are to be populated,
    /// otherwise those for a few short messages, because few pairs exchange more.
    pub fn new(offset: usize, lines: u32, bytes: u32, ready: bool) -> RingPlace {
        let place = RingPlace { offset: offset as u64, lines, bytes, provided: 0 };
        let limit = place.copied_limit();
        let wanted = if ready { limit } else { (CELL_BYTES / 2).min(limit) };
        let header = place.payload_at() - offset;
        let provided = ((header + wanted).next_multiple_of(PAGE) - header).min(bytes as usize);
        RingPlace { provided: provided as u32, ..place }
    }

    /// Bytes of the ring, in whole pages.
    pub fn total(&self) -> usize {
        RingPlace::total_bytes(self.lines, self.bytes)
    }

    /// Bytes of a ring of this shape, in whole pages.
    pub fn total_bytes(lines: u32, bytes: u32) -> usize {
        (header_bytes(lines as usize) + bytes as usize).next_multiple_of(PAGE)
    }

    /// Offset of the first header line.
    pub fn lines_at(&self) -> usize {
        self.offset as usize + LINE
    }

    /// Offset of the first payload byte.
    pub fn payload_at(&self) -> usize {
        self.offset as usize + header_bytes(self.lines as usize)
    }

    /// Largest copied message, up to [`RING_MESSAGE`].
    pub fn copied_limit(&self) -> usize {
        RING_MESSAGE.min(self.bytes as usize / 4 * 3) / LINE * LINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_base::control::slot_table_bytes;

    #[test]
    fn parts_follow_each_other_without_overlap() {
        for ranks in [1, 2, 3, 48, 256, RANK_LIMIT] {
            let layout = SegmentLayout::new(ranks);
            let last = ranks - 1;
            assert!(layout.slot(0, 0) >= behind_control_pages(ranks));
            assert!(layout.slot(last, last) + LINE <= layout.cell(0, 0));
            assert_eq!(
                layout.slot(last, last) + LINE,
                behind_control_pages(ranks) + slot_table_bytes(ranks)
            );
            let bounces = OUT_BOUNCES + IN_BOUNCES;
            assert!(layout.cell(0, CELLS - 1) + CELL_BYTES <= layout.bounce_lines(0, 0));
            assert!(layout.bounce_lines(0, bounces - 1) + BOUNCE_LINES <= layout.reserve(0));
            assert_eq!(layout.reserve(0) + RESERVE_BYTES + BOUNCE_SHIFT, layout.bounce_bytes(0, 0));
            assert!(layout.bounce_bytes(0, bounces - 1) + BOUNCE_BYTES <= layout.staging(0));
            assert!(layout.staging(0) + BOUNCE_BYTES <= layout.share(0, 0));
            assert!(layout.share(0, SHARES - 1) + SHARE_BYTES <= layout.memory_row(0, 0));
            assert_eq!(layout.share(0, SHARES_IN_PAGE) % PAGE, 0);
            assert_eq!(layout.memory_row(0, MEMORY_ROWS), layout.ring_area(0));
            assert_eq!(layout.memory_row(0, ROWS_IN_PAGE) % PAGE, 0);
            assert!(layout.bounce_lines(0, bounces) <= layout.memory_row_count(0));
            assert!(layout.memory_access(0) + LINE <= layout.reserve(0));
            assert!(layout.heaps_at() >= layout.length() && layout.heap_bytes() >= HEAP_UNIT);
            assert_eq!(layout.ring_area(last) + RING_AREA, layout.board_area(last));
            assert_eq!(layout.board_area(last) + BOARD_AREA, layout.length());
            assert_eq!(layout.slot(last, last) % LINE, 0);
            assert_eq!(layout.cell(last, 0) % PAGE, 0);
            assert_eq!(layout.ring_area(last) % PAGE, 0);
            assert_eq!(layout.board_area(last) % PAGE, 0);
        }
    }

    #[test]
    fn a_ring_takes_what_its_parts_take() {
        let place = RingPlace::new(PAGE, 64, 16384, false);
        assert!(place.payload_at() + 16384 <= PAGE + place.total());
        assert_eq!(place.copied_limit(), 12288);
        // The header and the payload of the first messages share two pages.
        assert_eq!(place.payload_at() + place.provided as usize, 3 * PAGE);
        let large = RingPlace::new(0, 32, 65536, true);
        assert_eq!(large.copied_limit(), 16384);
        assert!(
            large.provided >= 16384 && large.payload_at() + large.provided as usize == 5 * PAGE
        );
        let page = RingPlace::new(0, 16, 3008, true);
        assert_eq!((page.total(), page.copied_limit(), page.provided), (PAGE, 2240, 3008));
    }
}
