//! Strict mode: the message-passing channel of the Single-Chip Cloud Computer, with its memory
//! budget, for the processes of one host.
//!
//! After Christgau and Schnor, "Awareness of MPI Virtual Process Topologies on the Single-Chip
//! Cloud Computer" (2012), and RCKMPI, which it extends. Each rank owns a buffer of a few KiB in
//! which every other rank has an exclusive write section: writes are remote, reads are local. Each
//! section carries a stream of frames (`stream`), by stop-and-wait (`section`) in chunks of up to
//! the section's size (`division`). A declared topology changes the division: the owner closes its
//! gate, waits until every section is empty, and opens the gate on a new division. The costs that
//! the chip would have had are counted (`mesh`).
//!
//! For research and regression tests; none of this is on the product's fast path.

mod division;
mod mesh;
#[cfg(all(test, loom))]
mod model;
mod movement;
mod outgoing;
mod section;
mod shape;
mod stream;
mod topology;
mod transfers;
mod wire;

pub use mesh::{CORES, Counts, distance};
pub use shape::{BUDGET_LIMIT, Settings, Unfit};

use std::collections::{BTreeMap, VecDeque};

use towpath_base::control::PAGE;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::{MappedWords, Words};

use division::Division;
use mesh::Mesh;
use movement::Incoming;
use outgoing::Outgoing;
use section::{Gate, HEADER_WORDS};
use shape::Shape;
use stream::{Bytes, Frames, Kind, StreamFrame};
use topology::Closing;
use towpath_shm::Segment;
use towpath_transport::error::Error;
use towpath_transport::{Header, NoResource, Sink};
use transfers::{StrictPulls, StrictPushes};

/// Largest copied message in bytes.
pub const COPIED_LIMIT: usize = 16 * 1024;
/// Pending bytes for one section; above this limit messages are refused.
const QUEUE_LIMIT: usize = 32 * 1024;

/// The layout of a rank's part of the segment in strict mode: a page with the gate and the
/// parameters, the table of payload areas (in pages of its own, because on the chip it is in
/// private memory), then the buffer.
#[derive(Clone, Copy)]
struct Area {
    layout: towpath_shm::layout::SegmentLayout,
    shape: Shape,
}

impl Area {
    fn gate(&self, rank: usize) -> usize {
        self.layout.ring_area(rank)
    }

    fn measures(&self, rank: usize) -> usize {
        self.gate(rank) + 4
    }

    fn table(&self, rank: usize) -> usize {
        self.gate(rank) + PAGE
    }

    fn buffer(&self, rank: usize) -> usize {
        self.table(rank) + (8 * self.shape.ranks).next_multiple_of(PAGE)
    }

    /// Size of everything in bytes.
    fn length(&self) -> usize {
        self.buffer(0) + self.shape.budget() - self.gate(0)
    }

    /// The words of a sender's header line in the buffer of `owner`.
    ///
    /// # Safety
    /// `owner` and `sender` must be local ranks of the segment. The result must not be used after
    /// the segment is unmapped.
    unsafe fn header(&self, segment: &Segment, owner: usize, sender: usize) -> MappedWords {
        // SAFETY: each sender has a line at the start of the buffer, which is in the segment and
        // aligned to pages. The result is not used after the segment is unmapped (this function's
        // contract).
        unsafe { segment.words(self.buffer(owner) + sender * self.shape.line, HEADER_WORDS) }
    }
}

/// The wire to all other processes of this host, within a memory budget. Internally, peers are
/// named by local rank; the [`Sink`] gets [`PeerIndex`].
pub struct Strict {
    /// Keeps the memory mapped that the other fields point to.
    _segment: Segment,
    own: usize,
    shape: Shape,
    mesh: Mesh,
    peers: Vec<PeerIndex>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// Peers with pending frames.
    waiting: Vec<u32>,
    gate: Gate<MappedWords>,
    table: MappedWords,
    buffer: *const u8,
    division: Division,
    closing: Option<Closing>,
    /// Neighbours and weights of each declared topology.
    declared: BTreeMap<u64, Vec<(usize, u64)>>,
    pushes: StrictPushes,
    pulls: StrictPulls,
    /// Pulls of length 0, to be reported.
    finished: Vec<u64>,
    /// Peers found dead, to be reported.
    dead: VecDeque<u32>,
    counts: Counts,
}

