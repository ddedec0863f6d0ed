//! Transport between the processes of one host through a shared-memory segment, and from a process
//! to itself (`loopback`).
//!
//! Each ordered pair of ranks has exactly one stream of entries at any time. It starts in a header
//! slot (`slot`) and moves to a ring (`ring`) when the pair becomes hot; a grant and a marker
//! (`grant`) keep the order. A field of the entry tells where the payload is: in the line, in a
//! cell or in the staging area of the sender, or in the ring. Large messages are copied through
//! bounce buffers (`push`, `pull`). Every structure has one writer at a time, so a process that
//! dies never blocks the others.

mod arena;
mod arriving;
pub mod board;
mod bounce;
mod cells;
mod claims;
mod cma_read;
mod declared;
mod direct;
mod division;
mod entry;
mod exported;
mod front;
mod grant;
mod heap;
pub mod layout;
pub mod loopback;
#[cfg(all(test, loom))]
pub(crate) mod model;
mod out_bounces;
mod pipeline;
mod pull;
mod push;
mod receive;
mod registered;
mod remote;
pub(crate) mod ring;
mod segment;
mod send;
mod share;
mod slot;
mod staging;
mod stores;
mod streamed;
mod streaming;
mod waiting;
mod walk;
mod wire;

pub use arriving::Arriving;
pub use heap::{Heap, HeapBlock};
pub use segment::Segment;
pub use waiting::Waiting;

use std::collections::VecDeque;

use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::{AtomicU64, MappedWords};
use towpath_base::transfer::CopyAcross;

use crate::stores::Stores;
use arena::Arena;
use board::{Board, Maker};
use cells::Cells;
use division::{Division, RingShape};
use entry::{Control, Kind};
use layout::{CELL_BYTES, LINE, RING_AREA, RingPlace};
use pull::Pulls;
use push::{Advance, Pushes};
use receive::IncomingStream;
use registered::MemoryTable;
use ring::RingReceiver;
use send::OutgoingStream;
use staging::Staging;
use towpath_transport::Sink;
use towpath_transport::ahead::PrefetchHint;

/// Smallest payload of a ring. Its messages may then be as long as those through a cell.
const RING_BYTES_AT_LEAST: u64 = 4 * CELL_BYTES as u64;

/// Tuning parameters. Each rank may have its own values.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Sends through the slot after which a sender asks for a ring; 0: never.
    pub hot_sends: u32,
    /// Payload bytes of the rings that this rank grants.
    pub ring_bytes: u32,
    /// Header lines of those rings, a power of two.
    pub ring_lines: u32,
    /// Bytes of the area from which this rank grants rings, at most [`RING_AREA`].
    pub arena_bytes: usize,
    /// True if this rank may use bounce buffers. Without bounce buffers, large messages are sent
    /// through the reserve, piece by piece.
    pub bounce_buffers: bool,
    /// Bytes of this rank's staging area, at most [`layout::BOUNCE_BYTES`]. `None`: the length of
    /// its walk (see `walk`), if memory allows.
    pub staging_bytes: Option<usize>,
    /// Smallest message from a heap that is copied without a bounce buffer, at least 128 KiB.
    /// `None`: the sizes of the caches say it (see `direct`).
    pub direct_bytes: Option<usize>,
}

impl Default for Settings {
    fn default() -> Settings {
        let bounded = |name, low, high| config::number(name).unwrap_or(low).clamp(low, high) as u32;
        let arena = config::number("TOWPATH_ARENA_BYTES").map(|bytes| bytes as usize);
        Settings {
            hot_sends: bounded("TOWPATH_HOT_SENDS", 0, u64::from(u32::MAX)),
            ring_bytes: bounded("TOWPATH_RING_BYTES", RING_BYTES_AT_LEAST, 1 << 20)
                .next_multiple_of(LINE as u32),
            ring_lines: 64,
            arena_bytes: arena.unwrap_or(RING_AREA).min(RING_AREA),
            bounce_buffers: arena.is_none(),
            staging_bytes: None,
            direct_bytes: config::number("TOWPATH_DIRECT_BYTES")
                .filter(|bytes| *bytes > 0)
                .map(|bytes| bytes as usize),
        }
    }
}

