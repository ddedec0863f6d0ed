//! The stream in a section: frames, cut into chunks at arbitrary positions.

pub(crate) use towpath_transport::bytes::Bytes;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message of the engine.
    Message = 1,
    /// Words: name of the requested region, number of the pull. Payload: number of bytes wanted.
    Pull = 2,
    /// Word: name of the region that is released unread.
    Release = 3,
    /// Word: number of the pull. Payload: the next bytes.
    Data = 4,
    /// Word: number of the pull, whose region has ended.
    End = 5,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        [Kind::Message, Kind::Pull, Kind::Release, Kind::Data, Kind::End]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Size of a frame header in bytes.
pub(crate) const FRAME_BYTES: usize = 24;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamFrame {
    pub(crate) kind: Kind,
    pub(crate) protocol: u8,
    pub(crate) length: usize,
    pub(crate) words: [u64; 2],
}

impl StreamFrame {
    /// A frame of the wire itself, without payload.
    pub(crate) fn control(kind: Kind, words: [u64; 2]) -> StreamFrame {
        StreamFrame { kind, protocol: 0, length: 0, words }
    }

    fn encode(&self) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        (bytes[0], bytes[1]) = (self.kind as u8, self.protocol);
        bytes[4..8].copy_from_slice(&(self.length as u32).to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.words[0].to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.words[1].to_ne_bytes());
        bytes
    }

    /// # Panics
    /// If the bytes are not a valid header: the shared memory is damaged.
    fn decode(bytes: &[u8]) -> StreamFrame {
        let word =
            |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let Some(kind) = Kind::of(bytes[0]) else {
            panic!("a frame of unknown kind {}: the segment is damaged", bytes[0])
        };
        let length = u32::from_ne_bytes(bytes[4..8].try_into().expect("four bytes")) as usize;
        StreamFrame { kind, protocol: bytes[1], length, words: [word(8), word(16)] }
    }
}

/// A byte queue that contains frames.
pub(crate) trait Frames {
    /// Appends a frame whose payload `write` stores at the pointer passed to it.
    fn append_frame(&mut self, frame: &StreamFrame, write: impl FnOnce(*mut u8));

    /// Appends a frame of at most `capacity` bytes of payload; `write` returns how many it has
    /// written. Appends nothing if it returns `None`.
    fn append_some(
        &mut self,
        frame: StreamFrame,
        capacity: usize,
        write: impl FnOnce(*mut u8) -> Option<usize>,
    ) -> Option<usize>;

    /// The first frame and its payload; `None` while it is incomplete.
    fn frame(&self) -> Option<(StreamFrame, &[u8])>;
}

impl Frames for Bytes {
    fn append_frame(&mut self, frame: &StreamFrame, write: impl FnOnce(*mut u8)) {
        self.append(&frame.encode());
        let at = self.data.len();
        self.data.resize(at + frame.length, 0);
        write(self.data[at..].as_mut_ptr());
    }

    fn append_some(
        &mut self,
        mut frame: StreamFrame,
        capacity: usize,
        write: impl FnOnce(*mut u8) -> Option<usize>,
    ) -> Option<usize> {
        let before = self.data.len();
        self.append_frame(&StreamFrame { length: capacity, ..frame }, |_| {});
        let written = write(self.data[before + FRAME_BYTES..].as_mut_ptr());
        frame.length = written.unwrap_or(0);
        self.data[before..before + FRAME_BYTES].copy_from_slice(&frame.encode());
        self.data.truncate(written.map_or(before, |length| before + FRAME_BYTES + length));
        written
    }

    fn frame(&self) -> Option<(StreamFrame, &[u8])> {
        let front = self.front();
        let frame = StreamFrame::decode(front.get(..FRAME_BYTES)?);
        Some((frame, front.get(FRAME_BYTES..FRAME_BYTES + frame.length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let frames: Vec<StreamFrame> = [
            (Kind::Message, 0),
            (Kind::Data, 100),
            (Kind::End, 0),
            (Kind::Pull, 8),
            (Kind::Release, 3),
        ]
        .into_iter()
        .map(|(kind, length)| StreamFrame {
            kind,
            protocol: 9,
            length,
            words: [u64::MAX, length as u64],
        })
        .collect();
        for cut in [1, 7, 24, 32, 128, 4064] {
            let (mut out, mut into, mut seen) = (Bytes::default(), Bytes::default(), Vec::new());
            for frame in &frames {
                // SAFETY: the stream lends `frame.length` bytes.
                out.append_frame(frame, |at| unsafe { at.write_bytes(7, frame.length) });
            }
            while !out.is_empty() {
                let piece = cut.min(out.len());
                into.append(&out.front()[..piece]);
                out.forget(piece);
                while let Some((frame, payload)) = into.frame() {
                    assert!(payload.iter().all(|byte| *byte == 7));
                    seen.push(frame);
                    into.forget(FRAME_BYTES + frame.length);
                }
            }
            assert_eq!(seen, frames);
            assert!(into.is_empty());
        }
    }

    #[test]
    fn a_frame_is_as_long_as_what_was_written() {
        let mut bytes = Bytes::default();
        let frame = StreamFrame::control(Kind::Data, [5, 0]);
        assert_eq!(bytes.append_some(frame, 50, |_| None), None);
        assert!(bytes.is_empty());
        let twenty = |at: *mut u8| {
            // SAFETY: the stream lends 50 bytes.
            unsafe { at.write_bytes(1, 20) };
            Some(20)
        };
        assert_eq!(bytes.append_some(frame, 50, twenty), Some(20));
        let (read, payload) = bytes.frame().unwrap();
        assert_eq!((read.length, payload), (20, &[1; 20][..]));
    }
}
