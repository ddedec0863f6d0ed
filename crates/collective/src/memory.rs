//! Access to the memory that the steps of a plan name: as source and target of messages, to copy,
//! and to reduce.

use towpath_base::transfer::{Source, Target, across};
use towpath_datatype::device::{Device, DeviceWork, source_on, target_on};
use towpath_schedule::buffers::Piece;
use towpath_schedule::reducer::ReduceFunction;
use towpath_schedule::{HostCopies, Reducer};

/// Bytes that a copy from or to a device moves at a time.
const BOUNCE_BYTES: usize = 16 << 10;

/// The piece as the source of a send.
///
/// # Safety
/// The memory must stay valid and unchanged while the source is in use.
pub(crate) unsafe fn source(piece: &Piece) -> Source {
    match &piece.typed {
        None => Source::Bytes { pointer: piece.pointer, length: piece.count as usize },
        // SAFETY: the memory stays valid and unchanged while the source is in use (this function's
        // contract).
        Some(typed) => unsafe {
            source_on(typed.device, &typed.datatype, piece.pointer, piece.count)
        },
    }
}

/// The piece as the target of a receive.
///
/// # Safety
/// The memory must stay valid, and must not be accessed otherwise, while the target is in use.
pub(crate) unsafe fn target(piece: &Piece) -> Target {
    match &piece.typed {
        None => Target::Bytes { pointer: piece.pointer, length: piece.count as usize },
        // SAFETY: the memory stays valid and unaccessed while the target is in use (this function's
        // contract).
        Some(typed) => unsafe {
            target_on(typed.device, &typed.datatype, piece.pointer, piece.count)
        },
    }
}

/// A copy from or to the memory of a device.
pub(crate) struct PendingCopy {
    /// Dropped first: its device may still read the source.
    target: Target,
    source: Source,
    bounce: Box<[u8]>,
    /// Bytes of `bounce` that wait for the target.
    held: usize,
}

impl std::fmt::Debug for PendingCopy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "copy with room for {} more bytes", self.target.length())
    }
}

impl PendingCopy {
    /// Copies as much as the device allows. True once all data is copied.
    pub(crate) fn advance(&mut self) -> bool {
        let PendingCopy { source, target, bounce, held } = self;
        while target.length() > 0 {
            // SAFETY: the memory of both pieces is valid until the copy is done (contract of
            // `copy`). `held` is 0 at first, and later what the previous call left.
            match unsafe { across(source, target, bounce, held) } {
                None => return false,
                Some(0) => break,
                Some(_) => {}
            }
        }
        true
    }

    /// Copies all data. Calls `wait` while the device is busy.
    pub(crate) fn finish(&mut self, wait: &mut dyn FnMut()) {
        while !self.advance() {
            wait();
        }
    }
}

/// What a device works on.
#[derive(Debug)]
pub(crate) enum PendingWork {
    Copy(Box<PendingCopy>),
    Reduction(Box<dyn DeviceWork>),
}

impl PendingWork {
    /// Goes on with it. True once it is done.
    pub(crate) fn advance(&mut self) -> bool {
        match self {
            PendingWork::Copy(copy) => copy.advance(),
            PendingWork::Reduction(work) => work.has_ended(),
        }
    }
}

/// Copies the data of `from` to `to`; data that does not fit is dropped. If one of them is in the
/// memory of a device, the caller must advance the copy that is returned until it is done.
///
/// # Safety
/// The memory of both must be valid, and they must not overlap, until the copy is done.
#[inline]
pub(crate) unsafe fn copy(from: &Piece, to: &Piece) -> Option<Box<PendingCopy>> {
    // SAFETY: both pieces are valid until the copy is done, and do not overlap (this function's
    // contract).
    unsafe {
        if from.device().is_none() && to.device().is_none() {
            copy_on_host(from, to);
            return None;
        }
        let (source, target) = (source(from), target(to));
        let bounce = vec![0; BOUNCE_BYTES].into();
        Some(Box::new(PendingCopy { source, target, bounce, held: 0 }))
    }
}

/// Copies all pieces, from the first to the second one of each pair. Calls `wait` while a device is
/// busy.
///
/// # Safety
/// The memory of all must be valid, and the two of a pair must not overlap.
pub unsafe fn copy_pieces(pieces: &[(Piece, Piece)], wait: &mut dyn FnMut()) {
    for (from, to) in pieces {
        // SAFETY: both are valid during this call and do not overlap (this function's contract).
        if let Some(mut pending) = unsafe { copy(from, to) } {
            pending.finish(wait);
        }
    }
}