/// A ring that this process reads.
struct HotRing {
    from: u32,
    receiver: RingReceiver<MappedWords>,
    lines: *const u8,
    /// The receiver's count at the last search for idle rings.
    seen: u32,
    /// Where the payload of the next entry is if it is as long as the last one in the ring.
    /// `poll_front` neither uses nor updates it.
    hint: PrefetchHint,
}

/// The wire to all other processes of this host. Its methods take local ranks; [`Sink`] gets
/// [`PeerIndex`]es.
pub struct Shm {
    own: usize,
    settings: Settings,
    peers: Vec<PeerIndex>,
    outgoing: Vec<OutgoingStream>,
    incoming: Vec<IncomingStream>,
    /// The words of this rank's doorbell.
    doorbell: *const AtomicU64,
    doorbell_words: usize,
    /// Rings to poll, one per sender whose stream is in a ring.
    hot: Vec<HotRing>,
    /// Peers with control entries that did not fit, or with a marker to write.
    attention: Vec<u32>,
    arena: Arena,
    division: Division,
    /// True while declared edges have less than their share.
    wanting: bool,
    /// Bytes of revoked rings whose markers have not arrived yet.
    returning: usize,
    maker: Maker,
    cells: Cells,
    staging: Staging,
    pushes: Pushes,
    pulls: Pulls,
    registered: MemoryTable,
    /// How payload for each local rank is written.
    stores: Stores,
    /// Tokens of pulls of length 0 that are still to be reported.
    finished: Vec<u64>,
    /// Dead peers that are still to be reported.
    dead: VecDeque<u32>,
    /// Dropped last: until the transfers are dropped, devices may access it.
    segment: Segment,
}

// SAFETY: the raw pointers point into the segment, which lives as long as the wire, and the wire is
// only used under the lock of its worker.
unsafe impl Send for Shm {}

impl Shm {
    /// The wire of one rank. `peers[i]` is the index by which this process knows local rank i.
    ///
    /// # Panics
    /// If the number of peers is not the number of ranks in the segment.
    pub fn new(segment: Segment, peers: Vec<PeerIndex>, settings: Settings) -> Shm {
        let own = segment.own_rank();
        let segment = segment.with_bounce_buffers(settings.bounce_buffers);
        assert_eq!(peers.len(), segment.ranks(), "one peer per local rank");
        let outgoing = (0..peers.len())
            .map(|rank| OutgoingStream::new(&segment, rank, settings.hot_sends))
            .collect();
        let incoming = (0..peers.len()).map(|rank| IncomingStream::new(&segment, rank)).collect();
        let doorbell = segment.own_control().doorbell.as_ptr();
        let pushes = Pushes::new(&segment, settings.direct_bytes);
        let registered = MemoryTable::new(&segment, pushes.mark());
        let stores = Stores::new(peers.len(), segment.walk().bytes());
        assert!(
            settings.staging_bytes.is_none_or(|bytes| bytes <= layout::BOUNCE_BYTES),
            "too large a staging area"
        );
        let staging = Staging::new(segment.provide_staging(settings.staging_bytes));
        Shm {
            doorbell,
            doorbell_words: peers.len().div_ceil(64),
            segment,
            own,
            settings,
            peers,
            outgoing,
            incoming,
            hot: Vec::new(),
            attention: Vec::new(),
            arena: Arena::new(settings.arena_bytes),
            division: Division::default(),
            wanting: false,
            returning: 0,
            maker: Maker::new(),
            cells: Cells::new(),
            staging,
            registered,
            pushes,
            pulls: Pulls::new(own),
            stores,
            finished: Vec::new(),
            dead: VecDeque::new(),
        }
    }

    /// Sets the function that copies between strided layouts. Without it, messages that are not
    /// contiguous are packed.
    pub fn set_across(&mut self, across: CopyAcross) {
        self.pushes.set_across(across);
        self.pulls.set_across(across);
    }

