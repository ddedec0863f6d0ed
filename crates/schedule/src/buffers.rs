//! User memory as the plans see it: elements with gaps, buffers, arrays of blocks, and the piece
//! that one step moves.
//!
//! This is the only module that knows datatypes. A dense type (no gaps, first byte at 0) is moved
//! as plain bytes. Invariant: pointers are only offset, never dereferenced. Offsets wrap, so that
//! NULL (`MPI_BOTTOM`) with absolute displacements and negative extents need no special case.

use std::sync::Arc;

use towpath_datatype::Datatype;
use towpath_datatype::device::Device;

/// One element of a buffer: its size, and its datatype unless it is dense. Kept small, because
/// the arguments of a call hold several and are moved several times.
#[derive(Clone, Debug)]
pub struct Element {
    /// Bytes of data.
    pub size: i64,
    /// `None` when the element is dense.
    typed: Option<Arc<Typed>>,
}

/// How the bytes of elements that are not dense are reached.
#[derive(Debug)]
pub struct Typed {
    /// The type of the elements.
    pub datatype: Datatype,
    /// The device whose memory holds them; `None` is host memory.
    pub device: Option<&'static dyn Device>,
    /// How they are reduced, if devices may do that.
    reduction: Option<DeviceReduction>,
}

/// A reduction that devices may compute.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceReduction {
    /// An address in the memory of the device.
    pub like: usize,
    /// Where the vectors of all ranks are, if they have told each other that all are on devices.
    pub spread: Option<DeviceSpread>,
}

/// Where the vectors of all ranks are, which all ranks know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSpread {
    /// On one device.
    One,
    /// On several devices.
    Several,
}

impl Typed {
    fn new(datatype: &Datatype, device: Option<&'static dyn Device>) -> Arc<Typed> {
        Arc::new(Typed { datatype: datatype.clone(), device, reduction: None })
    }
}

impl Element {
    /// An element of `size` bytes without gaps.
    pub fn dense(size: i64) -> Element {
        Element { size, typed: None }
    }

    /// An element of a datatype.
    pub fn of(datatype: &Datatype) -> Element {
        let size = datatype.size();
        if datatype.is_contiguous() && datatype.true_lb() == 0 && size == datatype.extent() {
            return Element::dense(size);
        }
        Element { size, typed: Some(Typed::new(datatype, None)) }
    }

    /// An element of a datatype in the memory of `device`, for collectives that move data. It is
    /// not dense, so nothing accesses it but the packers of the device.
    pub fn on_device(datatype: &Datatype, device: &'static dyn Device) -> Element {
        Element { size: datatype.size(), typed: Some(Typed::new(datatype, Some(device))) }
    }

    /// An element of a basic type in the memory of `device`, which reduces vectors of them, or in
    /// host memory, where the processor does.
    pub fn reduced_on(
        datatype: &Datatype,
        device: Option<&'static dyn Device>,
        reduction: DeviceReduction,
    ) -> Element {
        let (datatype, reduction) = (datatype.clone(), Some(reduction));
        let typed = Typed { datatype, device, reduction };
        Element { size: typed.datatype.size(), typed: Some(Arc::new(typed)) }
    }

    /// Where the vectors of all ranks are, see [`DeviceReduction::spread`].
    pub(crate) fn spread(&self) -> Option<DeviceSpread> {
        self.typed.as_ref()?.reduction?.spread
    }

    /// The device that reduces vectors of the elements, and how; `None` if it is the processor.
    pub(crate) fn reducing_device(&self) -> Option<(&'static dyn Device, DeviceReduction)> {
        let typed = self.typed.as_ref()?;
        typed.device.zip(typed.reduction)
    }

    /// An element of another datatype, in the same memory.
    pub(crate) fn with(&self, datatype: &Datatype) -> Element {
        match self.typed.as_ref().and_then(|typed| typed.device) {
            Some(device) => Element::on_device(datatype, device),
            None => Element::of(datatype),
        }
    }

    /// The element of which a piece has several.
    pub(crate) fn of_piece(piece: &Piece) -> Element {
        Element { size: piece.size, typed: piece.typed.clone() }
    }

    /// The type of the element, unless it is dense.
    pub(crate) fn datatype(&self) -> Option<&Datatype> {
        self.typed.as_ref().map(|typed| &typed.datatype)
    }

    /// True if consecutive elements form contiguous bytes.
    pub fn is_dense(&self) -> bool {
        self.typed.is_none()
    }