/// Calls `access`, which works on host copies, and copies its results back if it succeeds.
///
/// # Errors
/// Those of `access`.
///
/// # Safety
/// The buffers that were copied must be valid during this call.
pub unsafe fn on_copies<E>(
    copies: &HostCopies,
    access: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    // SAFETY: the buffers are valid during this call (this function's contract), as are their
    // copies, which are memory of their own.
    unsafe {
        copy_pieces(copies.before(), &mut std::thread::yield_now);
        access()?;
        copy_pieces(copies.after(), &mut std::thread::yield_now);
    }
    Ok(())
}

/// Copies the data of `from` to `to` in host memory; data that does not fit is dropped.
///
/// # Safety
/// The memory of both must be valid host memory, and they must not overlap.
unsafe fn copy_on_host(from: &Piece, to: &Piece) {
    let bytes = from.bytes().min(to.bytes()).max(0) as usize;
    // SAFETY: both pieces have at least `bytes` bytes, are valid and do not overlap (this
    // function's contract).
    unsafe {
        match (from.datatype(), to.datatype()) {
            (None, None) => std::ptr::copy(from.pointer.cast_const(), to.pointer, bytes),
            (None, Some(datatype)) => {
                towpath_datatype::unpack(datatype, to.pointer, to.count, 0, from.pointer, bytes);
            }
            (Some(datatype), None) => {
                towpath_datatype::pack(datatype, from.pointer, from.count, 0, to.pointer, bytes);
            }
            (Some(from_type), Some(to_type)) => {
                towpath_datatype::copy(
                    from_type,
                    from.pointer,
                    from.count,
                    to_type,
                    to.pointer,
                    to.count,
                );
            }
        }
    }
}

/// Computes `inout[i] = input[i] op inout[i]` for `count` elements.
///
/// # Safety
/// Both vectors must have `count` elements of the operation's type in host memory, and must not
/// overlap.
pub unsafe fn reduce_elements(reducer: &Reducer, input: *const u8, inout: *mut u8, count: i64) {
    match reducer.function() {
        // SAFETY: both vectors have `count` elements of the kernel's type and do not overlap (this
        // function's contract).
        ReduceFunction::Kernel(kernel) => unsafe { kernel(input, inout, count as usize) },
        ReduceFunction::Callback(callback) => callback(input, inout, count),
    }
}

/// How far a reduction has come at its beginning.
pub(crate) enum Reduced {
    Done,
    Pending(Box<dyn DeviceWork>),
    /// Its device cannot compute it.
    Refused,
}

/// Computes `inout[i] = input[i] op inout[i]` for `count` elements, or starts a device that does.
///
/// # Safety
/// Both vectors must have `count` elements of the operation's type, where a device is given in its
/// memory, and be valid and apart until the work is done.
#[inline]
pub(crate) unsafe fn reduce(
    reducer: &Reducer,
    (input, inout): (*const u8, *mut u8),
    count: i64,
    device: Option<&dyn Device>,
) -> Reduced {
    let Some(device) = device else {
        // SAFETY: both vectors have the elements, in host memory, and are apart (this function's
        // contract).
        unsafe { reduce_elements(reducer, input, inout, count) };
        return Reduced::Done;
    };
    // SAFETY: this function has the same contract.
    unsafe { start_on(device, reducer, (input, inout), count) }
        .map_or(Reduced::Refused, Reduced::Pending)
}

/// Starts a reduction on a device, if that can compute it.
///
/// # Safety
/// Both vectors must have `count` elements of the operation's type, and be valid and apart until
/// the work is done.
unsafe fn start_on(
    device: &dyn Device,
    reducer: &Reducer,
    vectors: (*const u8, *mut u8),
    count: i64,
) -> Option<Box<dyn DeviceWork>> {
    let (operation, basic) = reducer.named()?;
    // SAFETY: a reducer's operation is defined for its type. Both vectors hold the elements, and
    // are valid and apart until the work is done (this function's contract).
    unsafe { device.reduce(operation, basic, vectors, count) }
}

/// Computes `inout[i] = input[i] op inout[i]` for `count` elements in the memory of a device, and
/// waits for it. False, having done nothing, if the device cannot.
///
/// # Safety
/// Both vectors must have `count` elements of the operation's type, and must not overlap.
#[cold]
pub unsafe fn reduce_on_device(
    reducer: &Reducer,
    device: &dyn Device,
    vectors: (*const u8, *mut u8),
    count: i64,
) -> bool {
    // SAFETY: both vectors hold the elements and do not overlap (this function's contract), and the
    // work ends before this call.
    let Some(mut work) = (unsafe { start_on(device, reducer, vectors, count) }) else {
        return false;
    };
    while !work.has_ended() {
        std::thread::yield_now();
    }
    true
}
