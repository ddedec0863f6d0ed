//! Packs and unpacks messages laid out by a datatype: as a whole, or piece by piece from any packed
//! position.
//!
//! A [`Cursor`] consists of a buffer, a count and a clone of the datatype, so the program may free
//! its handle while the message is in flight. The only state is the position: each call converts it
//! to loop indices, which costs a few divisions, and runs the plan's kernels. The free functions do
//! the same without a stored position.

use crate::across::{Placed, bounce, copy_nests};
use crate::datatype::Datatype;
use crate::plan::{MAX_LOOPS, Nest, PlanShape};
use crate::walk::{walk, walk_nest, walk_repeat};
use std::any::Any;
use towpath_base::transfer::{Drain, Fill, Layout, Source, Step, Target};

/// The layout of `count` elements.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant)] // Boxing would cost an allocation per message.
enum Whole {
    /// A nest that includes the loop over the elements, and its offset.
    Nest(Nest, isize),
    /// Copies of the type's plan, one extent apart.
    Copies,
}

impl Whole {
    #[inline]
    fn new(datatype: &Datatype, count: usize) -> Whole {
        let plan = &datatype.body().plan;
        match &plan.shape {
            PlanShape::Nest(nest) if count > 0 => nest
                .repeated(count, datatype.extent() as isize, MAX_LOOPS + 1)
                .map_or(Whole::Copies, |nest| Whole::Nest(nest, plan.offset as isize)),
            _ => Whole::Copies,
        }
    }

    /// Moves the packed bytes `skip..skip + limit`.
    ///
    /// # Safety
    /// Same as for [`pack`] and [`unpack`]; the elements must hold `skip + limit` bytes.
    #[inline]
    unsafe fn walk<const PACK: bool>(
        &self,
        datatype: &Datatype,
        user: *mut u8,
        packed: *mut u8,
        skip: usize,
        limit: usize,
    ) {
        let plan = &datatype.body().plan;
        // SAFETY: the elements hold `skip + limit` bytes, which are valid on both sides (this
        // function's contract); `limit > 0` implies that the plan is not empty.
        unsafe {
            match self {
                _ if limit == 0 => {}
                Whole::Nest(nest, offset) => {
                    walk_nest::<PACK>(nest, user.wrapping_offset(*offset), packed, skip, limit);
                }
                Whole::Copies if skip + limit <= plan.size => walk::<PACK>(plan, user, packed, skip, limit),
                Whole::Copies => {
                    walk_repeat::<PACK>(plan, datatype.extent() as isize, user, packed, skip, limit);
                }
            }
        }
    }
}

/// Size of `count` elements in packed bytes; 0 for negative counts.
#[inline]
fn total(datatype: &Datatype, count: i64) -> usize {
    datatype.bytes(count.max(0)) as usize
}

/// A position in the packed form of `count` elements in a buffer.
pub struct Cursor {
    datatype: Datatype,
    whole: Whole,
    user: *mut u8,
    position: usize,
    total: usize,
}

impl Cursor {
    /// A cursor at the first byte of `count` elements of `datatype` in the buffer at `pointer`.
    ///
    /// # Safety
    /// The memory of the elements must be valid for as long as the cursor is used: for reads if it
    /// packs, for writes if it unpacks.
    pub unsafe fn new(datatype: &Datatype, pointer: *mut u8, count: i64) -> Cursor {
        Cursor::over(Whole::new(datatype, count.max(0) as usize), datatype, pointer, count)
    }

    fn over(whole: Whole, datatype: &Datatype, pointer: *mut u8, count: i64) -> Cursor {
        Cursor { datatype: datatype.clone(), whole, user: pointer, position: 0, total: total(datatype, count) }
    }

    /// Position of the cursor in the packed bytes.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Total number of packed bytes.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The nest that describes all bytes, if there is one and nothing has been moved yet.
    fn unbegun(&self) -> Option<Placed<'_>> {
        match &self.whole {
            Whole::Nest(nest, offset) if self.position == 0 => {
                Some(Placed { nest, first: self.user.wrapping_offset(*offset) })
            }
            _ => None,
        }
    }

    /// Sets the position; a position beyond the end becomes the end.
    pub fn seek(&mut self, position: usize) {
        self.position = position.min(self.total);
    }
}

