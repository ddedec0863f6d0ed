//! Moves data: chunks out of this rank's buffer, frames out of chunks, and pending frames into the
//! buffers of others.

use towpath_base::sync::MappedWords;

use super::Strict;
use super::section::Reader;
use super::stream::{Bytes, FRAME_BYTES, Frames, Kind, StreamFrame};
use super::transfers::{Fed, PIECE_BYTES};
use towpath_transport::{Header, Sink};

/// The stream from one local rank.
pub(super) struct Incoming {
    reader: Reader<MappedWords>,
    bytes: Bytes,
    /// The first frame waits for a device; nothing is read before it has been processed.
    stalled: bool,
}

impl Incoming {
    pub(super) fn new(header: MappedWords) -> Incoming {
        Incoming { reader: Reader::new(header), bytes: Bytes::default(), stalled: false }
    }

    /// True if the sender's section is empty, and stays so while the gate is closed.
    pub(super) fn is_out(&self) -> bool {
        self.reader.is_out()
    }
}

impl Strict {
    /// Polls all headers and takes the pending chunks.
    pub(super) fn receive(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        for from in 0..self.shape.ranks {
            if self.incoming[from].stalled {
                moved |= self.deliver(from, sink);
            } else if let Some(length) = self.incoming[from].reader.full() {
                self.take(from, length);
                self.deliver(from, sink);
                moved = true;
            }
        }
        self.counts.looks += self.shape.ranks as u64;
        moved
    }

    /// Takes a chunk out of its section.
    fn take(&mut self, from: usize, length: usize) {
        let (place, incoming) = (self.division[from], &mut self.incoming[from]);
        assert!(
            length <= place.bytes as usize,
            "local rank {from} wrote a chunk of {length} bytes: the segment is damaged"
        );
        // SAFETY: the section is FULL, so its sender does not write to it until `clear`. The chunk
        // is not longer than its payload area, which the division puts inside the buffer.
        let chunk =
            unsafe { std::slice::from_raw_parts(self.buffer.add(place.offset as usize), length) };
        if !self.outgoing[from].lost {
            incoming.bytes.append(chunk);
        }
        incoming.reader.clear();
        self.outgoing[from].notify();
        self.counts.taken += 1;
        self.counts.polls += self.shape.ranks as u64;
    }

    /// Processes all complete frames. True if there was one.
    fn deliver(&mut self, from: usize, sink: &mut impl Sink) -> bool {
        let mut bytes = std::mem::take(&mut self.incoming[from].bytes);
        let (mut moved, mut stalled) = (false, false);
        while let Some((frame, payload)) = bytes.frame() {
            if !self.obey(from, &frame, payload, sink) {
                stalled = true;
                break;
            }
            moved = true;
            bytes.forget(FRAME_BYTES + frame.length);
        }
        self.incoming[from].bytes = bytes;
        self.incoming[from].stalled = stalled;
        moved
    }

    /// Processes one frame; false if it must wait for a device.
    fn obey(
        &mut self,
        from: usize,
        frame: &StreamFrame,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> bool {
        let peer = from as u32;
        match frame.kind {
            Kind::Message => {
                let header = Header { protocol: frame.protocol, words: frame.words };
                sink.arrived(self.peers[from], &header, payload.as_ptr(), payload.len());
            }
            Kind::Data => match self.pulls.take(peer, frame.words[0], payload) {
                None => return false,
                Some(done) => done.into_iter().for_each(|token| sink.pulled(token)),
            },
            Kind::End => {
                self.pulls.end(frame.words[0]).into_iter().for_each(|token| sink.pulled(token))
            }
            Kind::Release => {
                if let Some(region) = self.pushes.regions.take(frame.words[0]) {
                    sink.released(region.token);
                }
            }
            Kind::Pull => {
                let wanted = payload
                    .try_into()
                    .map(u64::from_ne_bytes)
                    .expect("a pull has eight bytes of payload");
                let [name, number] = frame.words;
                if !self.pushes.begin(peer, name, number, wanted) {
                    self.post(from, &StreamFrame::control(Kind::End, [number, 0]), |_| {});
                }
            }
        }
        true
    }

    /// Appends further pieces of regions to the streams that run low.
    pub(super) fn feed(&mut self, sink: &mut impl Sink) -> bool {
        let (mut moved, mut index) = (false, 0);
        while index < self.pushes.running() {
            let to = self.pushes.receiver(index);
            let fed = if self.outgoing[to].queue.len() < PIECE_BYTES {
                self.pushes.feed(index, &mut self.outgoing[to].queue)
            } else {
                Fed::Nothing
            };
            self.list(to);
            moved |= !matches!(fed, Fed::Nothing);
            match fed {
                Fed::All(token) => sink.released(token),
                Fed::Some | Fed::Nothing => index += 1,
            }
        }
        moved
    }

    /// Writes a chunk to each peer with pending frames.
    pub(super) fn write_all(&mut self) -> bool {
        let mut moved = false;
        for to in std::mem::take(&mut self.waiting) {
            let out = &mut self.outgoing[to as usize];
            moved |= out.write_chunk(to as usize, &self.shape, &self.mesh, &mut self.counts);
            out.listed = !out.queue.is_empty();
            if out.listed {
                self.waiting.push(to);
            }
        }
        moved
    }
}