    /// The segment that this wire uses.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Makes a board for a team of `members` members. Returns its location in the segment, which
    /// the other members must learn, or `None` if there is no memory for it. One that serves a
    /// single operation, in which a member posts `longest` bytes at most, has areas for these.
    pub fn make_board(&mut self, members: usize, longest: Option<usize>) -> Option<usize> {
        self.maker.make(&self.segment, members, longest)
    }

    /// Joins the board at `location` as member `own`; `members` holds the local ranks of all
    /// members. `made` is true on the process that made the board.
    pub fn join_board(
        &self,
        location: usize,
        members: Box<[u32]>,
        own: usize,
        made: bool,
    ) -> Board {
        Board::new(&self.segment, location, members, own, made.then(|| self.maker.left()))
    }

    fn begin_pulls(&mut self) {
        while let Some(begun) = self.pulls.begin(&self.segment) {
            let control = Control {
                kind: Kind::Pull,
                words: [begun.name, begun.length],
                extra: begun.encode(),
            };
            self.post_control(begun.from as usize, control);
        }
    }

    #[inline(never)]
    fn step_pulls(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.pulls.running() {
            let (from, advance, token) = self.pulls.step(&self.segment, index, &self.stores);
            if advance != Advance::Nothing {
                self.outgoing[from as usize].notify();
                moved = true;
            }
            match advance {
                Advance::Done => {
                    sink.pulled(token);
                    self.begin_pulls();
                }
                Advance::Waits => self.begin_pulls(),
                Advance::Nothing | Advance::Some | Advance::Over => index += 1,
            }
        }
        moved
    }

    #[inline(never)]
    fn step_pushes(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.pushes.running() {
            let (to, advance, token) = self.pushes.step(&self.segment, index, &mut self.stores);
            moved |= advance != Advance::Nothing;
            if matches!(advance, Advance::Some | Advance::Done) {
                self.outgoing[to as usize].notify();
            }
            if let Some(token) = token {
                sink.released(token);
            }
            index += usize::from(!advance.is_end());
        }
        moved
    }

    /// Handles rare events: control entries that wait for room, empty pulls, dead peers.
    #[cold]
    fn handle_rare_events(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = !self.finished.is_empty();
        for token in self.finished.drain(..) {
            sink.pulled(token);
        }
        for peer in std::mem::take(&mut self.attention) {
            let (is_flushed, some) = self.flush_pending(peer as usize);
            moved |= some;
            if !is_flushed {
                self.attention.push(peer);
            }
        }
        while let Some(rank) = self.dead.pop_front() {
            self.drop_peer(rank, sink);
            moved = true;
        }
        moved
    }

    fn drop_peer(&mut self, rank: u32, sink: &mut impl Sink) {
        self.pushes.drop_peer(rank);
        self.pulls.drop_peer(rank);
        self.begin_pulls();
        sink.lost(self.peers[rank as usize]);
    }

    /// Allocates and initializes a ring; `None` if there is no room or no memory. If `ready`, all
    /// pages for its largest message are populated, otherwise only those that most messages need.
    fn make_ring(&mut self, shape: RingShape, ready: bool) -> Option<RingPlace> {
        let inside = self.arena.take(shape.total())?;
        let offset = self.segment.layout().ring_area(self.own) + inside;
        let place = RingPlace::new(offset, shape.lines, shape.bytes, ready);
        let needed = place.payload_at() + place.provided as usize - offset;
        if !self.segment.populate(offset, needed) {
            self.arena.give(inside, shape.total());
            return None;
        }
        // SAFETY: the range was just allocated from this rank's own area, so no other process uses
        // it. This clears the flags of an earlier ring.
        unsafe { self.segment.at(offset).write_bytes(0, place.payload_at() - offset) };
        Some(place)
    }

    fn free_ring(&mut self, place: RingPlace) {
        let inside = place.offset as usize - self.segment.layout().ring_area(self.own);
        self.arena.give(inside, place.total());
    }
}
