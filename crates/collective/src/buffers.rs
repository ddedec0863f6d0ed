//! User memory as the plans see it: elements with gaps, buffers, arrays of blocks, and the piece
//! that one step moves.
//!
//! This is the only module that calls the datatype crate. A dense type (no gaps, first byte at 0)
//! is moved as plain bytes. Invariant: before a step runs, pointers are only offset, never
//! dereferenced. Offsets wrap, so that NULL (`MPI_BOTTOM`) with absolute displacements and negative
//! extents need no special case.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use towpath_base::transfer::{Source, Target};
use towpath_datatype::Datatype;

/// One element of a buffer: its extent, the location of its data, and its datatype.
#[derive(Clone, Debug)]
pub struct Element {
    /// Bytes of data.
    pub(crate) size: i64,
    /// Distance from one element to the next in bytes; may be negative.
    pub(crate) extent: i64,
    /// Offset of the first byte of data (true lower bound).
    pub(crate) lower: i64,
    /// Offset past the last byte of data (true upper bound).
    pub(crate) upper: i64,
    /// `None` when the element is dense.
    datatype: Option<Datatype>,
}

impl Element {
    /// An element of `size` bytes without gaps.
    pub fn dense(size: i64) -> Element {
        Element { size, extent: size, lower: 0, upper: size, datatype: None }
    }

    /// An element of a datatype.
    pub fn of(datatype: &Datatype) -> Element {
        let (size, extent, lower) = (datatype.size(), datatype.extent(), datatype.true_lb());
        if datatype.is_contiguous() && lower == 0 && size == extent {
            return Element::dense(size);
        }
        Element { size, extent, lower, upper: datatype.true_ub(), datatype: Some(datatype.clone()) }
    }

    /// True if consecutive elements form contiguous bytes.
    pub(crate) fn is_dense(&self) -> bool {
        self.datatype.is_none()
    }

    /// Address of element `index` of the array at `pointer`.
    pub(crate) fn at(&self, pointer: *mut u8, index: i64) -> *mut u8 {
        pointer.wrapping_offset(index.wrapping_mul(self.extent) as isize)
    }

    /// Elements `first..first + count` of the array at `pointer`.
    pub(crate) fn piece(&self, pointer: *mut u8, first: i64, count: i64) -> Piece {
        let pointer = self.at(pointer, first);
        match &self.datatype {
            None => Piece { pointer, count: count.wrapping_mul(self.size), size: 1, datatype: None },
            Some(datatype) => Piece { pointer, count, size: self.size, datatype: Some(datatype.clone()) },
        }
    }

    /// Lowest and highest offset that `count` consecutive elements touch; `None` on overflow of 63
    /// bits.
    pub(crate) fn span(&self, count: i64) -> Option<(i64, i64)> {
        if count == 0 {
            return Some((0, 0));
        }
        let last = self.extent.checked_mul(count - 1)?;
        Some((self.lower.checked_add(last.min(0))?, self.upper.checked_add(last.max(0))?))
    }
}

/// An array of `count` elements.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// First element.
    pub pointer: *mut u8,
    /// Number of elements.
    pub count: i64,
    /// The type of the elements.
    pub element: Element,
}

impl Buffer {
    /// The whole buffer as one piece.
    pub(crate) fn piece(&self) -> Piece {
        self.element.piece(self.pointer, 0, self.count)
    }

    /// Bytes of data in the buffer.
    pub(crate) fn bytes(&self) -> i64 {
        self.count.saturating_mul(self.element.size)
    }
}

/// One block per rank, all in one buffer.
#[derive(Clone, Debug)]
pub enum Blocks {
    /// Consecutive blocks of equal count, rank 0 first.
    Equal {
        /// First block.
        pointer: *mut u8,
        /// Elements in each block.
        count: i64,
        /// The type of the elements.
        element: Element,
    },
    /// The "v" form: counts, and displacements in extents of the element.
    Varying {
        /// Address of displacement 0.
        pointer: *mut u8,
        /// Elements of each block.
        counts: Box<[i64]>,
        /// First element of each block, in extents from `pointer`.
        displacements: Box<[i64]>,
        /// The type of the elements.
        element: Element,
    },
    /// The "w" form: a type for each block, and displacements in bytes.
    Mixed {
        /// Address of displacement 0.
        pointer: *mut u8,
        /// Elements of each block.
        counts: Box<[i64]>,
        /// First element of each block, in bytes from `pointer`.
        displacements: Box<[i64]>,
        /// The type of the elements of each block.
        elements: Box<[Element]>,
    },
}

impl Blocks {
    /// True if all blocks have equal count, which all ranks then know.
    pub(crate) fn is_equal(&self) -> bool {
        matches!(self, Blocks::Equal { .. })
    }

    /// Block `index`.
    pub(crate) fn piece(&self, index: usize) -> Piece {
        match self {
            Blocks::Equal { .. } => self.pieces(index, 1),
            Blocks::Varying { pointer, counts, displacements, element } => {
                element.piece(*pointer, displacements[index], counts[index])
            }
            Blocks::Mixed { pointer, counts, displacements, elements } => {
                elements[index].piece(pointer.wrapping_offset(displacements[index] as isize), 0, counts[index])
            }
        }
    }

