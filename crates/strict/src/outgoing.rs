//! The stream to one local rank, seen from its sender: queue, section, and what the owner has
//! granted.

use towpath_base::control::{ControlPage, RankState};
use towpath_base::sync::{MappedWords, Ordering, Words};
use towpath_machine::wait;

use super::Area;
use super::division::Place;
use super::mesh::{Counts, Mesh};
use super::section::{SectionClaim, Writer};
use super::shape::Shape;
use super::stream::Bytes;
use towpath_shm::Segment;

/// The stream to one local rank.
pub(super) struct Outgoing {
    writer: Writer<MappedWords>,
    page: *const ControlPage,
    /// The owner's parameters, and this rank's entry in the owner's table of payload areas.
    measures: MappedWords,
    table: MappedWords,
    buffer: *mut u8,
    /// The division from which `place` was read.
    division: u32,
    place: Place,
    hops: u32,
    /// Bytes that wait for the section.
    pub(super) queue: Bytes,
    /// True if the peer is in the list of those with pending frames.
    pub(super) listed: bool,
    pub(super) lost: bool,
}

impl Outgoing {
    pub(super) fn new(segment: &Segment, area: &Area, to: usize, hops: u32) -> Outgoing {
        let own = segment.own_rank();
        // SAFETY: the words are in the owner's part of the segment at multiples of 4, and the wire
        // holds the segment while it uses them.
        let (gate, measures, table, header) = unsafe {
            let table = segment.words(area.table(to) + own * 8, 2);
            (
                segment.words(area.gate(to), 1),
                segment.words(area.measures(to), 1),
                table,
                area.header(segment, to, own),
            )
        };
        Outgoing {
            writer: Writer::new(gate, header),
            page: segment.control(to),
            measures,
            table,
            buffer: segment.at(area.buffer(to)),
            division: 0,
            place: Place { offset: 0, bytes: 0 },
            hops,
            queue: Bytes::default(),
            listed: false,
            lost: false,
        }
    }

    fn page(&self) -> &ControlPage {
        // SAFETY: the page is in the segment, which the wire holds while it uses `self`.
        unsafe { &*self.page }
    }

    /// Wakes up the peer if it sleeps.
    #[inline]
    pub(super) fn notify(&self) {
        wait::notify(self.page());
    }

    /// Writes the next chunk if the section is free; true if it did.
    pub(super) fn write_chunk(
        &mut self,
        to: usize,
        shape: &Shape,
        mesh: &Mesh,
        counts: &mut Counts,
    ) -> bool {
        match self.writer.claim() {
            SectionClaim::Taken => return false,
            SectionClaim::Closed => {
                self.expect_strictness(to);
                return false;
            }
            SectionClaim::Stepped => {
                self.notify();
                return false;
            }
            SectionClaim::Granted(division) if division != self.division => {
                self.learn(division, to, shape)
            }
            SectionClaim::Granted(_) => {}
        }
        let begun = mesh.begin();
        let length = self.queue.len().min(self.place.bytes as usize);
        // SAFETY: the section is claimed, so only this thread accesses the payload area that the
        // division gives it, and `length` is at most the size of that area.
        unsafe {
            let into = self.buffer.add(self.place.offset as usize);
            std::ptr::copy_nonoverlapping(self.queue.front().as_ptr(), into, length);
        }
        self.queue.forget(length);
        let lines = length.div_ceil(shape.line) as u64;
        if let Some(begun) = begun {
            mesh.finish(begun, lines, self.hops);
        }
        self.writer.commit(length as u32);
        self.notify();
        counts.chunks += 1;
        counts.lines += lines;
        counts.line_hops += lines * u64::from(self.hops);
        true
    }

    /// Reads the payload area that the owner has granted. The owner does not write to the table
    /// while the section is claimed.
    #[cold]
    fn learn(&mut self, division: u32, to: usize, shape: &Shape) {
        assert!(
            self.measures.load_relaxed(0) == shape.word(),
            "local rank {to} runs the strict channel with other measures than this rank; give all ranks of a host the same \
             TOWPATH_STRICT settings"
        );
        self.place =
            Place { offset: self.table.load_relaxed(0), bytes: self.table.load_relaxed(1) };
        self.division = division;
    }

    /// Panics if the peer is running but has never opened its buffer: it uses another channel and
    /// would never answer.
    #[cold]
    fn expect_strictness(&self, to: usize) {
        let runs = self.page().state.load(Ordering::Acquire) == RankState::Running as u32;
        assert!(
            !(runs && self.writer.is_unopened()),
            "local rank {to} does not run the strict channel, but this rank does; give all ranks of a host the same TOWPATH_CHANNEL"
        );
    }
}
