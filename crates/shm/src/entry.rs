//! Wire format of an entry: the 64-byte line that carries a message, a control entry or a marker.
//!
//! | offset | bytes | content |
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

/// Entry bit: the sender asks for a ring.
pub(crate) const ASK: u8 = 1;
/// Entry bit: the payload is published in parts, of which this entry is the first.
pub(crate) const PARTS: u8 = 2;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message with its payload in the line.
    Inline = 1,
    /// A message with its payload in a cell, in the staging area or in the payload bytes of the
    /// ring.
    Stored = 2,
    /// Last entry of this place. The stream continues in the place that the grant with this number
    /// names.
    Marker = 3,
    /// From the stream's receiver: the sender may continue in the described place (a ring, or the
    /// header slot).
    Grant = 4,
    /// No ring is available now.
    Refuse = 5,
    /// Asks the sender to copy a published region into a bounce buffer.
    Pull = 6,
    /// Releases a published region without pulling it.
    Release = 7,
    /// Another part of the preceding message is complete.
    Part = 8,
    /// No operation. Once it is consumed, everything before it is consumed too.
    Nothing = 9,
}

/// A control entry, by which the wires of two ranks communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control {
    pub(crate) kind: Kind,
    pub(crate) words: [u64; 2],
    pub(crate) extra: u64,
}

/// A line as read by its receiver.
///
/// Kept as the loaded words: a `Header` inside would be copied through the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLine {
    packed: u32,
    words: (u64, u64),
}

impl ReadLine {
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

/// Writes all of a line except the flag and the payload.
///
/// # Safety
/// `line` must point to a 64-byte, 64-aligned line that is writable and that no other process
/// accesses until its flag is set.
#[inline(always)]
pub(crate) unsafe fn write(line: *mut u8, kind: Kind, bits: u8, inline: usize, header: &Header) {
    let packed = kind as u32
        | u32::from(header.protocol) << 8
        | (inline as u32) << 16
        | u32::from(bits) << 24;
    // SAFETY: `line` is a writable line (this function's contract) of 64 bytes, 64-aligned, so
    // offsets 4, 8 and 16 are inside it and aligned.
    unsafe {
        line.add(4).cast::<u32>().write(packed);
        // Two stores: a pair that was just built on the stack could not be store-forwarded to one
        // wide load.
        line.add(8).cast::<u64>().write(header.words[0]);
        line.add(16).cast::<u64>().write(header.words[1]);
    }
}

/// Writes the two words after the header: offset and length of a stored payload.
///
/// # Safety
/// Same as for [`write`].
#[inline(always)]
pub(crate) unsafe fn write_stored(line: *mut u8, offset: usize, length: usize) {
    // SAFETY: `line` is a writable line (this function's contract); the 16 bytes at `INLINE_AT` are
    // inside it and 8-aligned.
    unsafe { line.add(INLINE_AT).cast::<[u64; 2]>().write([offset as u64, length as u64]) };
}

/// Writes a control entry.
///
/// # Safety
/// Same as for [`write`].
pub(crate) unsafe fn write_control(line: *mut u8, control: &Control) {
    let header = Header { protocol: 0, words: control.words };
    // SAFETY: `line` is a writable line (this function's contract); the 8 bytes at `INLINE_AT` are
    // inside it and aligned.
    unsafe {
        write(line, control.kind, 0, 0, &header);
        line.add(INLINE_AT).cast::<u64>().write(control.extra);
    }
}

/// Reads all of a line except its payload.
///
/// # Safety
/// `line` must point to a 64-byte, 64-aligned line whose flag was read as full with acquire
/// ordering, and which has not been given back to the sender.
#[inline(always)]
pub(crate) unsafe fn read(line: *const u8) -> ReadLine {
    // SAFETY: `line` is full and not given back (this function's contract), so its sender does not
    // write it. It is 64 bytes, 64-aligned, so offsets 4, 8 and 16 are inside it and aligned.
    unsafe {
        let words = (line.add(8).cast::<u64>().read(), line.add(16).cast::<u64>().read());
        ReadLine { packed: line.add(4).cast::<u32>().read(), words }
    }
}

/// Reads offset in the segment and length of a stored payload.
///
/// # Safety
/// Same as for [`read`].
#[inline(always)]
pub(crate) unsafe fn read_stored(line: *const u8) -> (usize, usize) {
    // SAFETY: `line` is full and not given back (this function's contract); the 16 bytes at
    // `INLINE_AT` are inside it and 8-aligned.
    let [offset, length] = unsafe { line.add(INLINE_AT).cast::<[u64; 2]>().read() };
    (offset as usize, length as usize)
}

/// Reads the third word of a control entry.
///
/// # Safety
/// Same as for [`read`].
pub(crate) unsafe fn read_extra(line: *const u8) -> u64 {
    // SAFETY: `line` is full and not given back (this function's contract); the 8 bytes at
    // `INLINE_AT` are inside it and aligned.
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
        // SAFETY: `pointer` points to a local, aligned line that only this thread accesses.
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
