//! Reading and writing messages that are laid out by a datatype: whole, or piece by piece from any
//! packed position.
//!
//! A [`Cursor`] is a buffer, a count and a clone of the datatype, so the program may free its
//! handle while the message is under way. It holds only a position; every call turns the position
//! into loop indices again, which costs a few divisions, and runs the plan's kernels. The free
//! functions do the same without keeping a position.

use crate::across::{Placed, bounce, copy_nests};
use crate::datatype::Datatype;
use crate::plan::{MAX_LOOPS, Nest, Shape};
use crate::walk::{walk, walk_nest, walk_repeat};
use std::any::Any;
use towpath_base::transfer::{Drain, Fill, Layout, Source, Step, Target};

/// `count` elements of a type as one layout.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant)] // Boxing would cost an allocation a message.
enum Whole {
    /// A nest that includes the loop over the elements, and its offset.
    Nest(Nest, isize),
    /// The type's plan, an extent apart.
    Copies,
}

impl Whole {
    #[inline]
    fn new(datatype: &Datatype, count: usize) -> Whole {
        let plan = &datatype.body().plan;
        match &plan.shape {
            Shape::Nest(nest) if count > 0 => nest
                .repeated(count, datatype.extent() as isize, MAX_LOOPS + 1)
                .map_or(Whole::Copies, |nest| Whole::Nest(nest, plan.offset as isize)),
            _ => Whole::Copies,
        }
    }

    /// Moves packed bytes `skip..skip + limit`.
    ///
    /// # Safety
    /// As [`pack`] and [`unpack`]; the elements must hold that many bytes.
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
        // SAFETY: handed through; `limit > 0` means that the plan is not empty.
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

/// Bytes in `count` elements; negative counts are none.
#[inline]
fn total(datatype: &Datatype, count: i64) -> usize {
    datatype.bytes(count.max(0)) as usize
}

/// A position in the packed form of `count` elements at an address.
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
    /// The memory that the elements occupy must stay valid while the cursor is used, for reading if
    /// it packs, for writing if it unpacks.
    pub unsafe fn new(datatype: &Datatype, pointer: *mut u8, count: i64) -> Cursor {
        Cursor::over(Whole::new(datatype, count.max(0) as usize), datatype, pointer, count)
    }

    fn over(whole: Whole, datatype: &Datatype, pointer: *mut u8, count: i64) -> Cursor {
        Cursor { datatype: datatype.clone(), whole, user: pointer, position: 0, total: total(datatype, count) }
    }

    /// Packed bytes before the cursor.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Packed bytes in all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The nest in which all bytes lie, while none has moved.
    fn unbegun(&self) -> Option<Placed<'_>> {
        match &self.whole {
            Whole::Nest(nest, offset) if self.position == 0 => {
                Some(Placed { nest, first: self.user.wrapping_offset(*offset) })
            }
            _ => None,
        }
    }

    /// Moves the cursor; beyond the end means to the end.
    pub fn seek(&mut self, position: usize) {
        self.position = position.min(self.total);
    }
}

// SAFETY: `walk` touches only the elements' memory and the first `limit <= capacity` bytes of
// `into`.
unsafe impl Fill for Cursor {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        let limit = capacity.min(self.total - self.position);
        // SAFETY: `limit` bytes are left; the elements' memory lives (`new`), `into` is lent by the
        // caller.
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

// SAFETY: as above; what does not fit is dropped.
unsafe impl Drain for Cursor {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        let limit = length.min(self.total - self.position);
        // SAFETY: as in `fill`; an unpacking walk only reads from its packed side.
        unsafe { self.whole.walk::<false>(&self.datatype, self.user, from.cast_mut(), self.position, limit) };
        self.position += limit;
        Step::Done(length)
    }

    fn layout(&self) -> Option<Layout> {
        self.unbegun()?.layout()
    }

