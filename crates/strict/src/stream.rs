//! What travels through a section: a stream of frames, cut into chunks wherever a chunk is full.

pub(crate) use towpath_transport::bytes::Bytes;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message of the engine.
    Message = 1,
    /// Words: name of the region that is wanted, number of the pull. Payload: wanted bytes.
    Pull = 2,
    /// Word: name of the region that is not wanted.
    Release = 3,
    /// Word: number of the pull. Payload: the next bytes.
    Data = 4,
    /// Word: number of the pull, whose region is gone.
    End = 5,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        [Kind::Message, Kind::Pull, Kind::Release, Kind::Data, Kind::End].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Bytes in front of a frame's payload.
pub(crate) const FRAME_BYTES: usize = 24;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) protocol: u8,
    pub(crate) length: usize,
    pub(crate) words: [u64; 2],
}

impl Frame {
    /// A frame between the wires, without payload.
    pub(crate) fn control(kind: Kind, words: [u64; 2]) -> Frame {
        Frame { kind, protocol: 0, length: 0, words }
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
    /// When the bytes are no head of a frame: then the shared memory is damaged.
    fn decode(bytes: &[u8]) -> Frame {
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let Some(kind) = Kind::of(bytes[0]) else {
            panic!("a frame of unknown kind {}: the segment is damaged", bytes[0])
        };
        let length = u32::from_ne_bytes(bytes[4..8].try_into().expect("four bytes")) as usize;
        Frame { kind, protocol: bytes[1], length, words: [word(8), word(16)] }
    }
}

/// Frames in bytes that wait.
pub(crate) trait Frames {
    /// Appends a frame whose payload `write` puts at the pointer that it gets.
    fn append_frame(&mut self, frame: &Frame, write: impl FnOnce(*mut u8));

    /// Appends a frame of at most `capacity` bytes of payload; `write` says how many they are.
    /// Nothing is appended when it says `None`.
    fn append_some(
        &mut self,
        frame: Frame,
        capacity: usize,
        write: impl FnOnce(*mut u8) -> Option<usize>,
    ) -> Option<usize>;

    /// The frame at the front and its payload; `None` while it is not whole.
    fn frame(&self) -> Option<(Frame, &[u8])>;
}

impl Frames for Bytes {
    fn append_frame(&mut self, frame: &Frame, write: impl FnOnce(*mut u8)) {
        self.append(&frame.encode());
        let at = self.data.len();
        self.data.resize(at + frame.length, 0);
        write(self.data[at..].as_mut_ptr());
    }

    fn append_some(
        &mut self,
        mut frame: Frame,
        capacity: usize,
        write: impl FnOnce(*mut u8) -> Option<usize>,
    ) -> Option<usize> {
        let before = self.data.len();
        self.append_frame(&Frame { length: capacity, ..frame }, |_| {});
        let written = write(self.data[before + FRAME_BYTES..].as_mut_ptr());
        frame.length = written.unwrap_or(0);
        self.data[before..before + FRAME_BYTES].copy_from_slice(&frame.encode());
        self.data.truncate(written.map_or(before, |length| before + FRAME_BYTES + length));
        written
    }

    fn frame(&self) -> Option<(Frame, &[u8])> {
        let front = self.front();
        let frame = Frame::decode(front.get(..FRAME_BYTES)?);
        Some((frame, front.get(FRAME_BYTES..FRAME_BYTES + frame.length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let frames: Vec<Frame> =
            [(Kind::Message, 0), (Kind::Data, 100), (Kind::End, 0), (Kind::Pull, 8), (Kind::Release, 3)]
                .into_iter()
                .map(|(kind, length)| Frame { kind, protocol: 9, length, words: [u64::MAX, length as u64] })
                .collect();
        for cut in [1, 7, 24, 32, 128, 4064] {
            let (mut out, mut into, mut seen) = (Bytes::default(), Bytes::default(), Vec::new());
            for frame in &frames {
                // SAFETY: the frame has room for its length.
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
        let frame = Frame::control(Kind::Data, [5, 0]);
        assert_eq!(bytes.append_some(frame, 50, |_| None), None);
        assert!(bytes.is_empty());
        let twenty = |at: *mut u8| {
            // SAFETY: fifty bytes are lent.
            unsafe { at.write_bytes(1, 20) };
            Some(20)
        };
        assert_eq!(bytes.append_some(frame, 50, twenty), Some(20));
        let (read, payload) = bytes.frame().unwrap();
        assert_eq!((read.length, payload), (20, &[1; 20][..]));
    }
}
