//! The 64-byte line in which every message, control word and switch marker travels.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | flag: written last by the sender (see `slot` and `ring` for its values) |
//! | 4 | 1 | [`Kind`] |
//! | 5 | 1 | the engine's protocol |
//! | 6 | 1 | bytes of inline payload |
//! | 7 | 1 | bits: [`ASK`], [`PARTS`] |
//! | 8 | 16 | two words (the engine's, or of the control entry) |
//! | 24 | 40 | inline payload; offset and length of a stored payload (8 bytes each); `extra` |

use towpath_transport::Header;

/// Offset of the inline payload in a line.
pub(crate) const INLINE_AT: usize = 24;

/// Bit of an entry: its sender asks for a ring.
pub(crate) const ASK: u8 = 1;
/// Bit of an entry: its payload is handed over in parts, of which this entry is the first.
pub(crate) const PARTS: u8 = 2;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message whose payload lies in the line.
    Inline = 1,
    /// A message whose payload lies in a cell, in the staging area or in the ring's payload bytes.
    Stored = 2,
    /// Last entry of this path: the stream goes on where the grant with this epoch says.
    Marker = 3,
    /// The receiver of the stream may continue in the place described (a ring, or the slot).
    Grant = 4,
    /// The ring that was asked for is not to be had now.
    Refuse = 5,
    /// Send a published region into a window.
    Pull = 6,
    /// A published region is not wanted.
    Release = 7,
    /// One more part of the message before it is there.
    Part = 8,
    /// Says only that everything before it is consumed when it is.
    Nothing = 9,
}

/// What the wires say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) kind: Kind,
    pub(crate) words: [u64; 2],
    pub(crate) extra: u64,
}

/// A line as its receiver reads it.
///
/// Kept as the words that were loaded: a header inside would be copied around through the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    packed: u32,
    words: (u64, u64),
}

impl Read {
    #[inline(always)]
    pub(crate) fn kind(&self) -> u8 {
        self.packed as u8
    }

    #[inline(always)]
    pub(crate) fn bits(&self) -> u8 {
        (self.packed >> 24) as u8
    }

    /// Bytes of inline payload.
    #[inline(always)]
    pub(crate) fn inline(&self) -> usize {
        usize::from((self.packed >> 16) as u8)
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> Header {
        Header { protocol: (self.packed >> 8) as u8, words: [self.words.0, self.words.1] }
    }
}

/// Writes everything of a line but flag and payload.
///
/// # Safety
/// `line` must be a line that the caller owns until it sets the flag.
#[inline(always)]
pub(crate) unsafe fn write(line: *mut u8, kind: Kind, bits: u8, inline: usize, header: &Header) {
    let packed = kind as u32 | u32::from(header.protocol) << 8 | (inline as u32) << 16 | u32::from(bits) << 24;
    // SAFETY: a line is 64 bytes, 64-aligned.
    unsafe {
        line.add(4).cast::<u32>().write(packed);
        // Word by word: a pair that was just put together on the stack could not be forwarded to
        // one wide load.
        line.add(8).cast::<u64>().write(header.words[0]);
        line.add(16).cast::<u64>().write(header.words[1]);
    }
}

/// Writes the two words behind the header: where a stored payload lies.
///
/// # Safety
/// As [`write`].
#[inline(always)]
pub(crate) unsafe fn write_stored(line: *mut u8, offset: usize, length: usize) {
    // SAFETY: inside the line, 8-aligned.
    unsafe { line.add(INLINE_AT).cast::<[u64; 2]>().write([offset as u64, length as u64]) };
}

/// Writes a control entry.
///
/// # Safety
/// As [`write`].
pub(crate) unsafe fn write_control(line: *mut u8, control: &Control) {
    let header = Header { protocol: 0, words: control.words };
    // SAFETY: handed through; `extra` lies inside the line, 8-aligned.
    unsafe {
        write(line, control.kind, 0, 0, &header);
        line.add(INLINE_AT).cast::<u64>().write(control.extra);
    }
}

/// Reads everything of a line but its payload.
///
/// # Safety
/// `line` must be a line whose flag the caller has read with acquire, and not yet handed back.
#[inline(always)]
pub(crate) unsafe fn read(line: *const u8) -> Read {
    // SAFETY: a line is 64 bytes, 64-aligned.
    unsafe {
        let words = (line.add(8).cast::<u64>().read(), line.add(16).cast::<u64>().read());
        Read { packed: line.add(4).cast::<u32>().read(), words }
    }
}

/// Where a stored payload lies: offset in the segment and length.
///
/// # Safety
/// As [`read`].
#[inline(always)]
pub(crate) unsafe fn read_stored(line: *const u8) -> (usize, usize) {
    // SAFETY: inside the line, 8-aligned.
    let [offset, length] = unsafe { line.add(INLINE_AT).cast::<[u64; 2]>().read() };
    (offset as usize, length as usize)
}

/// The third word of a control entry.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn read_extra(line: *const u8) -> u64 {
    // SAFETY: inside the line, 8-aligned.
    unsafe { line.add(INLINE_AT).cast::<u64>().read() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LINE;
    use towpath_transport::SHORT_BYTES;

    #[repr(C, align(64))]
    struct Line([u8; LINE]);

    #[test]
    fn a_line_gives_back_what_was_written() {
        assert_eq!(INLINE_AT + SHORT_BYTES, LINE);
        let mut line = Line([0; LINE]);
        let pointer = line.0.as_mut_ptr();
        let header = Header { protocol: 9, words: [u64::MAX, 5] };
        // SAFETY: a line of our own.
        unsafe {
            write(pointer, Kind::Stored, ASK, 40, &header);
            write_stored(pointer, 77, 88);
            let back = read(pointer);
            assert_eq!((back.kind(), back.bits(), back.inline()), (Kind::Stored as u8, ASK, 40));
            assert_eq!(back.header(), header);
            assert_eq!(read_stored(pointer), (77, 88));
            write_control(pointer, &Control { kind: Kind::Pull, words: [1, 2], extra: 3 });
            assert_eq!(read_extra(pointer), 3);
        }
    }
}
