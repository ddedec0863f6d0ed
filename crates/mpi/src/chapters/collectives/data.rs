//! The data arguments of collective calls: where the blocks of all processes are, as the program
//! describes them. They become the buffers and blocks that plans are built from.

use std::ffi::c_void;

use towpath_collective::{Blocks, Buffer};
use towpath_neutral::abi::{Handle, HandleArray, Integers};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use super::arguments::{ArgumentNames, check, counts, datatype, read};
use crate::chapters::datatypes;
use crate::objects::datatype::Type;
use crate::process::devices;

/// A block for each process that the call exchanges data with.
pub trait Data: Sized {
    /// True if all blocks have the same count.
    const EQUAL: bool;

    /// The buffer argument.
    #[doc(hidden)]
    fn pointer(&self) -> *const c_void;

    /// Accepts every datatype of no elements, if there is one for all blocks.
    #[doc(hidden)]
    fn of_elements(self) -> Self {
        self
    }

    /// Checks the arguments; there are `number` blocks.
    #[doc(hidden)]
    fn blocks(self, number: usize, names: ArgumentNames) -> Result<Blocks>;
}

/// Blocks of `count` elements each, or the one block of a process.
pub struct EqualData {
    pointer: *const c_void,
    count: i64,
    datatype: Handle,
}

impl EqualData {
    /// The arguments of the call.
    #[inline(always)]
    pub fn new(pointer: *const c_void, count: i64, datatype: Handle) -> EqualData {
        EqualData { pointer, count, datatype }
    }

    /// Checks the arguments of the one block.
    pub(super) fn buffer(&self, names: ArgumentNames) -> Result<Buffer> {
        let &EqualData { pointer, count, datatype: handle } = self;
        let kind = datatype(handle, names.datatype)?;
        check(pointer, count, kind, names)?;
        Ok(Buffer { pointer: pointer.cast_mut().cast(), count, element: kind.element_at(pointer, count) })
    }
}

impl Data for EqualData {
    const EQUAL: bool = true;

    fn pointer(&self) -> *const c_void {
        self.pointer
    }

    fn of_elements(self) -> EqualData {
        EqualData { datatype: of_elements(self.count, self.datatype), ..self }
    }

    #[inline(always)]
    fn blocks(self, number: usize, names: ArgumentNames) -> Result<Blocks> {
        let EqualData { pointer, count, datatype: handle } = self;
        let kind = datatype(handle, names.datatype)?;
        check(pointer, count, kind, names)?;
        if !count.checked_mul(number as i64).is_some_and(|all| kind.can_have(all)) {
            return too_many(count, number, names);
        }
        Ok(Blocks::Equal { pointer: pointer.cast_mut().cast(), count, element: kind.element_at(pointer, count) })
    }
}

#[cold]
fn too_many<T>(count: i64, number: usize, names: ArgumentNames) -> Result<T> {
    fail!(
        ERR_COUNT,
        "argument {} is {count}; {number} blocks of that many elements do not fit in a signed \
         64-bit address",
        names.count
    )
}

/// The datatype of `count` elements: MPI_BYTE instead of MPI_DATATYPE_NULL or an uncommitted
/// datatype if the count is zero. MPICH and Intel MPI accept these in MPI_Bcast, MPI_Alltoallw and
/// most neighbourhood calls.
fn of_elements(count: i64, handle: Handle) -> Handle {
    let unusable = || datatypes::lookup(handle, "datatype").is_ok_and(|kind| !kind.committed());
    if count == 0 && (handle == DATATYPE_NULL || unusable()) { BYTE } else { handle }
}

/// Blocks with counts and displacements.
///
/// Invariant: arrays that are not NULL have an element for each block.
pub struct VaryingData {
    pointer: *const c_void,
    counts: Integers,
    displacements: Integers,
    datatype: Handle,
}

impl VaryingData {
    /// The arguments of the call.
    ///
    /// # Safety
    /// Arrays that are not NULL must have the length that the standard requires.
    #[inline(always)]
    pub unsafe fn new(
        pointer: *const c_void,
        counts: Integers,
        displacements: Integers,
        datatype: Handle,
    ) -> VaryingData {
        VaryingData { pointer, counts, displacements, datatype }
    }
}

impl Data for VaryingData {
    const EQUAL: bool = false;

    fn pointer(&self) -> *const c_void {
        self.pointer
    }

