//! Blocking collectives that send to all hosts at once: what the root broadcasts goes out once, and
//! the network copies it.
//!
//! Data is cut into messages of a fixed length, and one that is shorter ends it; so a receiver that
//! expects less, or more, than the root sends stays in step all the same. Inside a host, and
//! towards the root of a reduction, messages go as ever. The waiting is the caller's ([`Cast`]).

use crate::buffers::{Blocks, Buffer, Element};
use crate::gather::{self, Gather};
use crate::operation::Operation;
use crate::plan::{Plan, PlanError};
use crate::run::Failure;
use crate::select::{Algorithm, Collective, Pays, Selection, Size};
use crate::{Call, broadcast, reduce};

/// Messages from one process to the first processes of all other hosts.
pub trait Cast {
    /// Longest message in bytes.
    fn longest(&self) -> usize;
    /// Sends a message of `length` bytes that `fill` writes, as soon as there is room for it. The
    /// memory is free then.
    ///
    /// # Errors
    /// What keeps the message from being sent.
    fn send(&mut self, length: usize, fill: &mut dyn FnMut(*mut u8)) -> Result<(), Failure>;
    /// Waits for the next message and shows it to `take`.
    ///
    /// # Errors
    /// [`Failure::Lost`] when its sender is gone.
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<(), Failure>;
}

/// Whether a call should go by multicast where the communicator's hosts are so reached, and it pays
/// for these lengths. All ranks come to the same answer.
pub fn is_wanted(operation: &Operation, selection: &Selection, size: usize, pays: Pays) -> bool {
    let (collective, of) = match operation {
        Operation::Barrier => (Collective::Barrier, Size::of(size, 0)),
        Operation::Bcast { data, .. } => (Collective::Bcast, Size::of(size, data.bytes())),
        Operation::Allreduce { operand, .. } => {
            let commutative = operand.reducer.is_commutative();
            (Collective::Allreduce, Size::of(size, operand.bytes()).commutative(commutative))
        }
        _ => return false,
    };
    selection.choose(collective, of.in_group(pays)) == Algorithm::Multicast
}

/// A call as its parts: messages that bring what all gave to a root, then the root's broadcast.
pub struct Parts {
    /// Who broadcasts.
    pub root: usize,
    /// What, or where it goes.
    pub data: Buffer,
    /// What comes first; `None` where the root has its data already.
    pub before: Option<Plan>,
}

/// The parts of a call that [`is_wanted`]; `bytes`, one for each rank, must live during the call.
///
/// # Errors
/// As [`Operation::plan`].
///
/// # Panics
/// When the call cannot go by multicast.
pub fn parts(operation: &Operation, call: &Call, bytes: &mut [u8]) -> Result<Parts, PlanError> {
    let (root, rank) = (0, call.team.rank);
    Ok(match operation {
        Operation::Bcast { root, data } => Parts { root: *root, data: data.clone(), before: None },
        Operation::Barrier => {
            let (element, pointer) = (Element::dense(1), bytes.as_mut_ptr());
            let receive = (rank == root).then(|| Blocks::Equal { pointer, count: 1, element: element.clone() });
            let data = Buffer { pointer, count: 1, element };
            let send = (rank != root).then(|| data.clone());
            let before = gather::gather(call, &Gather { root, send, receive })?;
            Parts { root, data, before: Some(before) }
        }
        Operation::Allreduce { operand, receive } => {
            let mut own = operand.clone();
            if rank != root && own.send.is_none() {
                own.send = Some(*receive);
            }
            let data = Buffer { pointer: *receive, count: operand.count, element: operand.element.clone() };
            Parts { root, data, before: Some(reduce::reduce(call, root, &own, *receive)?) }
        }
        _ => panic!("this call does not end with a broadcast"),
    })
}

/// The plan that passes the data on inside a host: `call` has the processes of the host, of which
/// `root` has the data.
///
/// # Errors
/// As [`Operation::plan`].
pub fn pass_on(call: &Call, root: usize, data: &Buffer) -> Result<Plan, PlanError> {
    broadcast::bcast(call, root, data)
}

/// Sends all of `data`.
///
/// # Errors
/// As [`Cast::send`].
///
/// # Safety
/// The memory of the data must live and not change during the call.
pub unsafe fn send(data: &Buffer, cast: &mut dyn Cast) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    let mut source = unsafe { data.piece().source() };
    let longest = cast.longest();
    loop {
        let length = source.length().min(longest);
        // SAFETY: the cast lends `length` bytes; promised by the caller.
        cast.send(length, &mut |into| unsafe { source.fill_all(into, length) })?;
        if length < longest {
            return Ok(());
        }
    }
}

/// Receives what the root sends. What is more than `data` has room for is dropped, and a failure.
///
/// # Errors
/// [`Failure::Truncated`], or as [`Cast::receive`].
///
/// # Safety
/// The memory of the data must live and be left alone during the call.
pub unsafe fn receive(data: &Buffer, cast: &mut dyn Cast) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    let mut target = unsafe { data.piece().target() };
    let (longest, mut truncated) = (cast.longest(), false);
    loop {
        let mut length = 0;
        cast.receive(&mut |bytes| {
            length = bytes.len();
            truncated |= length > target.length();
            // SAFETY: the bytes are a slice; promised by the caller.
            unsafe { target.drain_all(bytes.as_ptr(), bytes.len()) };
        })?;
        if length < longest {
            return if truncated { Err(Failure::Truncated) } else { Ok(()) };
        }
    }
}