    /// Blocks `first..first + number` as one piece.
    ///
    /// # Panics
    /// If the blocks are not of equal count, since they are not consecutive then.
    pub(crate) fn pieces(&self, first: usize, number: usize) -> Piece {
        match self {
            Blocks::Equal { pointer, count, element } => {
                element.piece(*pointer, count.wrapping_mul(first as i64), count.wrapping_mul(number as i64))
            }
            _ => panic!("only blocks of equal count lie in a row"),
        }
    }

    /// Bytes of data in block `index`.
    pub(crate) fn bytes(&self, index: usize) -> i64 {
        match self {
            Blocks::Equal { count, element, .. } => count.saturating_mul(element.size),
            Blocks::Varying { counts, element, .. } => counts[index].saturating_mul(element.size),
            Blocks::Mixed { counts, elements, .. } => counts[index].saturating_mul(elements[index].size),
        }
    }
}

/// The data that one step moves.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) pointer: *mut u8,
    /// Number of elements; of bytes if there is no datatype.
    count: i64,
    /// Bytes in an element.
    size: i64,
    datatype: Option<Datatype>,
}

impl Piece {
    /// Contiguous bytes.
    pub(crate) fn raw(pointer: *mut u8, bytes: i64) -> Piece {
        Piece { pointer, count: bytes, size: 1, datatype: None }
    }

    /// Bytes `first..first + bytes` of the contiguous bytes at `pointer`.
    pub(crate) fn range(pointer: *mut u8, first: i64, bytes: i64) -> Piece {
        Piece::raw(pointer.wrapping_offset(first as isize), bytes)
    }

    /// Bytes of data.
    pub(crate) fn bytes(&self) -> i64 {
        self.count.wrapping_mul(self.size)
    }

    /// Address and length, if the data is contiguous bytes.
    #[inline]
    pub(crate) fn row(&self) -> Option<(*mut u8, usize)> {
        self.datatype.is_none().then_some((self.pointer, self.count as usize))
    }

    /// True if both name the same data at the same address.
    pub(crate) fn same(&self, other: &Piece) -> bool {
        let same_type = match (&self.datatype, &other.datatype) {
            (None, None) => true,
            (Some(own), Some(others)) => own.same(others),
            _ => false,
        };
        same_type && self.pointer == other.pointer && self.count == other.count
    }

    /// The piece as the source of a send.
    ///
    /// # Safety
    /// The memory must stay valid and unchanged while the source is in use.
    pub(crate) unsafe fn source(&self) -> Source {
        match &self.datatype {
            None => Source::Bytes { pointer: self.pointer, length: self.count as usize },
            // SAFETY: the memory stays valid and unchanged while the source is in use (this
            // function's contract).
            Some(datatype) => unsafe { towpath_datatype::source(datatype, self.pointer, self.count) },
        }
    }

    /// The piece as the target of a receive.
    ///
    /// # Safety
    /// The memory must stay valid, and must not be accessed otherwise, while the target is in use.
    pub(crate) unsafe fn target(&self) -> Target {
        match &self.datatype {
            None => Target::Bytes { pointer: self.pointer, length: self.count as usize },
            // SAFETY: the memory stays valid and unaccessed while the target is in use (this
            // function's contract).
            Some(datatype) => unsafe { towpath_datatype::target(datatype, self.pointer, self.count) },
        }
    }

    /// Copies the data of `from` to `to`; data that does not fit is dropped.
    ///
    /// # Safety
    /// The memory of both must be valid, and they must not overlap.
    pub(crate) unsafe fn copy(from: &Piece, to: &Piece) {
        let bytes = from.bytes().min(to.bytes()).max(0) as usize;
        // SAFETY: both pieces have at least `bytes` bytes, are valid and do not overlap (this
        // function's contract).
        unsafe {
            match (&from.datatype, &to.datatype) {
                (None, None) => std::ptr::copy(from.pointer.cast_const(), to.pointer, bytes),
                (None, Some(_)) => to.target().drain_all(from.pointer, bytes),
                (Some(_), None) => Piece::pack(from, to.pointer, bytes),
                (Some(from_type), Some(to_type)) => {
                    towpath_datatype::copy(from_type, from.pointer, from.count, to_type, to.pointer, to.count);
                }
            }
        }
    }

    /// Packs the first bytes of `from` into contiguous memory.
    ///
    /// # Safety
    /// `row` must be writable for `bytes` bytes, and the memory of `from` valid; they must not
    /// overlap.
    unsafe fn pack(from: &Piece, row: *mut u8, bytes: usize) {
        // SAFETY: `row` is writable for `bytes` bytes, and the memory of `from` is valid (this
        // function's contract).
        unsafe { from.source().fill_all(row, bytes) };
    }
}

/// Memory of a plan for intermediate results.
#[derive(Debug)]
pub(crate) struct Scratch {
    pointer: NonNull<u8>,
    layout: Layout,
}

impl Scratch {
    /// Allocates `bytes` bytes, aligned for every type and to a cache line; `None` if out of
    /// memory.
    pub(crate) fn new(bytes: i64) -> Option<Scratch> {
        let layout = Layout::from_size_align(usize::try_from(bytes).ok()?.max(1), 64).ok()?;
        // SAFETY: the layout has a size of at least one.
        let pointer = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: `pointer` was just allocated with this layout. The pattern keeps tests from
        // passing because fresh memory happens to hold the right bytes.
        #[cfg(test)]
        unsafe {
            pointer.as_ptr().write_bytes(0xA5, layout.size());
        }
        Some(Scratch { pointer, layout })
    }

    /// First byte.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: `new` allocated `pointer` with this layout.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}
