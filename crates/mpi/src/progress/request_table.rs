//! The program's requests: a table inside the worker, so that one lock protects a request and the
//! operation it names.
//!
//! A request that is complete when it is created (an eager send, MPI_PROC_NULL) needs no entry:
//! every completion function accepts the handles [`COMPLETE`] and [`COMPLETE_RECEIVE`].

use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_collective::runs::RunId;
use towpath_engine::{Engine, Mode, RequestId, Rest, Sent};
use towpath_neutral::abi::{Handle, Kind, Status};
use towpath_neutral::constants::{ANY_TAG, PROC_NULL, REQUEST_NULL};
use towpath_neutral::error::{Error, Result, fail};
use towpath_neutral::handle::{compose, decompose};
use towpath_wires::Wires;

use crate::objects::comm::Comm;
use crate::objects::elements::Elements;
use crate::objects::generalized::Generalized;
use crate::objects::persistent::Start;

/// Handle of a send that is already complete.
pub(crate) const COMPLETE: Handle = Handle(0xC000_0000 | (Kind::Request as u32) << 26 | 63 << 20 | 0xF_FFFF);
/// Handle of a receive from MPI_PROC_NULL.
pub(crate) const COMPLETE_RECEIVE: Handle = Handle(COMPLETE.0 - 1);
/// Maximum number of entries. The indices above are reserved for the handles that need no entry.
const MOST: usize = 0xF_FFF0;

/// The status of a receive from MPI_PROC_NULL (3.10).
pub(crate) const FROM_NOBODY: Status = Status { source: PROC_NULL, tag: ANY_TAG, error: 0, bytes: 0, cancelled: false };

/// The operation behind a request.
pub(crate) enum RequestWork {
    /// A send.
    Send(RequestId),
    /// A send that the engine completed at once. It can still be cancelled.
    Sent(Sent),
    /// A receive.
    Receive(RequestId),
    /// A send and a receive in one request (MPI_Isendrecv). Without a receive, the status is that
    /// of a receive from MPI_PROC_NULL.
    Both(RequestId, Option<RequestId>),
    /// A collective operation.
    Run(RunId),
    /// The messages in flight of a neighbourhood collective that runs without a plan.
    Exchange(Rest),
    /// Messages that were in flight from an attached buffer (MPI_Buffer_iflush). A message that the
    /// buffer has reclaimed counts as complete.
    Flush(Vec<RequestId>),
    /// A generalized request's operation.
    Generalized(Arc<Generalized>),
    /// Complete, with this status.
    Done(Status),
    /// A persistent request that is not started.
    Inactive,
}

impl RequestWork {
    /// Sends the elements at once if the engine can, and otherwise starts a send.
    #[inline(always)]
    pub(crate) fn send(
        elements: Elements,
        engine: &mut Engine<Wires>,
        comm: &Comm,
        to: PeerIndex,
        tag: i32,
        mode: Mode,
    ) -> RequestWork {
        let sent = match elements.contiguous() {
            _ if mode == Mode::Synchronous => None,
            Some(bytes) => bytes.try_send_now(engine, comm, to, tag),
            None => elements.try_send_packed(engine, comm, to, tag),
        };
        // Even a message that has been sent needs a request: an unmatched send can still be
        // cancelled.
        match sent {
            Some(sent) => RequestWork::Sent(sent),
            None => RequestWork::Send(elements.isend(engine, comm, to, tag, mode)),
        }
    }
}

/// State that only some requests have: how to start again, what to do at completion, memory to
/// keep.
pub(crate) struct Extra {
    /// How to start a persistent request.
    pub start: Option<Start>,
    /// Called at completion (a duplicated communicator learns its context).
    pub finish: Option<Box<dyn FnOnce() + Send>>,
    /// Memory that must live as long as the operation; freed with the request.
    #[expect(dead_code, reason = "it is only dropped")]
    pub keep: Option<Box<dyn std::any::Any + Send>>,
}

pub(super) struct Entry {
    generation: u32,
    live: bool,
    /// Communicator whose error handler is called; 0 if none.
    pub(super) comm: Handle,
    pub(super) work: RequestWork,
    pub(super) extra: Option<Box<Extra>>,
}

