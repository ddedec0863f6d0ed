//! Where everything lies in the shared segment, as offsets computed alike by all ranks of a host.
//!
//! Behind the control pages: the table of header slots, one line per ordered pair, grouped by
//! receiver; then one arena per rank with its outgoing cells, its bulk windows, its staging area,
//! the area out of which it grants rings to its senders, and the one out of which it makes boards
//! for teams. Behind all arenas, mapped for itself because a rank can do without: one heap per
//! rank, from which programs get memory that their peers can reach. The file is sparse: only what
//! is touched exists.

use towpath_base::control::{PAGE, behind_control_pages};

use super::walk;

/// Bytes of a cache line; unit of slots, ring lines and counters.
pub const LINE: usize = 64;
/// Most ranks on one host: bits of the door-bell.
pub const RANK_LIMIT: usize = 2048;
/// Outgoing cells of a rank.
pub const CELLS: usize = 16;
/// Bytes of a cell: largest copied message to a peer without a ring.
pub const CELL_BYTES: usize = 4096;
/// Bulk windows that a rank fills itself: published regions that can be under way at once.
pub const OUT_WINDOWS: usize = 4;
/// Bulk windows that a rank lends to its senders.
pub const IN_WINDOWS: usize = 4;
/// Bytes of a bulk window: as far as messages walk in it at most.
pub const WINDOW_BYTES: usize = walk::LONGEST;
/// How far behind a page boundary a window begins. Large arrays of programs begin 0 to 64 bytes
/// behind one, and a copy between places that are equally far behind a boundary is up to a quarter
/// slower: the processor takes loads for rereads of what it has just stored when their addresses
/// agree in the last twelve bits.
const WINDOW_SHIFT: usize = 1088;
const WINDOW_STRIDE: usize = WINDOW_BYTES + PAGE;
/// Most chunks into which a window is cut.
pub const CHUNKS: usize = 16;
/// Largest message that every ring which can hold it takes as a whole: beyond it, windows are as
/// fast.
const RING_MESSAGE: usize = 16 * 1024;
/// Bytes out of which a receiver grants rings.
pub const RING_AREA: usize = 8 << 20;

/// Bytes of the two counter lines of a window (the filler's, the drainer's).
pub const WINDOW_LINES: usize = 2 * LINE;

/// Bytes out of which the first rank of a team takes the team's board.
pub const BOARD_AREA: usize = 64 << 20;

/// Messages of a rank at one time that its receivers may copy too.
pub const SHARES: usize = 63;
const SHARES_IN_PAGE: usize = 9;
/// Bytes of the lines of such a message: the sender's, the receiver's, the claims of both, and two
/// for the strides of each side's bytes.
pub const SHARE_BYTES: usize = 7 * LINE;
/// Address space for the heaps of all ranks together, and for one of them at most.
const HEAPS: usize = 64 << 30;
const HEAP_AT_MOST: usize = 4 << 30;
/// Heaps begin at a multiple of this, a large page.
const HEAP_UNIT: usize = 2 << 20;

/// Bytes behind the counter lines of a rank's windows, in the same page, through which messages go
/// where memory is short.
pub const RESERVE_BYTES: usize = PAGE / 2;

const CELLS_AT: usize = 0;
const WINDOW_LINES_AT: usize = CELLS_AT + CELLS * CELL_BYTES;
const WINDOWS_AT: usize = WINDOW_LINES_AT + PAGE;
/// The staging area lies as one more window.
const STAGING_AT: usize = WINDOWS_AT + (OUT_WINDOWS + IN_WINDOWS) * WINDOW_STRIDE;
const SHARES_AT: usize = STAGING_AT + WINDOW_STRIDE;
const RINGS_AT: usize = SHARES_AT + SHARES / SHARES_IN_PAGE * PAGE;
const BOARDS_AT: usize = RINGS_AT + RING_AREA;
const ARENA: usize = BOARDS_AT + BOARD_AREA;

/// The layout of a host with so many ranks.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    ranks: usize,
    slots_at: usize,
    arenas_at: usize,
}

impl Layout {
    /// The layout for `ranks` ranks.
    pub fn new(ranks: usize) -> Layout {
        let slots_at = behind_control_pages(ranks);
        let arenas_at = (slots_at + ranks * Layout::row_bytes(ranks)).next_multiple_of(PAGE);
        Layout { ranks, slots_at, arenas_at }
    }

    /// Bytes of one receiver's row of slots.
    pub fn row_bytes(ranks: usize) -> usize {
        ranks * LINE
    }

    /// Length of the segment without the heaps in bytes.
    pub fn length(&self) -> usize {
        self.arenas_at + self.ranks * ARENA
    }

    /// The header slot of an ordered pair.
    pub fn slot(&self, receiver: usize, sender: usize) -> usize {
        self.slots_at + receiver * Layout::row_bytes(self.ranks) + sender * LINE
    }