    /// Distance from one element to the next in bytes; may be negative.
    pub fn extent(&self) -> i64 {
        self.typed.as_ref().map_or(self.size, |typed| typed.datatype.extent())
    }

    /// Offset of the first byte of data (true lower bound).
    pub fn lower(&self) -> i64 {
        self.typed.as_ref().map_or(0, |typed| typed.datatype.true_lb())
    }

    /// Offset past the last byte of data (true upper bound).
    fn upper(&self) -> i64 {
        self.typed.as_ref().map_or(self.size, |typed| typed.datatype.true_ub())
    }

    /// Address of element `index` of the array at `pointer`.
    pub fn at(&self, pointer: *mut u8, index: i64) -> *mut u8 {
        pointer.wrapping_offset(index.wrapping_mul(self.extent()) as isize)
    }

    /// Elements `first..first + count` of the array at `pointer`.
    pub fn piece(&self, pointer: *mut u8, first: i64, count: i64) -> Piece {
        let pointer = self.at(pointer, first);
        match &self.typed {
            None => Piece::raw(pointer, count.wrapping_mul(self.size)),
            Some(typed) => Piece { pointer, count, size: self.size, typed: Some(typed.clone()) },
        }
    }

    /// Lowest and highest offset that `count` consecutive elements touch; `None` on overflow of 63
    /// bits.
    pub fn span(&self, count: i64) -> Option<(i64, i64)> {
        if count == 0 {
            return Some((0, 0));
        }
        let last = self.extent().checked_mul(count - 1)?;
        Some((self.lower().checked_add(last.min(0))?, self.upper().checked_add(last.max(0))?))
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
    pub fn piece(&self) -> Piece {
        self.element.piece(self.pointer, 0, self.count)
    }

    /// Bytes of data in the buffer.
    pub fn bytes(&self) -> i64 {
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
    pub fn is_equal(&self) -> bool {
        matches!(self, Blocks::Equal { .. })
    }

    /// Block `index`.
    pub fn piece(&self, index: usize) -> Piece {
        match self {
            Blocks::Equal { .. } => self.pieces(index, 1),
            Blocks::Varying { pointer, counts, displacements, element } => {
                element.piece(*pointer, displacements[index], counts[index])
            }
            Blocks::Mixed { pointer, counts, displacements, elements } => elements[index].piece(
                pointer.wrapping_offset(displacements[index] as isize),
                0,
                counts[index],
            ),
        }
    }

    /// Blocks `first..first + number` as one piece.
    ///
    /// # Panics
    /// If the blocks are not of equal count, since they are not consecutive then.
    pub fn pieces(&self, first: usize, number: usize) -> Piece {
        match self {
            Blocks::Equal { pointer, count, element } => element.piece(
                *pointer,
                count.wrapping_mul(first as i64),
                count.wrapping_mul(number as i64),
            ),
            _ => panic!("only blocks of equal count lie in a row"),
        }
    }

    /// Block `index` as a buffer.
    ///
    /// # Panics
    /// If the blocks are not of equal count.
    pub(crate) fn block(&self, index: usize) -> Buffer {
        let Blocks::Equal { pointer, count, element } = self else {
            panic!("only blocks of equal count are asked for")
        };
        let pointer = element.at(*pointer, count.wrapping_mul(index as i64));
        Buffer { pointer, count: *count, element: element.clone() }
    }

    /// The first `number` blocks as a buffer.
    ///
    /// # Panics
    /// If the blocks are not of equal count, since they are not consecutive then.
    pub(crate) fn row(&self, number: usize) -> Buffer {
        let first = self.block(0);
        Buffer { count: first.count.wrapping_mul(number as i64), ..first }
    }

    /// Bytes of data in block `index`.
    pub fn bytes(&self, index: usize) -> i64 {
        match self {
            Blocks::Equal { count, element, .. } => count.saturating_mul(element.size),
            Blocks::Varying { counts, element, .. } => counts[index].saturating_mul(element.size),
            Blocks::Mixed { counts, elements, .. } => {
                counts[index].saturating_mul(elements[index].size)
            }
        }
    }

    /// Bytes of data in the first `number` blocks together.
    pub fn total_bytes(&self, number: usize) -> i64 {
        match self {
            Blocks::Equal { .. } => self.bytes(0).saturating_mul(number as i64),
            _ => (0..number).fold(0, |sum: i64, index| sum.saturating_add(self.bytes(index))),
        }
    }

    /// Bytes of data in the longest of the first `number` blocks.
    pub fn longest_bytes(&self, number: usize) -> i64 {
        let compared = if self.is_equal() { number.min(1) } else { number };
        (0..compared).map(|index| self.bytes(index)).max().unwrap_or(0)
    }
}

/// The data that one step moves.
#[derive(Clone, Debug)]
pub struct Piece {
    /// First element.
    pub pointer: *mut u8,
    /// Number of elements; of bytes if there is no datatype.
    pub count: i64,
    /// Bytes in an element.
    size: i64,
    /// `None` when the data is contiguous bytes in host memory.
    pub typed: Option<Arc<Typed>>,
}

impl Piece {
    /// Contiguous bytes.
    pub fn raw(pointer: *mut u8, bytes: i64) -> Piece {
        Piece { pointer, count: bytes, size: 1, typed: None }
    }

    /// Bytes `first..first + bytes` of the contiguous bytes at `pointer`.
    pub fn range(pointer: *mut u8, first: i64, bytes: i64) -> Piece {
        Piece::raw(pointer.wrapping_offset(first as isize), bytes)
    }

    /// Bytes of data.
    pub fn bytes(&self) -> i64 {
        self.count.wrapping_mul(self.size)
    }

    /// None of the data.
    pub(crate) fn none(self) -> Piece {
        Piece { count: 0, ..self }
    }

    /// Address and length, if the data is contiguous bytes.
    #[inline]
    pub fn contiguous(&self) -> Option<(*mut u8, usize)> {
        self.typed.is_none().then_some((self.pointer, self.count as usize))
    }

    /// The type of the elements, unless the data is contiguous bytes in host memory.
    pub fn datatype(&self) -> Option<&Datatype> {
        self.typed.as_ref().map(|typed| &typed.datatype)
    }

    /// The device whose memory holds the data; `None` is host memory.
    pub fn device(&self) -> Option<&'static dyn Device> {
        self.typed.as_ref().and_then(|typed| typed.device)
    }

    /// True if both name the same data at the same address.
    pub fn same(&self, other: &Piece) -> bool {
        let same_type = match (self.datatype(), other.datatype()) {
            (None, None) => true,
            (Some(own), Some(others)) => own.same(others),
            _ => false,
        };
        same_type && self.pointer == other.pointer && self.count == other.count
    }
}

/// A cache line of bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct AlignedBytes([u8; 64]);

/// Memory of a plan for intermediate results.
#[derive(Debug)]
pub struct Scratch {
    /// The elements are what the plan has written before its steps; these write the capacity too.
    memory: Vec<AlignedBytes>,
}

impl Scratch {
    /// Allocates `bytes` bytes, aligned for every type and to a cache line; `None` if out of
    /// memory.
    pub(crate) fn new(bytes: i64) -> Option<Scratch> {
        let lines = usize::try_from(bytes).ok()?.div_ceil(size_of::<AlignedBytes>()).max(1);
        let mut memory: Vec<AlignedBytes> = Vec::new();
        memory.try_reserve_exact(lines).ok()?;
        // The pattern keeps tests from passing because fresh memory happens to hold the right
        // bytes.
        #[cfg(debug_assertions)]
        memory.spare_capacity_mut().fill(std::mem::MaybeUninit::new(AlignedBytes([0xA5; 64])));
        Some(Scratch { memory })
    }

    /// Writes `bytes` from the byte `first` on. Bytes before that are 0 unless they are written.
    pub(crate) fn write(&mut self, first: usize, bytes: &[u8]) {
        let lines = (first + bytes.len()).div_ceil(size_of::<AlignedBytes>());
        assert!(lines <= self.memory.capacity(), "the memory has room for what is written");
        if lines > self.memory.len() {
            self.memory.resize(lines, AlignedBytes([0; 64]));
        }
        for (at, &byte) in (first..).zip(bytes) {
            self.memory[at / 64].0[at % 64] = byte;
        }
    }

    /// The bytes that the plan has written before its steps.
    #[cfg(test)]
    pub(crate) fn written(&self) -> impl Iterator<Item = u8> {
        self.memory.iter().flat_map(|line| line.0)
    }

    /// First byte.
    pub(crate) fn pointer(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }

    /// Bytes of the memory.
    pub fn bytes(&self) -> usize {
        self.memory.capacity() * size_of::<AlignedBytes>()
    }
}