/// The outcome of a completed request.
pub(crate) enum Ended {
    /// A status, and the error to raise on the communicator.
    With(Status, Option<Error>),
    /// The program's query function must supply the status.
    Ask(Arc<Generalized>),
}

/// All requests of the process. Not a [`Slab`](towpath_base::slab::Slab), because an entry is
/// reserved before it is filled, a handle has room for 63 generations only, and the fast path
/// overwrites work that owns nothing without a drop check.
#[derive(Default)]
pub(crate) struct Requests {
    pub(super) entries: Vec<Entry>,
    vacant: Vec<u32>,
    /// Requests that the program freed while they were active.
    pub(super) abandoned: Vec<Handle>,
}

/// An entry reserved for a request that is about to be created.
#[must_use = "a reserved entry must be filled or given back"]
pub(crate) struct ReservedEntry(u32);

impl Requests {
    /// Adds a request for work that is not started yet, or that the caller can undo if this fails.
    pub(crate) fn add(&mut self, work: RequestWork, comm: Handle, extra: Option<Box<Extra>>) -> Result<Handle> {
        let entry = self.reserve()?;
        Ok(self.fill(entry, work, comm, extra))
    }

    /// Reserves an entry. Call this before the operation is started: an operation in flight uses
    /// the program's memory and must not be left without a request.
    #[inline]
    pub(crate) fn reserve(&mut self) -> Result<ReservedEntry> {
        match self.vacant.pop() {
            Some(index) => Ok(ReservedEntry(index)),
            None => self.grow(),
        }
    }

    /// Returns a reserved entry that is not needed.
    #[inline]
    pub(crate) fn give_back(&mut self, reserved: ReservedEntry) {
        self.vacant.push(reserved.0);
    }

    /// Creates a request in a reserved entry.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        reserved: ReservedEntry,
        work: RequestWork,
        comm: Handle,
        extra: Option<Box<Extra>>,
    ) -> Handle {
        let ReservedEntry(index) = reserved;
        let entry = &mut self.entries[index as usize];
        entry.live = true;
        entry.comm = comm;
        entry.extra = extra;
        // The work of a vacant entry owns nothing, so `forget` leaks nothing and saves the drop
        // check.
        std::mem::forget(std::mem::replace(&mut entry.work, work));
        compose(Kind::Request, entry.generation, index as usize)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<ReservedEntry> {
        if self.entries.len() == MOST {
            fail!(ERR_NO_MEM, "a million requests are active; complete some before starting more");
        }
        self.entries.push(Entry {
            generation: 0,
            live: false,
            comm: Handle(0),
            work: RequestWork::Inactive,
            extra: None,
        });
        Ok(ReservedEntry(self.entries.len() as u32 - 1))
    }

    /// The index of the entry that a handle names.
    #[inline]
    pub(super) fn index(&self, request: Handle) -> Result<usize> {
        match decompose(request, Kind::Request) {
            Some((generation, index))
                if self.entries.get(index).is_some_and(|entry| entry.live && entry.generation == generation) =>
            {
                Ok(index)
            }
            _ => no_request(request),
        }
    }

    /// Fails unless the handle names a request.
    #[inline]
    pub(crate) fn check(&self, request: Handle) -> Result<()> {
        if is_trivial(request) { Ok(()) } else { self.index(request).map(|_| ()) }
    }

    /// Frees an entry, and returns its extra state.
    pub(super) fn remove(&mut self, index: usize) -> Option<Box<Extra>> {
        let entry = &mut self.entries[index];
        entry.work = RequestWork::Inactive;
        let extra = entry.extra.take();
        self.remove_spent(index);
        extra
    }

    /// Frees an entry that owns nothing. The entry keeps its old `work` until it is reused.
    #[inline(always)]
    pub(super) fn remove_spent(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        entry.live = false;
        // Generation 63 is never used: it belongs to the handles that need no entry.
        entry.generation = if entry.generation == 62 { 0 } else { entry.generation + 1 };
        self.vacant.push(index as u32);
    }

    /// The operation of a request.
    pub(crate) fn work(&self, request: Handle) -> Result<&RequestWork> {
        Ok(&self.entries[self.index(request)?].work)
    }

    /// The operation of a request, and its communicator (0 if none).
    pub(crate) fn work_on(&self, request: Handle) -> Result<(&RequestWork, Handle)> {
        let entry = &self.entries[self.index(request)?];
        Ok((&entry.work, entry.comm))
    }

    /// Replaces the operation of a request.
    pub(crate) fn set_work(&mut self, request: Handle, work: RequestWork) -> Result<()> {
        let index = self.index(request)?;
        self.entries[index].work = work;
        Ok(())
    }

    /// The start of an inactive persistent request, and the slot for the operation that it starts.
    #[inline]
    pub(crate) fn inactive(&mut self, request: Handle) -> Result<(&mut Start, &mut RequestWork)> {
        let index = self.index(request)?;
        let Entry { work, extra, .. } = &mut self.entries[index];
        match (extra.as_mut().and_then(|extra| extra.start.as_mut()), work) {
            (Some(start), work @ RequestWork::Inactive) => Ok((start, work)),
            _ => not_inactive(),
        }
    }
}