// SAFETY: the raw pointers point into the segment, which stays mapped as long as the wire exists,
// whichever thread uses it.
unsafe impl Send for Strict {}

impl Strict {
    /// The wire of one rank. `peers[i]` is the index of local rank i in this process.
    ///
    /// # Errors
    /// [`Error::Setting`] if the settings do not fit the ranks of this host, or if memory is short.
    ///
    /// # Panics
    /// If the number of peers is not the number of ranks of the segment.
    pub fn new(
        segment: Segment,
        peers: Vec<PeerIndex>,
        settings: &Settings,
    ) -> Result<Strict, Error> {
        let (own, ranks) = (segment.own_rank(), segment.ranks());
        assert_eq!(peers.len(), ranks, "one peer per local rank");
        let shape = Shape::new(settings, ranks)?;
        let area = Area { layout: *segment.layout(), shape };
        if !segment.populate(area.gate(own), area.length()) {
            return Err(Unfit::Memory(area.length()).into());
        }
        let mesh = Mesh::new(settings, ranks);
        let incoming = |from| {
            // SAFETY: `own` and `from` are local ranks, and the wire holds the segment while it
            // uses the words.
            Incoming::new(unsafe { area.header(&segment, own, from) })
        };
        // SAFETY: gate, table and parameters are in this rank's part of the segment at multiples of
        // 4, and the wire holds the segment while it uses the words.
        let (gate, table, measures) = unsafe {
            let table = segment.words(area.table(own), 2 * ranks);
            (segment.words(area.gate(own), 1), table, segment.words(area.measures(own), 1))
        };
        measures.store_release(0, shape.word());
        let mut strict = Strict {
            outgoing: (0..ranks)
                .map(|to| Outgoing::new(&segment, &area, to, mesh.distance(own, to)))
                .collect(),
            incoming: (0..ranks).map(incoming).collect(),
            buffer: segment.at(area.buffer(own)),
            own,
            shape,
            mesh,
            peers,
            waiting: Vec::new(),
            gate: Gate::new(gate),
            table,
            division: division::flat(&shape),
            closing: None,
            declared: BTreeMap::new(),
            pushes: StrictPushes::default(),
            pulls: StrictPulls::default(),
            finished: Vec::new(),
            dead: VecDeque::new(),
            counts: Counts::default(),
            _segment: segment,
        };
        strict.grant();
        Ok(strict)
    }

    /// What this rank has moved and polled since it started.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Payload bytes of a chunk from a local rank to this one, in the current division.
    pub fn chunk_bytes(&self, from: usize) -> usize {
        self.division[from].bytes as usize
    }

    fn send(
        &mut self,
        to: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if self.outgoing[to].lost {
            return Ok(());
        }
        if self.outgoing[to].queue.len() >= QUEUE_LIMIT {
            return Err(NoResource);
        }
        let frame = StreamFrame {
            kind: Kind::Message,
            protocol: header.protocol,
            length,
            words: header.words,
        };
        self.post(to, &frame, fill);
        Ok(())
    }

    /// Appends a frame to the stream to a local rank, and writes as much of the stream as possible
    /// into the section.
    fn post(&mut self, to: usize, frame: &StreamFrame, write: impl FnOnce(*mut u8)) {
        let out = &mut self.outgoing[to];
        if out.lost {
            return;
        }
        out.queue.append_frame(frame, write);
        out.write_chunk(to, &self.shape, &self.mesh, &mut self.counts);
        self.list(to);
    }

    /// Lists a peer with pending frames.
    fn list(&mut self, to: usize) {
        let out = &mut self.outgoing[to];
        if !out.listed && !out.queue.is_empty() {
            out.listed = true;
            self.waiting.push(to as u32);
        }
    }

    fn drop_peer(&mut self, rank: u32, sink: &mut impl Sink) {
        self.pushes.drop_peer(rank);
        self.pulls.drop_peer(rank);
        self.outgoing[rank as usize].queue = Bytes::default();
        self.outgoing[rank as usize].listed = false;
        self.waiting.retain(|peer| *peer != rank);
        sink.lost(self.peers[rank as usize]);
    }
}