// SAFETY: `walk` accesses only the elements' memory and the first `limit <= capacity` bytes of
// `into`.
unsafe impl Fill for Cursor {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        let limit = capacity.min(self.total - self.position);
        // SAFETY: `limit` bytes are left; the elements' memory is readable (contract of `new`), and
        // `into` is writable for `capacity >= limit` bytes.
        unsafe { self.whole.walk::<true>(&self.datatype, self.user, into, self.position, limit) };
        self.position += limit;
        Step::Done(limit)
    }

    fn layout(&self) -> Option<Layout> {
        self.unbegun()?.layout()
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

// SAFETY: `walk` accesses only the elements' memory and the first `limit <= length` bytes of
// `from`; bytes beyond the end are dropped.
unsafe impl Drain for Cursor {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        let limit = length.min(self.total - self.position);
        // SAFETY: `limit` bytes are left; the elements' memory is writable (contract of `new`), and
        // `from` is readable for `length >= limit` bytes. An unpacking walk only reads its packed
        // side.
        unsafe { self.whole.walk::<false>(&self.datatype, self.user, from.cast_mut(), self.position, limit) };
        self.position += limit;
        Step::Done(length)
    }

    fn layout(&self) -> Option<Layout> {
        self.unbegun()?.layout()
    }

    unsafe fn take(&mut self, source: &mut dyn Fill) -> Option<Step> {
        let source = source.as_any()?.downcast_mut::<Cursor>()?;
        let (from, to) = (source.unbegun()?, self.unbegun()?);
        let bytes = source.total.min(self.total);
        // SAFETY: `bytes` is at most the total of either cursor, and the memory of both is valid
        // (contract of `new`).
        unsafe { copy_nests(from, to, 0, bytes) };
        (source.position, self.position) = (bytes, bytes);
        Some(Step::Done(bytes))
    }
}

/// Packs bytes starting at packed position `position`, at most `capacity`, and returns how many.
///
/// # Safety
/// The memory of `count` elements at `pointer` must be readable, `into` must be writable for
/// `capacity` bytes, and the two must not overlap.
pub unsafe fn pack(
    datatype: &Datatype,
    pointer: *const u8,
    count: i64,
    position: usize,
    into: *mut u8,
    capacity: usize,
) -> usize {
    let limit = capacity.min(total(datatype, count).saturating_sub(position));
    if count == 1 {
        // SAFETY: the element holds `position + limit` bytes and is readable, and `into` is
        // writable for `limit` bytes (this function's contract). A packing walk only reads its user
        // side.
        unsafe { walk::<true>(&datatype.body().plan, pointer.cast_mut(), into, position, limit) };
        return limit;
    }
    let whole = Whole::new(datatype, count.max(0) as usize);
    // SAFETY: the elements hold `position + limit` bytes and are readable, and `into` is writable
    // for `limit` bytes (this function's contract). A packing walk only reads its user side.
    unsafe { whole.walk::<true>(datatype, pointer.cast_mut(), into, position, limit) };
    limit
}

/// Unpacks `length` bytes that start at packed position `position`, and returns how many fit.
///
/// # Safety
/// The memory of `count` elements at `pointer` must be writable, `from` must be readable for
/// `length` bytes, and the two must not overlap.
pub unsafe fn unpack(
    datatype: &Datatype,
    pointer: *mut u8,
    count: i64,
    position: usize,
    from: *const u8,
    length: usize,
) -> usize {
    let limit = length.min(total(datatype, count).saturating_sub(position));
    if count == 1 {
        // SAFETY: the element holds `position + limit` bytes and is writable, and `from` is
        // readable for `limit` bytes (this function's contract). An unpacking walk only reads its
        // packed side.
        unsafe { walk::<false>(&datatype.body().plan, pointer, from.cast_mut(), position, limit) };
        return limit;
    }
    let whole = Whole::new(datatype, count.max(0) as usize);
    // SAFETY: the elements hold `position + limit` bytes and are writable, and `from` is readable
    // for `limit` bytes (this function's contract). An unpacking walk only reads its packed side.
    unsafe { whole.walk::<false>(datatype, pointer, from.cast_mut(), position, limit) };
    limit
}

