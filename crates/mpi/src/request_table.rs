//! The program's requests: a table inside the lane, so that one lock guards a request and the
//! operation it names.
//!
//! A request that is complete when it is made (an eager send, MPI_PROC_NULL) needs no entry:
//! [`COMPLETE`] and [`COMPLETE_RECEIVE`] are handles that every completion function accepts.

use std::sync::Arc;

use towpath_base::transfer::Target;
use towpath_collective::Failure;
use towpath_engine::{Completion, Mode, RequestId, Rest, Sent};

use crate::constants::*;
use crate::error::{Error, Result, fail};
use crate::face::{Handle, Kind, Status};
use crate::generalized::Generalized;
use crate::handle::{compose, decompose};
use crate::lane::State;
use crate::persistent::{Message, Start};
use crate::runs::RunId;

/// A send that is complete already.
pub(crate) const COMPLETE: Handle = Handle(0xC000_0000 | (Kind::Request as u32) << 26 | 63 << 20 | 0xF_FFFF);
/// A receive from MPI_PROC_NULL.
pub(crate) const COMPLETE_RECEIVE: Handle = Handle(COMPLETE.0 - 1);
/// Entries with these numbers are never made.
const MOST: usize = 0xF_FFF0;

/// The status of a receive from MPI_PROC_NULL (3.10).
pub(crate) const FROM_NOBODY: Status = Status { source: PROC_NULL, tag: ANY_TAG, error: 0, bytes: 0, cancelled: false };

/// What a request waits for.
pub enum Work {
    /// A message sent.
    Send(RequestId),
    /// A message that went out when it was sent.
    Sent(Sent),
    /// A message received.
    Receive(RequestId),
    /// A send and a receive in one request (MPI_Isendrecv); without the latter the status is that
    /// of a receive from MPI_PROC_NULL.
    Both(RequestId, Option<RequestId>),
    /// A collective operation.
    Run(RunId),
    /// What is under way of a neighbourhood collective.
    Exchange(Rest),
    /// Messages that were under way from an attached buffer (MPI_Buffer_iflush); what the buffer
    /// has taken back counts as complete.
    Flush(Vec<RequestId>),
    /// The program's own operation.
    Generalized(Arc<Generalized>),
    /// Complete, with this status.
    Done(Status),
    /// A persistent request that is not started.
    Inactive,
}

/// What an operation leaves to do when it is complete.
pub struct Extra {
    /// How a persistent request starts anew.
    pub start: Option<Start>,
    /// Done at completion (a duplicated communicator learns its context).
    pub finish: Option<Box<dyn FnOnce() + Send>>,
    /// Memory that must live as long as the operation, freed with the request.
    pub keep: Option<Box<dyn std::any::Any + Send>>,
}

struct Entry {
    generation: u32,
    live: bool,
    /// Communicator whose error handler decides; 0: none.
    comm: Handle,
    work: Work,
    extra: Option<Box<Extra>>,
}

/// How a completed request ended.
pub enum Ended {
    /// With a status, and the error to raise on the communicator.
    With(Status, Option<Error>),
    /// The program's query function says it.
    Ask(Arc<Generalized>),
}

/// All requests of the process.
#[derive(Default)]
pub struct Requests {
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    /// Requests that the program freed while they were active.
    abandoned: Vec<Handle>,
}

/// A place in the table, taken for a request that is about to be made.
#[must_use = "a place is filled or given back"]
pub struct Place(u32);

#[inline]
fn status_of(completion: &Completion) -> Status {
    Status {
        source: completion.source_rank as i32,
        tag: completion.tag,
        error: 0,
        bytes: completion.bytes as i64,
        cancelled: completion.cancelled,
    }
}

#[inline]
pub(crate) fn failure_of(completion: &Completion) -> Option<Error> {
    if completion.lost || completion.truncated { Some(failure(completion)) } else { None }
}

#[cold]
#[inline(never)]
fn failure(completion: &Completion) -> Error {
    if completion.lost {
        return Error::new(ERR_PROC_ABORTED, crate::world::reason_of_loss(completion.peer));
    }
    let Completion { source_rank, tag, bytes, .. } = completion;
    let longer = "is longer than the receive buffer";
    let text = format!("the message from rank {source_rank} with tag {tag} {longer}; {bytes} bytes were kept");
    Error::new(ERR_TRUNCATE, text)
}

impl Requests {
    /// Makes a request of what needs no start, or could be undone.
    pub fn add(&mut self, work: Work, comm: Handle, extra: Option<Box<Extra>>) -> Result<Handle> {
        let place = self.place()?;
        Ok(self.fill(place, work, comm, extra))
    }

