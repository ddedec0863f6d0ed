//! Blocking collectives with multicast to all hosts: the root sends broadcast data once, and the
//! network replicates it.
//!
//! Data is cut into messages of a fixed length, and a shorter message ends it, so a receiver that
//! expects less or more than the root sends stays in step. Messages within a host, and towards the
//! root of a reduction, are ordinary ones. The caller does the waiting ([`Cast`]).

use towpath_base::copy;
use towpath_base::transfer::{MemorySpace, Step};
use towpath_schedule::gather::{self, Gather};
use towpath_schedule::select::{Algorithm, Collective, Size};
use towpath_schedule::{
    Blocks, Buffer, Call, Element, Operation, Pays, Plan, PlanError, Selection, broadcast, reduce,
};

use crate::failure::Failure;
use crate::memory;

/// Multicast messages from one process to the first process of every other host.
pub trait Cast {
    /// Maximum message length in bytes.
    fn longest(&self) -> usize;
    /// Sends a message of `length` bytes, written by `fill`, once there is room for it. The source
    /// of `fill` may be reused on return. `fill` is called with a lock held, so it must not wait.
    ///
    /// # Errors
    /// The reason why the message cannot be sent.
    fn send(&mut self, length: usize, fill: &mut dyn FnMut(*mut u8)) -> Result<(), Failure>;
    /// Waits for the next message and passes it to `take`, which is called with a lock held, so it
    /// must not wait.
    ///
    /// # Errors
    /// [`Failure::Lost`] if its sender is lost.
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<(), Failure>;
    /// Makes one round of progress, while a device is busy with the data.
    fn progress(&mut self);
}

/// Message lengths for which a group can pay off, before anything is known about its frames. Up to
/// the first, messages are faster, because they need no answer. Beyond the second, the copies that
/// receivers make cost more than the sender saves.
pub const MAY_PAY: Pays = Pays(4 << 10, 256 << 10);
/// Multicast is used only if it is forced.
pub const NEVER: Pays = Pays(0, 0);
/// Data that fits into this many frames is sent as messages: they need no answer, so that many can
/// be in flight at a time.
const FEW_FRAMES: i64 = 5;
/// With more frames than this, sent one by one, connections are faster if they carry large
/// messages, because the kernel segments 64 KiB at a time.
const STREAM_FRAMES: i64 = 12;

/// Lengths for which a group pays off if its frames carry `chunk` bytes. `competes` is true if they
/// are sent by a carrier that sends frames one by one, and large messages go over connections.
pub fn pays(chunk: u16, competes: bool) -> Pays {
    let most = if competes { STREAM_FRAMES * i64::from(chunk) } else { i64::MAX };
    Pays(MAY_PAY.0.max(FEW_FRAMES * i64::from(chunk)), MAY_PAY.1.min(most))
}

/// True if a call should use multicast, given that multicast reaches the communicator's hosts and
/// is worthwhile for the lengths in `pays`. All ranks get the same answer.
pub fn is_wanted(operation: &Operation, selection: &Selection, size: usize, pays: Pays) -> bool {
    let (collective, of) = match operation {
        Operation::Barrier => (Collective::Barrier, Size::of(size, 0)),
        Operation::Bcast { data, .. } => (Collective::Bcast, Size::of(size, data.bytes())),
        Operation::Allreduce { operand, .. } => {
            (Collective::Allreduce, Size::of(size, operand.bytes()))
        }
        _ => return false,
    };
    selection.choose(collective, of.in_group(pays)) == Algorithm::Multicast
}

/// The parts of a call: messages that collect all contributions at a root, then the root's
/// broadcast.
pub struct MulticastParts {
    /// The rank that broadcasts.
    pub root: usize,
    /// The data, or its destination.
    pub data: Buffer,
    /// The messages before the broadcast; `None` if the root already has the data.
    pub before: Option<Plan>,
}