/// Address and length of `count` elements if they are contiguous; otherwise their layout.
#[inline]
fn contiguous(datatype: &Datatype, pointer: *mut u8, count: i64) -> Result<(*mut u8, usize), Whole> {
    let plan = &datatype.body().plan;
    let bytes = total(datatype, count);
    if datatype.is_contiguous() || bytes == 0 || (count == 1 && plan.dense_length().is_some()) {
        return Ok((pointer.wrapping_offset(plan.offset as isize), bytes));
    }
    match Whole::new(datatype, count as usize) {
        Whole::Nest(nest, offset) if nest.is_dense() => Ok((pointer.wrapping_offset(offset), bytes)),
        whole => Err(whole),
    }
}

/// The bytes of an outgoing message: pointer and length if they are contiguous, otherwise a packer.
///
/// # Safety
/// The memory of the elements must be valid for reads for as long as the source is used.
#[inline]
pub unsafe fn source(datatype: &Datatype, pointer: *const u8, count: i64) -> Source {
    match contiguous(datatype, pointer.cast_mut(), count) {
        Ok((pointer, length)) => Source::Bytes { pointer, length },
        Err(whole) => {
            let cursor = Cursor::over(whole, datatype, pointer.cast_mut(), count);
            let length = cursor.total;
            Source::Packer { fill: Box::new(cursor), length }
        }
    }
}

/// The buffer of an incoming message: pointer and length if it is contiguous, otherwise an
/// unpacker.
///
/// # Safety
/// The memory of the elements must be valid for writes for as long as the target is used.
#[inline]
pub unsafe fn target(datatype: &Datatype, pointer: *mut u8, count: i64) -> Target {
    match contiguous(datatype, pointer, count) {
        Ok((pointer, length)) => Target::Bytes { pointer, length },
        Err(whole) => {
            let cursor = Cursor::over(whole, datatype, pointer, count);
            let length = cursor.total;
            Target::Unpacker { drain: Box::new(cursor), length }
        }
    }
}

/// Copies data from one layout to another in type-map order, and returns the number of bytes, which
/// is that of the shorter side.
///
/// # Safety
/// The memory of `from` must be readable, that of `to` writable, and the two must not overlap.
pub unsafe fn copy(
    from_type: &Datatype,
    from: *const u8,
    from_count: i64,
    to_type: &Datatype,
    to: *mut u8,
    to_count: i64,
) -> usize {
    let bytes = total(from_type, from_count).min(total(to_type, to_count));
    // SAFETY: both sides hold `bytes` bytes, are valid and do not overlap (this function's
    // contract); `bounce` provides a buffer of `piece` bytes.
    unsafe {
        let source = match contiguous(from_type, from.cast_mut(), from_count) {
            Ok((contiguous, _)) => return unpack(to_type, to, to_count, 0, contiguous, bytes),
            Err(source) => source,
        };
        let target = match contiguous(to_type, to, to_count) {
            Ok((contiguous, _)) => return pack(from_type, from, from_count, 0, contiguous, bytes),
            Err(target) => target,
        };
        if let (Whole::Nest(source, source_offset), Whole::Nest(target, target_offset)) = (&source, &target) {
            let source = Placed { nest: source, first: from.cast_mut().wrapping_offset(*source_offset) };
            let target = Placed { nest: target, first: to.wrapping_offset(*target_offset) };
            copy_nests(source, target, 0, bytes);
            return bytes;
        }
        bounce(bytes, |buffer, done, piece| {
            source.walk::<true>(from_type, from.cast_mut(), buffer, done, piece);
            target.walk::<false>(to_type, to, buffer, done, piece);
        });
        bytes
    }
}