    /// Takes a place for a request. Whoever starts an operation takes it before: what is under way
    /// uses the program's memory and must not be left without a request.
    #[inline]
    pub fn place(&mut self) -> Result<Place> {
        match self.vacant.pop() {
            Some(index) => Ok(Place(index)),
            None => self.grow(),
        }
    }

    /// Gives a place back that no request was made in.
    #[inline]
    pub fn give_back(&mut self, place: Place) {
        self.vacant.push(place.0);
    }

    /// Makes a request in its place.
    #[inline]
    pub fn fill(&mut self, place: Place, work: Work, comm: Handle, extra: Option<Box<Extra>>) -> Handle {
        let Place(index) = place;
        let entry = &mut self.entries[index as usize];
        entry.live = true;
        entry.comm = comm;
        entry.extra = extra;
        // A vacant entry owns nothing, so nothing is dropped here.
        std::mem::forget(std::mem::replace(&mut entry.work, work));
        compose(Kind::Request, entry.generation, index as usize)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<Place> {
        if self.entries.len() == MOST {
            fail!(ERR_NO_MEM, "a million requests are active; complete some before starting more");
        }
        self.entries.push(Entry { generation: 0, live: false, comm: Handle(0), work: Work::Inactive, extra: None });
        Ok(Place(self.entries.len() as u32 - 1))
    }

    #[inline]
    fn index(&self, request: Handle) -> Result<usize> {
        match decompose(request, Kind::Request) {
            Some((generation, index))
                if self.entries.get(index).is_some_and(|entry| entry.live && entry.generation == generation) =>
            {
                Ok(index)
            }
            _ => no_request(request),
        }
    }

    /// Fails when the handle names no request.
    #[inline]
    pub fn check(&self, request: Handle) -> Result<()> {
        if is_trivial(request) { Ok(()) } else { self.index(request).map(|_| ()) }
    }

    fn remove(&mut self, index: usize) -> Option<Box<Extra>> {
        let entry = &mut self.entries[index];
        entry.work = Work::Inactive;
        let extra = entry.extra.take();
        self.remove_spent(index);
        extra
    }

    /// Frees an entry that owns nothing. What it waited for stays in it until it is used again.
    #[inline(always)]
    fn remove_spent(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        entry.live = false;
        // One generation is never used: it is that of the handles which need no entry.
        entry.generation = if entry.generation == 62 { 0 } else { entry.generation + 1 };
        self.vacant.push(index as u32);
    }

    /// What a request waits for.
    pub fn work(&self, request: Handle) -> Result<&Work> {
        Ok(&self.entries[self.index(request)?].work)
    }

    /// What a request waits for, and the communicator that it belongs to (0: none).
    pub(crate) fn work_on(&self, request: Handle) -> Result<(&Work, Handle)> {
        let entry = &self.entries[self.index(request)?];
        Ok((&entry.work, entry.comm))
    }

    /// Changes what a request waits for.
    pub fn set_work(&mut self, request: Handle, work: Work) -> Result<()> {
        let index = self.index(request)?;
        self.entries[index].work = work;
        Ok(())
    }

    /// Takes out how a persistent request starts; `None` for others.
    pub fn take_start(&mut self, request: Handle) -> Result<Option<Start>> {
        let index = self.index(request)?;
        Ok(self.entries[index].extra.as_mut().and_then(|extra| extra.start.take()))
    }

    /// Puts back how a persistent request starts.
    pub fn put_start(&mut self, request: Handle, start: Start) -> Result<()> {
        let index = self.index(request)?;
        if let Some(extra) = &mut self.entries[index].extra {
            extra.start = Some(start);
        }
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn no_request<T>(request: Handle) -> Result<T> {
    fail!(ERR_REQUEST, "argument request ({}) is no request: it was never made, or is complete and freed", request)
}

/// Whether a request names nothing that can be waited for.
#[inline]
pub(crate) fn is_trivial(request: Handle) -> bool {
    request == REQUEST_NULL || request == COMPLETE || request == COMPLETE_RECEIVE
}

impl State {
    /// Is the request complete (or null, or inactive)?
    pub fn is_complete(&self, request: Handle) -> Result<bool> {
        if is_trivial(request) {
            return Ok(true);
        }
        Ok(match self.requests.work(request)? {
            Work::Send(id) | Work::Receive(id) => self.engine.is_complete(*id),
            Work::Both(send, receive) => {
                self.engine.is_complete(*send) && receive.is_none_or(|receive| self.engine.is_complete(receive))
            }
            Work::Run(id) => self.runs.is_complete(*id),
            Work::Exchange(rest) => rest.is_complete(&self.engine),
            Work::Flush(ids) => ids.iter().all(|id| self.engine.is_complete(*id)),
            Work::Generalized(operation) => operation.is_complete(),
            Work::Sent(_) | Work::Done(_) | Work::Inactive => true,
        })
    }

    /// Is it null or an inactive persistent request (which completion functions skip)?
    pub fn is_inactive(&self, request: Handle) -> Result<bool> {
        if is_trivial(request) {
            return Ok(request == REQUEST_NULL);
        }
        Ok(matches!(self.requests.work(request)?, Work::Inactive))
    }

    /// Ends the request if it is complete; see [`State::end`].
    #[inline]
    pub fn try_end(&mut self, request: &mut Handle) -> Result<Option<Ended>> {
        if !is_trivial(*request) {
            let index = self.requests.index(*request)?;
            let entry = &self.requests.entries[index];
            if let Some(extra) = &entry.extra
                && let Some(Start::Send(..) | Start::Receive(..)) = extra.start
                && let Some(ended) = self.try_end_again(index)
            {
                return Ok(ended);
            }
            // The usual requests, which own nothing.
            let entry = &self.requests.entries[index];
            if entry.extra.is_none() {
                match entry.work {
                    Work::Sent(_) => {
                        self.requests.remove_spent(index);
                        *request = REQUEST_NULL;
                        return Ok(Some(Ended::With(Status::EMPTY, None)));
                    }
                    Work::Receive(id) => {
                        let Some(completion) = self.engine.take(id) else { return Ok(None) };
                        let comm = entry.comm;
                        self.requests.remove_spent(index);
                        *request = REQUEST_NULL;
                        let failure = failure_of(&completion).map(|error| error.with_object(comm));
                        return Ok(Some(Ended::With(status_of(&completion), failure)));
                    }
                    _ => {}
                }
            }
            if !self.is_complete(*request)? {
                return Ok(None);
            }
        }
        self.end(request).map(Some)
    }

    /// Starts a persistent send or receive of a row of bytes, as far as that needs nothing but the
    /// engine. False when nothing happened.
    pub fn start_row(&mut self, request: Handle) -> Result<bool> {
        if is_trivial(request) {
            return Ok(false);
        }
        let index = self.requests.index(request)?;
        let entry = &mut self.requests.entries[index];
        let (Work::Inactive, Some(extra)) = (&entry.work, &entry.extra) else { return Ok(false) };
        match &extra.start {
            Some(Start::Send(Message { comm, buffer, peer: Some(peer), tag: Some(tag), row: Some(row), .. }, mode))
                if *mode != Mode::Synchronous =>
            {
                let (context, rank, pointer) = (comm.context(), comm.rank as u32, buffer.cast_const().cast());
                // SAFETY: the program keeps the buffer while the request is active.
                let sent = unsafe { self.engine.try_send_now(*peer, context, *tag, rank, pointer, *row) };
                let Some(sent) = sent else { return Ok(false) };
                entry.work = Work::Sent(sent);
            }
            Some(Start::Receive(Message { comm, buffer, peer, tag, row: Some(row), .. })) => {
                let target = Target::Bytes { pointer: buffer.cast(), length: *row };
                // SAFETY: as above.
                entry.work = Work::Receive(unsafe { self.engine.irecv(*peer, comm.context(), *tag, target) });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Ends a persistent send or receive if it is complete; the request becomes inactive. `None`
    /// for what needs more than a look: ask [`State::is_complete`].
    #[inline]
    fn try_end_again(&mut self, index: usize) -> Option<Option<Ended>> {
        let entry = &mut self.requests.entries[index];
        let (status, failure) = match entry.work {
            Work::Sent(_) => (Status::EMPTY, None),
            Work::Receive(id) => {
                let Some(completion) = self.engine.take(id) else { return Some(None) };
                (status_of(&completion), failure_of(&completion))
            }
            _ => return None,
        };
        entry.work = Work::Inactive;
        let comm = entry.comm;
        Some(Some(Ended::With(status, failure.map(|error| error.with_object(comm)))))
    }

    /// Takes the result of a complete request: a persistent one becomes inactive, any other is
    /// freed and `request` is set to MPI_REQUEST_NULL. Must only be called when
    /// [`State::is_complete`].
    pub fn end(&mut self, request: &mut Handle) -> Result<Ended> {
        if is_trivial(*request) {
            let status = if *request == COMPLETE_RECEIVE { FROM_NOBODY } else { Status::EMPTY };
            *request = REQUEST_NULL;
            return Ok(Ended::With(status, None));
        }
        let index = self.requests.index(*request)?;
        let entry = &mut self.requests.entries[index];
        let work = std::mem::replace(&mut entry.work, Work::Inactive);
        let comm = entry.comm;
        let mut extra = entry.extra.take();
        let start = extra.as_mut().and_then(|extra| extra.start.as_mut());
        let persistent = start.is_some();
        let ended = self.outcome(work, comm, start);
        if persistent {
            self.requests.entries[index].extra = extra;
            return Ok(ended);
        }
        *request = REQUEST_NULL;
        self.requests.remove(index);
        if let Some(finish) = extra.and_then(|extra| extra.finish) {
            finish();
        }
        Ok(ended)
    }

    /// What completion of a request would give, without ending it. Must only be called when
    /// [`State::is_complete`].
    pub fn peek(&mut self, request: Handle) -> Result<Ended> {
        if is_trivial(request) {
            let status = if request == COMPLETE_RECEIVE { FROM_NOBODY } else { Status::EMPTY };
            return Ok(Ended::With(status, None));
        }
        let status = match self.requests.work(request)? {
            Work::Generalized(operation) => return Ok(Ended::Ask(operation.clone())),
            Work::Receive(id) | Work::Both(_, Some(id)) => {
                self.engine.peek(*id).map_or(Status::EMPTY, |completion| status_of(&completion))
            }
            Work::Send(id) => {
                let cancelled = self.engine.peek(*id).is_some_and(|completion| completion.cancelled);
                Status { cancelled, ..Status::EMPTY }
            }
            Work::Both(_, None) => FROM_NOBODY,
            Work::Done(status) => *status,
            Work::Sent(_) | Work::Run(_) | Work::Exchange(_) | Work::Flush(_) | Work::Inactive => Status::EMPTY,
        };
        Ok(Ended::With(status, None))
    }

    fn outcome(&mut self, work: Work, comm: Handle, start: Option<&mut Start>) -> Ended {
        let (status, failure) = match work {
            Work::Receive(id) => {
                let completion = self.taken(id);
                (status_of(&completion), failure_of(&completion))
            }
            Work::Send(id) => {
                let completion = self.taken(id);
                (Status { cancelled: completion.cancelled, ..Status::EMPTY }, failure_of(&completion))
            }
            Work::Both(send, receive) => {
                let sent = failure_of(&self.taken(send));
                let received = receive.map(|receive| self.taken(receive));
                let status = received.as_ref().map_or(FROM_NOBODY, status_of);
                (status, sent.or_else(|| received.as_ref().and_then(failure_of)))
            }
            Work::Run(id) => {
                let (run, failure) = self.runs.recover(id);
                if let Some(Start::Collective(place)) = start {
                    *place = run;
                }
                (Status::EMPTY, failure)
            }
            Work::Exchange(rest) => {
                let failure = match rest.take(&mut self.engine) {
                    (false, false) => None,
                    (_, true) => Some(Failure::Lost),
                    (true, _) => Some(Failure::Truncated),
                };
                (Status::EMPTY, failure.map(crate::runs::failed))
            }
            // The buffer itself takes its sends back, with their room.
            Work::Flush(_) => (Status::EMPTY, None),
            Work::Generalized(operation) => return Ended::Ask(operation),
            Work::Done(status) => (status, None),
            Work::Sent(_) | Work::Inactive => (Status::EMPTY, None),
        };
        let failure = failure.map(|error| if comm.0 == 0 { error } else { error.with_object(comm) });
        Ended::With(status, failure)
    }

    fn taken(&mut self, id: RequestId) -> Completion {
        self.engine.take(id).expect("the engine's request is complete and is taken once")
    }

    /// MPI_Request_free: an active operation goes on and nobody hears of its end.
    pub fn abandon(&mut self, request: Handle) -> Result<()> {
        if is_trivial(request) {
            return Ok(());
        }
        let index = self.requests.index(request)?;
        match &self.requests.entries[index].work {
            Work::Inactive | Work::Sent(_) | Work::Done(_) => drop(self.requests.remove(index)),
            _ => {
                // Without its start a persistent request is freed like any other when its operation
                // ends.
                if let Some(extra) = &mut self.requests.entries[index].extra {
                    extra.start = None;
                }
                self.requests.abandoned.push(request);
            }
        }
        Ok(())
    }

    /// Frees abandoned requests that are complete; true while some are not.
    pub fn sweep_abandoned(&mut self) -> bool {
        let mut rest = std::mem::take(&mut self.requests.abandoned);
        rest.retain_mut(|request| match self.is_complete(*request) {
            Ok(true) => {
                // A failure has nobody to hear of it; MPI_Grequest_complete frees what the program
                // made.
                drop(self.end(request));
                false
            }
            Ok(false) => true,
            Err(_) => false,
        });
        self.requests.abandoned.append(&mut rest);
        !self.requests.abandoned.is_empty()
    }
}