    fn blocks(self, number: usize, names: ArgumentNames) -> Result<Blocks> {
        let pointer = self.pointer;
        let kind = datatype(self.datatype, names.datatype)?;
        // SAFETY: the arrays have an element for each block (invariant).
        let (counts, displacements) = unsafe {
            (counts(self.counts, number, names.count)?, read(self.displacements, number, names.displacements, "")?)
        };
        check(pointer, counts.iter().copied().max().unwrap_or(0), kind, names)?;
        check_sum(counts.iter().map(|&count| kind.datatype.bytes(count)), names)?;
        for (index, &count) in counts.iter().enumerate() {
            check_offset(displacements[index].checked_mul(kind.datatype.extent()), count, kind, index, names)?;
        }
        let first = (0..number).find(|&index| counts[index] > 0);
        let offset = first.map_or(0, |index| displacements[index].wrapping_mul(kind.datatype.extent()));
        let begin = pointer.wrapping_byte_offset(offset as isize);
        let element = kind.element_at(begin, i64::from(first.is_some()));
        Ok(Blocks::Varying { pointer: pointer.cast_mut().cast(), counts, displacements, element })
    }
}

/// Blocks with counts, displacements in bytes, and a datatype for each.
///
/// Invariant: arrays that are not NULL have an element for each block.
pub struct MixedData {
    pointer: *const c_void,
    counts: Integers,
    displacements: Integers,
    datatypes: HandleArray,
}

impl MixedData {
    /// The arguments of the call.
    ///
    /// # Safety
    /// Arrays that are not NULL must have the length that the standard requires.
    #[inline(always)]
    pub unsafe fn new(
        pointer: *const c_void,
        counts: Integers,
        displacements: Integers,
        datatypes: HandleArray,
    ) -> MixedData {
        MixedData { pointer, counts, displacements, datatypes }
    }
}

impl Data for MixedData {
    const EQUAL: bool = false;

    fn pointer(&self) -> *const c_void {
        self.pointer
    }

    fn blocks(self, number: usize, names: ArgumentNames) -> Result<Blocks> {
        let pointer = self.pointer;
        if self.datatypes.is_null() && number > 0 {
            let name = names.datatype;
            fail!(ERR_ARG, "the array {name}s is NULL; pass an array of {number} datatypes");
        }
        let array = self.datatypes.address() as *const c_void;
        devices::refuse(array, format_args!("{}s", names.datatype))?;
        // SAFETY: the arrays have an element for each block (invariant).
        let (counts, displacements, types) = unsafe {
            (
                counts(self.counts, number, names.count)?,
                read(self.displacements, number, names.displacements, "")?,
                self.datatypes.with_length(number as i64),
            )
        };
        // Displacements are in bytes, so NULL (MPI_BOTTOM) with absolute addresses is a valid
        // buffer.
        let address = if pointer.is_null() { std::ptr::without_provenance(usize::MAX) } else { pointer };
        let (mut elements, mut bytes) = (Vec::with_capacity(number), Vec::with_capacity(number));
        for (index, &count) in counts.iter().enumerate() {
            let handle = of_elements(count, types.get(index));
            let kind = datatype(handle, &format!("{}s[{index}]", names.datatype))?;
            check(address, count, kind, names)?;
            check_offset(Some(displacements[index]), count, kind, index, names)?;
            bytes.push(kind.datatype.bytes(count));
            elements.push(kind.element_at(pointer.wrapping_byte_offset(displacements[index] as isize), count));
        }
        check_sum(bytes.into_iter(), names)?;
        Ok(Blocks::Mixed { pointer: pointer.cast_mut().cast(), counts, displacements, elements: elements.into() })
    }
}

/// Rejects blocks whose total length does not fit in 63 bits.
fn check_sum(mut bytes: impl Iterator<Item = i64>, names: ArgumentNames) -> Result<()> {
    if bytes.try_fold(0i64, i64::checked_add).is_none() {
        fail!(ERR_COUNT, "the blocks of {}s together have more than 2^63 - 1 bytes", names.count);
    }
    Ok(())
}

/// Rejects a block whose end does not fit in a 63-bit offset from the buffer. `offset` is that of
/// its first element; `None` if it overflows. The displacement of an empty block has no meaning.
fn check_offset(offset: Option<i64>, count: i64, kind: &Type, index: usize, names: ArgumentNames) -> Result<()> {
    let (first, length) = kind.datatype.span(count);
    let end = offset.and_then(|offset| offset.checked_add(first)?.checked_add(length));
    if end.is_none() && count > 0 && kind.datatype.size() > 0 {
        let name = names.displacements;
        fail!(ERR_ARG, "element {index} of {name} leads to an address beyond 63 bits");
    }
    Ok(())
}