    fn arena(&self, rank: usize) -> usize {
        self.arenas_at + rank * ARENA
    }

    /// A cell of a sender.
    pub fn cell(&self, sender: usize, cell: usize) -> usize {
        self.arena(sender) + CELLS_AT + cell * CELL_BYTES
    }

    /// The filler's counter line of a rank's window (those it fills first, then those it lends);
    /// the drainer's follows.
    pub fn window_lines(&self, owner: usize, window: usize) -> usize {
        self.arena(owner) + WINDOW_LINES_AT + window * WINDOW_LINES
    }

    /// First byte of the reserve of a rank's first lent window ([`RESERVE_BYTES`] bytes).
    pub fn reserve(&self, owner: usize) -> usize {
        self.arena(owner) + WINDOW_LINES_AT + PAGE - RESERVE_BYTES
    }

    /// First byte of a rank's window.
    pub fn window_bytes(&self, owner: usize, window: usize) -> usize {
        self.arena(owner) + WINDOWS_AT + window * WINDOW_STRIDE + WINDOW_SHIFT
    }

    /// First byte of a rank's staging area, which is as long as a window.
    pub fn staging(&self, owner: usize) -> usize {
        self.arena(owner) + STAGING_AT + WINDOW_SHIFT
    }

    /// The first line of a message of `owner` that its receiver may copy too.
    pub fn share(&self, owner: usize, share: usize) -> usize {
        let (page, inside) = (share / SHARES_IN_PAGE, share % SHARES_IN_PAGE);
        self.arena(owner) + SHARES_AT + page * PAGE + inside * SHARE_BYTES
    }

    /// Where the heaps begin in the file.
    pub fn heaps_at(&self) -> usize {
        self.length().next_multiple_of(HEAP_UNIT)
    }

    /// Bytes of a rank's heap; heap i begins i times as far behind [`Layout::heaps_at`].
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

/// Bytes in front of a ring's payload: the progress line and the header lines.
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
    /// How many of them have their pages from the beginning, a multiple of [`LINE`].
    pub provided: u32,
}

impl RingPlace {
    /// A ring at an offset. One that is `ready` has the pages for its largest message; others those
    /// for some short ones, because few pairs exchange more.
    pub fn new(offset: usize, lines: u32, bytes: u32, ready: bool) -> RingPlace {
        let place = RingPlace { offset: offset as u64, lines, bytes, provided: 0 };
        let limit = place.copied_limit();
        let wanted = if ready { limit } else { (CELL_BYTES / 2).min(limit) };
        let header = place.payload_at() - offset;
        let provided = ((header + wanted).next_multiple_of(PAGE) - header).min(bytes as usize);
        RingPlace { provided: provided as u32, ..place }
    }

    /// Bytes that the ring takes, in whole pages.
    pub fn total(&self) -> usize {
        RingPlace::total_bytes(self.lines, self.bytes)
    }

    /// Bytes that a ring of this shape takes, in whole pages.
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
            let layout = Layout::new(ranks);
            let last = ranks - 1;
            assert!(layout.slot(0, 0) >= behind_control_pages(ranks));
            assert!(layout.slot(last, last) + LINE <= layout.cell(0, 0));
            assert_eq!(layout.slot(last, last) + LINE, behind_control_pages(ranks) + slot_table_bytes(ranks));
            let windows = OUT_WINDOWS + IN_WINDOWS;
            assert!(layout.cell(0, CELLS - 1) + CELL_BYTES <= layout.window_lines(0, 0));
            assert!(layout.window_lines(0, windows - 1) + WINDOW_LINES <= layout.reserve(0));
            assert_eq!(layout.reserve(0) + RESERVE_BYTES + WINDOW_SHIFT, layout.window_bytes(0, 0));
            assert!(layout.window_bytes(0, windows - 1) + WINDOW_BYTES <= layout.staging(0));
            assert!(layout.staging(0) + WINDOW_BYTES <= layout.share(0, 0));
            assert!(layout.share(0, SHARES - 1) + SHARE_BYTES <= layout.ring_area(0));
            assert_eq!(layout.share(0, SHARES_IN_PAGE) % PAGE, 0);
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
        // Header and payload of the first messages share two pages.
        assert_eq!(place.payload_at() + place.provided as usize, 3 * PAGE);
        let large = RingPlace::new(0, 32, 65536, true);
        assert_eq!(large.copied_limit(), 16384);
        assert!(large.provided >= 16384 && large.payload_at() + large.provided as usize == 5 * PAGE);
        let page = RingPlace::new(0, 16, 3008, true);
        assert_eq!((page.total(), page.copied_limit(), page.provided), (PAGE, 2240, 3008));
    }
}