#[cold]
#[inline(never)]
fn not_inactive<T>() -> Result<T> {
    fail!(
        ERR_REQUEST,
        "the request is active already, or not persistent; \
         wait for it before starting it again"
    )
}

#[cold]
#[inline(never)]
fn no_request<T>(request: Handle) -> Result<T> {
    fail!(
        ERR_REQUEST,
        "argument request ({}) is not a request: it was never created, or has completed and was freed",
        request
    )
}

/// True if the handle has no entry in the table: it is null or complete.
#[inline]
pub(crate) fn is_trivial(request: Handle) -> bool {
    request == REQUEST_NULL || request == COMPLETE || request == COMPLETE_RECEIVE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(requests: &mut Requests) -> Handle {
        requests.add(RequestWork::Done(Status::EMPTY), Handle(0), None).unwrap()
    }

    #[test]
    fn a_handle_is_stale_once_its_entry_is_free() {
        let mut requests = Requests::default();
        let first = made(&mut requests);
        let index = requests.index(first).unwrap();
        requests.check(first).unwrap();
        requests.remove(index);
        assert!(requests.check(first).is_err());
        let second = made(&mut requests);
        assert_eq!(requests.index(second).unwrap(), index, "the entry is used again");
        assert!(second != first && requests.check(first).is_err());
    }

    #[test]
    fn no_generation_makes_a_handle_that_needs_no_entry() {
        let mut requests = Requests::default();
        let mut seen = Vec::new();
        for _ in 0..200 {
            let handle = made(&mut requests);
            assert!(!is_trivial(handle));
            seen.push(handle);
            let index = requests.index(handle).unwrap();
            requests.remove_spent(index);
        }
        seen.sort_by_key(|handle| handle.0);
        seen.dedup();
        assert_eq!(seen.len(), 63, "generations 0 to 62");
    }

    #[test]
    fn a_reserved_entry_is_filled_or_given_back() {
        let mut requests = Requests::default();
        let (one, other) = (requests.reserve().unwrap(), requests.reserve().unwrap());
        requests.give_back(one);
        let filled = requests.fill(other, RequestWork::Inactive, Handle(7), None);
        assert!(matches!(requests.work_on(filled), Ok((RequestWork::Inactive, Handle(7)))));
        let again = made(&mut requests);
        assert_eq!(requests.index(again).unwrap(), 0, "the entry that was given back");
    }

    #[test]
    fn what_was_never_made_is_refused() {
        let mut requests = Requests::default();
        let made = made(&mut requests);
        for wrong in [Handle(0), Handle(made.0 + 1), compose(Kind::Comm, 0, 0), compose(Kind::Request, 1, 0)] {
            assert!(requests.check(wrong).is_err(), "{wrong}");
        }
        for trivial in [REQUEST_NULL, COMPLETE, COMPLETE_RECEIVE] {
            requests.check(trivial).unwrap();
        }
    }
}