    unsafe fn take(&mut self, source: &mut dyn Fill) -> Option<usize> {
        let source = source.as_any()?.downcast_mut::<Cursor>()?;
        let (from, to) = (source.unbegun()?, self.unbegun()?);
        let bytes = source.total.min(self.total);
        // SAFETY: the elements of both live (`new`) and hold so many bytes.
        unsafe { copy_nests(from, to, 0, bytes) };
        (source.position, self.position) = (bytes, bytes);
        Some(bytes)
    }
}

/// Packs bytes from packed position `position` on, at most `capacity`, and answers how many.
///
/// # Safety
/// The memory of `count` elements at `pointer` must be readable, `into` writable for `capacity`
/// bytes, and they must not overlap.
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
        // SAFETY: handed through; a packing walk only reads from its user side.
        unsafe { walk::<true>(&datatype.body().plan, pointer.cast_mut(), into, position, limit) };
        return limit;
    }
    let whole = Whole::new(datatype, count.max(0) as usize);
    // SAFETY: handed through; a packing walk only reads from its user side.
    unsafe { whole.walk::<true>(datatype, pointer.cast_mut(), into, position, limit) };
    limit
}

/// Unpacks `length` bytes that belong at packed position `position`, and answers how many found
/// room.
///
/// # Safety
/// The memory of `count` elements at `pointer` must be writable, `from` readable for `length`
/// bytes, and they must not overlap.
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
        // SAFETY: handed through; an unpacking walk only reads from its packed side.
        unsafe { walk::<false>(&datatype.body().plan, pointer, from.cast_mut(), position, limit) };
        return limit;
    }
    let whole = Whole::new(datatype, count.max(0) as usize);
    // SAFETY: handed through; an unpacking walk only reads from its packed side.
    unsafe { whole.walk::<false>(datatype, pointer, from.cast_mut(), position, limit) };
    limit
}

/// `count` elements as one row of bytes, if they are that: the address of the data and their
/// number. Else the layout.
#[inline]
fn row(datatype: &Datatype, pointer: *mut u8, count: i64) -> Result<(*mut u8, usize), Whole> {
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

/// The bytes of a message that is sent: described directly if they lie in a row, else by a packer.
///
/// # Safety
/// The memory of the elements must stay valid for reading as long as the source is used.
#[inline]
pub unsafe fn source(datatype: &Datatype, pointer: *const u8, count: i64) -> Source {
    match row(datatype, pointer.cast_mut(), count) {
        Ok((pointer, length)) => Source::Bytes { pointer, length },
        Err(whole) => {
            let cursor = Cursor::over(whole, datatype, pointer.cast_mut(), count);
            let length = cursor.total;
            Source::Packer { fill: Box::new(cursor), length }
        }
    }
}

/// The room of a message that is received: described directly if it lies in a row, else by an
/// unpacker.
///
/// # Safety
/// The memory of the elements must stay valid for writing as long as the target is used.
#[inline]
pub unsafe fn target(datatype: &Datatype, pointer: *mut u8, count: i64) -> Target {
    match row(datatype, pointer, count) {
        Ok((pointer, length)) => Target::Bytes { pointer, length },
        Err(whole) => {
            let cursor = Cursor::over(whole, datatype, pointer, count);
            let length = cursor.total;
            Target::Unpacker { drain: Box::new(cursor), length }
        }
    }
}

/// Copies data from one layout to another in the order of the type maps, and answers how many
/// bytes: those of the shorter side.
///
/// # Safety
/// The memory of both sides must be valid, and they must not overlap.
pub unsafe fn copy(
    from_type: &Datatype,
    from: *const u8,
    from_count: i64,
    to_type: &Datatype,
    to: *mut u8,
    to_count: i64,
) -> usize {
    let bytes = total(from_type, from_count).min(total(to_type, to_count));
    // SAFETY: `bytes` bytes are on both sides, handed through.
    unsafe {
        let source = match row(from_type, from.cast_mut(), from_count) {
            Ok((row, _)) => return unpack(to_type, to, to_count, 0, row, bytes),
            Err(source) => source,
        };
        let target = match row(to_type, to, to_count) {
            Ok((row, _)) => return pack(from_type, from, from_count, 0, row, bytes),
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