/// Builds the parts of a call for which [`is_wanted`] is true; `bytes`, one per rank, must stay
/// valid during the call.
///
/// # Errors
/// Same as for [`Operation::plan`].
///
/// # Panics
/// If the call cannot use multicast.
pub fn parts(
    operation: &Operation,
    call: &Call,
    bytes: &mut [u8],
) -> Result<MulticastParts, PlanError> {
    let (root, rank) = (0, call.team.rank);
    Ok(match operation {
        Operation::Bcast { root, data } => {
            MulticastParts { root: *root, data: data.clone(), before: None }
        }
        Operation::Barrier => {
            let (element, pointer) = (Element::dense(1), bytes.as_mut_ptr());
            let receive = (rank == root).then(|| Blocks::Equal {
                pointer,
                count: 1,
                element: element.clone(),
            });
            let data = Buffer { pointer, count: 1, element };
            let send = (rank != root).then(|| data.clone());
            let before = gather::gather(call, &Gather { root, send, receive })?;
            MulticastParts { root, data, before: Some(before) }
        }
        Operation::Allreduce { operand, receive } => {
            let mut own = operand.clone();
            if rank != root && own.send.is_none() {
                own.send = Some(*receive);
            }
            let data = Buffer {
                pointer: *receive,
                count: operand.count,
                element: operand.element.clone(),
            };
            MulticastParts { root, data, before: Some(reduce::reduce(call, root, &own, *receive)?) }
        }
        _ => panic!("this call does not end with a broadcast"),
    })
}

/// Builds the plan that forwards the data within a host: `call` has the processes of the host, of
/// which `root` has the data.
///
/// # Errors
/// Same as for [`Operation::plan`].
pub fn pass_on(call: &Call, root: usize, data: &Buffer) -> Result<Plan, PlanError> {
    broadcast::bcast(call, root, data)
}

/// Sends all of `data`.
///
/// # Errors
/// Same as for [`Cast::send`].
///
/// # Safety
/// The memory of the data must stay valid and unchanged during the call.
pub unsafe fn send(data: &Buffer, cast: &mut dyn Cast) -> Result<(), Failure> {
    // SAFETY: the memory stays valid and unchanged during the call (this function's contract).
    let mut source = unsafe { memory::source(&data.piece()) };
    let longest = cast.longest();
    let mut staged = vec![0; if source.space() == MemorySpace::Device { longest } else { 0 }];
    loop {
        let length = source.length().min(longest);
        if !staged.is_empty() {
            let (into, mut wait) = (staged.as_mut_ptr(), || cast.progress());
            // SAFETY: `staged` has `longest` bytes, and the memory behind `source` is valid (this
            // function's contract).
            unsafe { source.fill_all(into, length, &mut wait) };
        }
        cast.send(length, &mut |into| {
            // SAFETY: `into` is writable for `length` bytes (contract of `Cast::send`). The memory
            // behind `source` is valid (this function's contract).
            unsafe {
                match staged.is_empty() {
                    false => copy::contiguous(staged.as_ptr(), into, length),
                    true => source.fill_at_once(into, length),
                }
            }
        })?;
        if length < longest {
            return Ok(());
        }
    }
}

/// Receives what the root sends. Data that does not fit `data` is dropped, and the call fails.
///
/// # Errors
/// [`Failure::Truncated`], and the errors of [`Cast::receive`].
///
/// # Safety
/// The memory of the data must stay valid, and must not be accessed otherwise, during the call.
pub unsafe fn receive(data: &Buffer, cast: &mut dyn Cast) -> Result<(), Failure> {
    // SAFETY: the memory stays valid and unaccessed during the call (this function's contract).
    let mut target = unsafe { memory::target(&data.piece()) };
    let (longest, mut truncated) = (cast.longest(), false);
    let mut kept = Vec::new();
    loop {
        let mut length = 0;
        cast.receive(&mut |bytes| {
            length = bytes.len();
            truncated |= length > target.length();
            // SAFETY: `bytes` is a slice, and the memory behind `target` is valid (this function's
            // contract).
            if unsafe { target.drain(bytes.as_ptr(), length) } == Step::Pending {
                kept = bytes.to_vec();
            }
        })?;
        if !kept.is_empty() {
            let mut wait = || cast.progress();
            // SAFETY: `kept` is a vector, and the memory behind `target` is valid (this function's
            // contract).
            unsafe { target.drain_all(kept.as_ptr(), kept.len(), &mut wait) };
            kept.clear();
        }
        if length < longest {
            return if truncated { Err(Failure::Truncated) } else { Ok(()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_pays_for_more_than_a_few_frames_and_not_where_connections_are_quicker() {
        for (chunk, competes, wanted) in [
            (1468, false, Pays(7_340, 262_144)),
            (1468, true, Pays(7_340, 17_616)),
            (8940, false, Pays(44_700, 262_144)),
            (500, false, Pays(4_096, 262_144)),
        ] {
            assert_eq!(pays(chunk, competes), wanted);
        }
    }
}
