//! Completion of requests: whether they are complete, and their status and error.

use towpath_collective::Failure;
use towpath_engine::{Completion, RequestId};
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::{ERR_PROC_ABORTED, ERR_TRUNCATE, REQUEST_NULL};
use towpath_neutral::error::{Error, Result};

use super::request_table::{COMPLETE_RECEIVE, Ended, FROM_NOBODY, RequestWork, is_trivial};
use super::runs::failed;
use super::state::State;
use crate::objects::persistent::Start;
use crate::process;

/// The status of a completed receive.
#[inline]
pub(crate) fn status_of(completion: &Completion) -> Status {
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

/// The error of a message that was truncated or whose peer is lost.
#[cold]
#[inline(never)]
pub(crate) fn failure(completion: &Completion) -> Error {
    if completion.lost {
        return Error::new(ERR_PROC_ABORTED, process::reason_of_loss(completion.peer));
    }
    let Completion { source_rank, tag, bytes, .. } = completion;
    let longer = "is longer than the receive buffer";
    let text = format!("the message from rank {source_rank} with tag {tag} {longer}; {bytes} bytes were kept");
    Error::new(ERR_TRUNCATE, text)
}

impl State {
    /// True if the request is complete, null or inactive.
    pub(crate) fn is_complete(&self, request: Handle) -> Result<bool> {
        if is_trivial(request) {
            return Ok(true);
        }
        Ok(match self.requests.work(request)? {
            RequestWork::Send(id) | RequestWork::Receive(id) => self.engine.is_complete(*id),
            RequestWork::Both(send, receive) => {
                self.engine.is_complete(*send) && receive.is_none_or(|receive| self.engine.is_complete(receive))
            }
            RequestWork::Run(id) => self.runs.is_complete(*id),
            RequestWork::Exchange(rest) => rest.is_complete(&self.engine),
            RequestWork::Flush(ids) => ids.iter().all(|id| self.engine.is_complete(*id)),
            RequestWork::Generalized(operation) => operation.is_complete(),
            RequestWork::Sent(_) | RequestWork::Done(_) | RequestWork::Inactive => true,
        })
    }

    /// True if the handle is null or an inactive persistent request, which completion functions
    /// skip.
    pub(crate) fn is_inactive(&self, request: Handle) -> Result<bool> {
        if is_trivial(request) {
            return Ok(request == REQUEST_NULL);
        }
        Ok(matches!(self.requests.work(request)?, RequestWork::Inactive))
    }

    /// Ends the request if it is complete; see [`State::end`].
    #[inline]
    pub(crate) fn try_end(&mut self, request: &mut Handle) -> Result<Option<Ended>> {
        if !is_trivial(*request) {
            let index = self.requests.index(*request)?;
            let entry = &self.requests.entries[index];
            if let Some(extra) = &entry.extra
                && let Some(Start::Send(..) | Start::Receive(..)) = extra.start
                && let Some(ended) = self.try_end_again(index)
            {
                return Ok(ended);
            }
            // Fast path for requests that own nothing.
            let entry = &self.requests.entries[index];
            if entry.extra.is_none() {
                match entry.work {
                    RequestWork::Sent(_) => {
                        self.requests.remove_spent(index);
                        *request = REQUEST_NULL;
                        return Ok(Some(Ended::With(Status::EMPTY, None)));
                    }
                    RequestWork::Receive(id) => {
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

    /// Ends a persistent send or receive if it is complete; the request becomes inactive. Returns
    /// `None` for other operations, for which the caller must use [`State::is_complete`].
    #[inline]
    fn try_end_again(&mut self, index: usize) -> Option<Option<Ended>> {
        let entry = &mut self.requests.entries[index];
        let (status, failure) = match entry.work {
            RequestWork::Sent(_) => (Status::EMPTY, None),
            RequestWork::Receive(id) => {
                let Some(completion) = self.engine.take(id) else { return Some(None) };
                (status_of(&completion), failure_of(&completion))
            }
            _ => return None,
        };
        entry.work = RequestWork::Inactive;
        let comm = entry.comm;
        Some(Some(Ended::With(status, failure.map(|error| error.with_object(comm)))))
    }

    /// Takes the result of a complete request. A persistent request becomes inactive; any other is
    /// freed, and `request` is set to MPI_REQUEST_NULL. Must be called only if
    /// [`State::is_complete`] returns true.
    pub(crate) fn end(&mut self, request: &mut Handle) -> Result<Ended> {
        if is_trivial(*request) {
            let status = if *request == COMPLETE_RECEIVE { FROM_NOBODY } else { Status::EMPTY };
            *request = REQUEST_NULL;
            return Ok(Ended::With(status, None));
        }
        let index = self.requests.index(*request)?;
        let entry = &mut self.requests.entries[index];
        let work = std::mem::replace(&mut entry.work, RequestWork::Inactive);
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

    /// The outcome of a complete request, without ending it. Must be called only if
    /// [`State::is_complete`] returns true.
    pub(crate) fn peek(&mut self, request: Handle) -> Result<Ended> {
        if is_trivial(request) {
            let status = if request == COMPLETE_RECEIVE { FROM_NOBODY } else { Status::EMPTY };
            return Ok(Ended::With(status, None));
        }
        let status = match self.requests.work(request)? {
            RequestWork::Generalized(operation) => return Ok(Ended::Ask(operation.clone())),
            RequestWork::Receive(id) | RequestWork::Both(_, Some(id)) => {
                self.engine.peek(*id).map_or(Status::EMPTY, |completion| status_of(&completion))
            }
            RequestWork::Send(id) => {
                let cancelled = self.engine.peek(*id).is_some_and(|completion| completion.cancelled);
                Status { cancelled, ..Status::EMPTY }
            }
            RequestWork::Both(_, None) => FROM_NOBODY,
            RequestWork::Done(status) => *status,
            RequestWork::Sent(_)
            | RequestWork::Run(_)
            | RequestWork::Exchange(_)
            | RequestWork::Flush(_)
            | RequestWork::Inactive => Status::EMPTY,
        };
        Ok(Ended::With(status, None))
    }

    fn outcome(&mut self, work: RequestWork, comm: Handle, start: Option<&mut Start>) -> Ended {
        let (status, failure) = match work {
            RequestWork::Receive(id) => {
                let completion = self.taken(id);
                (status_of(&completion), failure_of(&completion))
            }
            RequestWork::Send(id) => {
                let completion = self.taken(id);
                (Status { cancelled: completion.cancelled, ..Status::EMPTY }, failure_of(&completion))
            }
            RequestWork::Both(send, receive) => {
                let sent = failure_of(&self.taken(send));
                let received = receive.map(|receive| self.taken(receive));
                let status = received.as_ref().map_or(FROM_NOBODY, status_of);
                (status, sent.or_else(|| received.as_ref().and_then(failure_of)))
            }
            RequestWork::Run(id) => {
                let (run, failure) = self.runs.recover(id);
                if let Some(Start::Collective(place)) = start {
                    *place = run;
                }
                (Status::EMPTY, failure.map(failed))
            }
            RequestWork::Exchange(rest) => {
                let failure = match rest.take(&mut self.engine) {
                    (_, Some(peer)) => Some(Failure::Lost { peer }),
                    (truncated, None) => truncated.then_some(Failure::Truncated),
                };
                (Status::EMPTY, failure.map(failed))
            }
            // The buffer itself reclaims its sends and their space.
            RequestWork::Flush(_) => (Status::EMPTY, None),
            RequestWork::Generalized(operation) => return Ended::Ask(operation),
            RequestWork::Done(status) => (status, None),
            RequestWork::Sent(_) | RequestWork::Inactive => (Status::EMPTY, None),
        };
        let failure = failure.map(|error| if comm.0 == 0 { error } else { error.with_object(comm) });
        Ended::With(status, failure)
    }

    fn taken(&mut self, id: RequestId) -> Completion {
        self.engine.take(id).expect("the engine's request is complete and is taken once")
    }

    /// MPI_Request_free: an active operation continues, and its outcome is discarded.
    pub(crate) fn abandon(&mut self, request: Handle) -> Result<()> {
        if is_trivial(request) {
            return Ok(());
        }
        let index = self.requests.index(request)?;
        match &self.requests.entries[index].work {
            RequestWork::Inactive | RequestWork::Sent(_) | RequestWork::Done(_) => drop(self.requests.remove(index)),
            _ => {
                // Without `start`, a persistent request is freed like any other when its operation
                // ends.
                if let Some(extra) = &mut self.requests.entries[index].extra {
                    extra.start = None;
                }
                self.requests.abandoned.push(request);
            }
        }
        Ok(())
    }

    /// Frees abandoned requests that are complete. Returns true while some are not.
    pub(crate) fn sweep_abandoned(&mut self) -> bool {
        let mut rest = std::mem::take(&mut self.requests.abandoned);
        rest.retain_mut(|request| match self.is_complete(*request) {
            Ok(true) => {
                // An error is dropped, because no call can report it. The state of a generalized
                // request is freed by MPI_Grequest_complete.
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
