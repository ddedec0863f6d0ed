//! Completion functions, MPI_Start, and generalized requests (MPI 5.0, sections 3.7, 3.9 and 13.2).

use std::ffi::c_void;
use std::sync::Arc;

use towpath_neutral::abi::{Callback, Handle, HandleArray, IntegersMut, Status, StatusArray};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Completed, Error, Failed, Result, fail};

use super::groups::count_of;
use super::persistent;
use crate::objects::generalized::Generalized;
use crate::progress;
use crate::progress::request_table::{Ended, RequestWork, is_trivial};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;
use crate::progress::worker::Worker;

/// Turns the outcome of a request into a status and an error. Calls the program's query function
/// for a generalized request, so no lock may be held.
#[inline]
fn outcome(ended: Ended) -> (Status, Option<Error>) {
    match ended {
        Ended::With(status, failure) => (status, failure),
        Ended::Ask(operation) => {
            let status = operation.call_query();
            let freed = operation.call_free();
            match (status, freed) {
                (Ok(status), Ok(())) => (status, None),
                (Ok(status), Err(error)) => (status, Some(error)),
                (Err(error), _) => (Status::EMPTY, Some(error)),
            }
        }
    }
}

#[inline]
fn completed(ended: Ended) -> Completed<Status> {
    match outcome(ended) {
        (status, None) => Ok(status),
        (status, Some(error)) => Err(Failed::with(error, status)),
    }
}

/// Maps the status of a completion call to its results, in success and failure alike.
#[inline]
fn results<T>(status: Completed<Status>, make: impl Fn(Status) -> T) -> Completed<T> {
    match status {
        Ok(status) => Ok(make(status)),
        Err(failed) => Err(failed.map(make)),
    }
}

/// Ends the request if it is complete.
#[inline]
fn try_end(state: &mut State, request: &mut Handle) -> Option<Result<Ended>> {
    state.try_end(request).transpose()
}

/// MPI_Wait.
pub fn wait(request: &mut Handle) -> Completed<Status> {
    let waited = *request;
    completed(progress::worker()?.wait_for(|_| WaitTarget::Request(waited), |state| try_end(state, request))?)
}

/// MPI_Test.
pub fn test(request: &mut Handle) -> Completed<(bool, Status)> {
    let worker = progress::worker()?;
    match worker.look_twice(|| worker.with(|state| try_end(state, request))) {
        Some(ended) => results(completed(ended?), |status| (true, status)),
        None => Ok((false, Status::EMPTY)),
    }
}

/// The program's array of requests, checked.
#[derive(Clone, Copy)]
struct Array {
    handles: HandleArray,
    count: usize,
}

impl Array {
    /// Checks that all elements are requests.
    fn checked(count: i32, handles: HandleArray) -> Result<Array> {
        let count = count_of(count, "count")?;
        if count > 0 && handles.is_null() {
            fail!(ERR_ARG, "argument array_of_requests is NULL, but count is {count}");
        }
        let array = Array { handles, count };
        progress::worker()?.with(|state| (0..count).try_for_each(|i| state.requests.check(array.get(i))))?;
        Ok(array)
    }

    /// Like [`Array::checked`], for a function that also writes indices.
    fn with_indices(count: i32, handles: HandleArray, indices: &IntegersMut) -> Result<Array> {
        if count > 0 && indices.is_null() {
            fail!(ERR_ARG, "argument array_of_indices is NULL, but count is {count}; pass an array with room for them");
        }
        Array::checked(count, handles)
    }

    #[inline]
    fn get(&self, i: usize) -> Handle {
        self.handles.get(i)
    }

    #[inline]
    fn set(&self, i: usize, request: Handle) {
        self.handles.set(i, request);
    }
}

/// The statuses of a call that ends several requests. Errors are stored in them, and the call
/// returns MPI_ERR_IN_STATUS. If none has failed, the MPI_ERROR fields stay unchanged (3.2.5).
struct Statuses {
    array: StatusArray,
    failed: Option<Error>,
}

impl Statuses {
    /// Writes status `i`; all earlier ones must have been written.
    #[inline]
    fn write(&mut self, i: usize, mut status: Status, failure: Option<Error>) {
        if let Some(error) = failure {
            status.error = error.class();
            self.fail(i, error);
        }
        self.array.set(i, &status, self.failed.is_some());
    }

    /// Remembers the first error; it is stored in status `i`.
    #[cold]
    fn fail(&mut self, i: usize, error: Error) {
        if self.failed.is_some() {
            return;
        }
        self.failed = Some(error);
        // Once one status shows an error, those of successful requests must show MPI_SUCCESS.
        for earlier in 0..i {
            self.array.set_error(earlier, SUCCESS);
        }
    }

    fn result(self) -> Result<()> {
        match self.failed {
            None => Ok(()),
            Some(error) => Err(in_status(&error)),
        }
    }
}

/// The arrays of a call that ends all of its requests.
struct Ending {
    requests: Array,
    /// Ignored, or as long as `requests`.
    statuses: Statuses,
}

impl Ending {
    /// Creates the state of a call in which no request has ended yet.
    fn new(requests: Array, statuses: StatusArray) -> Ending {
        Ending { requests, statuses: Statuses { array: statuses, failed: None } }
    }

    /// Writes the outcome and the remaining handle of request `i`.
    #[inline]
    fn record(&mut self, i: usize, request: Handle, status: Status, failure: Option<Error>) {
        self.requests.set(i, request);
        self.statuses.write(i, status, failure);
    }

    /// Ends requests in order, from `first` until one is not complete. Returns the index of that
    /// one, or the number of requests.
    fn advance(&mut self, worker: &Worker, first: usize) -> Result<usize> {
        let count = self.requests.count;
        let mut i = first;
        while i < count {
            let mut state = worker.hold();
            let asked = loop {
                if i == count {
                    break None;
                }
                let mut request = self.requests.get(i);
                match state.try_end(&mut request)? {
                    None => return Ok(i),
                    Some(Ended::With(status, failure)) => self.record(i, request, status, failure),
                    Some(Ended::Ask(operation)) => break Some((request, Ended::Ask(operation))),
                }
                i += 1;
            };
            drop(state);
            if let Some((request, ended)) = asked {
                // The lock is released while the program is called.
                let (status, failure) = outcome(ended);
                self.record(i, request, status, failure);
                i += 1;
            }
        }
        Ok(count)
    }
}

fn in_status(first: &Error) -> Error {
    let error = Error::new(ERR_IN_STATUS, format!("a request failed (the statuses say which): {}", first.text()));
    match first.object() {
        Some(comm) => error.with_object(comm),
        None => error,
    }
}

/// MPI_Waitall.
pub fn waitall(count: i32, requests: HandleArray, statuses: StatusArray) -> Result<()> {
    let requests = Array::checked(count, requests)?;
    let worker = progress::worker()?;
    let mut ending = Ending::new(requests, statuses);
    let mut done = ending.advance(worker, 0)?;
    while done < requests.count {
        let request = requests.get(done);
        worker.wait_for(
            |_| WaitTarget::Request(request),
            |state| state.is_complete(request).map_or(Some(()), |complete| complete.then_some(())),
        );
        done = ending.advance(worker, done)?;
    }
    ending.statuses.result()
}

/// MPI_Testall.
pub fn testall(count: i32, requests: HandleArray, statuses: StatusArray) -> Completed<bool> {
    let requests = Array::checked(count, requests)?;
    let worker = progress::worker()?;
    let all = || worker.with(|state| (0..requests.count).all(|i| state.is_complete(requests.get(i)).unwrap_or(true)));
    if worker.look_twice(|| all().then_some(())).is_none() {
        return Ok(false);
    }
    let mut ending = Ending::new(requests, statuses);
    ending.advance(worker, 0)?;
    ending.statuses.result().map(|()| true).map_err(|error| Failed::with(error, true))
}

/// The index of a complete active request, or `Some(None)` if no request is active; `None` if all
/// active ones are incomplete.
fn find_complete(state: &State, requests: Array) -> Option<Option<usize>> {
    let mut active = false;
    for i in 0..requests.count {
        let request = requests.get(i);
        if state.is_inactive(request).unwrap_or(true) {
            continue;
        }
        active = true;
        if state.is_complete(request).unwrap_or(true) {
            return Some(Some(i));
        }
    }
    (!active).then_some(None)
}

/// The wait target of a call that waits for any of several requests: the first active one.
fn first_active(requests: Array) -> impl Fn(&State) -> WaitTarget {
    move |state| {
        let mut all = (0..requests.count).map(|i| requests.get(i));
        let first = all.find(|&request| !state.is_inactive(request).unwrap_or(true));
        first.map_or(WaitTarget::Other, WaitTarget::Request)
    }
}

fn end_one(index: usize, requests: Array) -> Completed<Status> {
    let worker = progress::worker()?;
    let mut request = requests.get(index);
    let ended = worker.with(|state| state.end(&mut request))?;
    requests.set(index, request);
    completed(ended)
}

/// MPI_Waitany: index and status; MPI_UNDEFINED when no request is active.
pub fn waitany(count: i32, requests: HandleArray) -> Completed<(i32, Status)> {
    let requests = Array::checked(count, requests)?;
    match progress::worker()?.wait_for(first_active(requests), |state| find_complete(state, requests)) {
        Some(index) => results(end_one(index, requests), |status| (index as i32, status)),
        None => Ok((UNDEFINED, Status::EMPTY)),
    }
}

/// MPI_Testany: index, flag and status.
pub fn testany(count: i32, requests: HandleArray) -> Completed<(i32, bool, Status)> {
    let requests = Array::checked(count, requests)?;
    let worker = progress::worker()?;
    match worker.look_twice(|| worker.with(|state| find_complete(state, requests))) {
        Some(Some(index)) => results(end_one(index, requests), |status| (index as i32, true, status)),
        Some(None) => Ok((UNDEFINED, true, Status::EMPTY)),
        None => Ok((UNDEFINED, false, Status::EMPTY)),
    }
}

/// Ends every active request that is complete, and writes indices and statuses to consecutive
/// elements.
fn end_some(requests: Array, indices: IntegersMut, statuses: StatusArray) -> Completed<i32> {
    let worker = progress::worker()?;
    let mut statuses = Statuses { array: statuses, failed: None };
    let mut ended = 0;
    let mut state = worker.hold();
    for i in 0..requests.count {
        let mut request = requests.get(i);
        if state.is_inactive(request)? || !state.is_complete(request)? {
            continue;
        }
        let (status, failure) = match state.end(&mut request)? {
            Ended::With(status, failure) => (status, failure),
            asked => {
                // The lock is released while the program is called.
                drop(state);
                let queried = outcome(asked);
                state = worker.hold();
                queried
            }
        };
        requests.set(i, request);
        indices.set(ended, i as i64);
        statuses.write(ended, status, failure);
        ended += 1;
    }
    drop(state);
    statuses.result().map(|()| ended as i32).map_err(|error| Failed::with(error, ended as i32))
}

/// MPI_Waitsome: the number that completed; MPI_UNDEFINED when no request is active.
pub fn waitsome(count: i32, requests: HandleArray, indices: IntegersMut, statuses: StatusArray) -> Completed<i32> {
    let requests = Array::with_indices(count, requests, &indices)?;
    let found = progress::worker()?.wait_for(first_active(requests), |state| find_complete(state, requests));
    if found.is_some() { end_some(requests, indices, statuses) } else { Ok(UNDEFINED) }
}

/// MPI_Testsome: the number that completed; MPI_UNDEFINED when no request is active.
pub fn testsome(count: i32, requests: HandleArray, indices: IntegersMut, statuses: StatusArray) -> Completed<i32> {
    let requests = Array::with_indices(count, requests, &indices)?;
    let worker = progress::worker()?;
    match worker.look_twice(|| worker.with(|state| find_complete(state, requests))) {
        Some(Some(_)) => end_some(requests, indices, statuses),
        Some(None) => Ok(UNDEFINED),
        None => Ok(0),
    }
}

/// MPI_Request_free.
pub fn request_free(request: &mut Handle) -> Result<()> {
    if *request == REQUEST_NULL {
        fail!(ERR_REQUEST, "argument request is MPI_REQUEST_NULL; there is nothing to free");
    }
    let worker = progress::worker()?;
    let done = worker.with(|state| {
        if !is_trivial(*request)
            && let RequestWork::Generalized(operation) = state.requests.work(*request)?
        {
            let operation = operation.clone();
            if operation.free() {
                state.requests.set_work(*request, RequestWork::Inactive)?;
                state.abandon(*request)?;
                return Ok(Some(operation));
            }
            // The program will still pass the request to MPI_Grequest_complete, which calls the
            // free function.
        }
        state.abandon(*request)?;
        state.sweep_abandoned();
        Ok::<_, Error>(None)
    })?;
    *request = REQUEST_NULL;
    done.map_or(Ok(()), |operation| operation.call_free())
}

/// MPI_Cancel: local, as the standard requires (3.8.4). A message in flight is recalled; the call
/// that completes the request returns the receiver's answer.
pub fn cancel(request: &mut Handle) -> Result<()> {
    if *request == REQUEST_NULL {
        fail!(ERR_REQUEST, "argument request is MPI_REQUEST_NULL; there is nothing to cancel");
    }
    let worker = progress::worker()?;
    let asked = worker.with(|state| {
        if is_trivial(*request) {
            return Ok(None);
        }
        match state.requests.work(*request)? {
            RequestWork::Send(id) | RequestWork::Receive(id) => {
                let id = *id;
                state.engine.cancel(id);
                Ok(None)
            }
            RequestWork::Sent(sent) => {
                let id = state.engine.call_back(*sent);
                state.requests.set_work(*request, RequestWork::Send(id))?;
                Ok(None)
            }
            RequestWork::Generalized(operation) => Ok(Some(operation.clone())),
            RequestWork::Run(_) | RequestWork::Exchange(_) => {
                fail!(ERR_REQUEST, "argument request is a collective operation, which cannot be cancelled")
            }
            _ => Ok(None),
        }
    })?;
    // Another thread may wait for the cancelled operation, or for the answer of the peer, which
    // needs progress.
    worker.nudge();
    asked.map_or(Ok(()), |operation| operation.call_cancel())
}

/// The status of a request if it is complete, without ending it.
fn peek(request: Handle) -> Result<Option<Status>> {
    let worker = progress::worker()?;
    let found = worker.with(|state| {
        if !state.is_complete(request)? {
            return Ok(None);
        }
        state.peek(request).map(Some)
    })?;
    match found {
        None => Ok(None),
        Some(Ended::Ask(operation)) => operation.call_query().map(Some),
        Some(Ended::With(status, _)) => Ok(Some(status)),
    }
}

/// MPI_Request_get_status.
pub fn request_get_status(request: Handle) -> Result<(bool, Status)> {
    match progress::worker()?.look_twice(|| peek(request).transpose()) {
        Some(status) => Ok((true, status?)),
        None => Ok((false, Status::EMPTY)),
    }
}

/// MPI_Request_get_status_all (4.1).
pub fn request_get_status_all(count: i32, requests: HandleArray, statuses: StatusArray) -> Result<bool> {
    let requests = Array::checked(count, requests)?;
    progress::worker()?.poll_for_test();
    for i in 0..requests.count {
        if peek(requests.get(i))?.is_none() {
            return Ok(false);
        }
    }
    for i in 0..requests.count {
        statuses.set(i, &peek(requests.get(i))?.unwrap_or(Status::EMPTY), false);
    }
    Ok(true)
}

/// MPI_Request_get_status_any (4.1).
pub fn request_get_status_any(count: i32, requests: HandleArray) -> Result<(i32, bool, Status)> {
    let requests = Array::checked(count, requests)?;
    let worker = progress::worker()?;
    worker.poll_for_test();
    match worker.with(|state| find_complete(state, requests)) {
        Some(Some(index)) => Ok((index as i32, true, peek(requests.get(index))?.unwrap_or(Status::EMPTY))),
        Some(None) => Ok((UNDEFINED, true, Status::EMPTY)),
        None => Ok((UNDEFINED, false, Status::EMPTY)),
    }
}

/// MPI_Request_get_status_some (4.1).
pub fn request_get_status_some(
    count: i32,
    requests: HandleArray,
    indices: IntegersMut,
    statuses: StatusArray,
) -> Result<i32> {
    let requests = Array::with_indices(count, requests, &indices)?;
    let worker = progress::worker()?;
    worker.poll_for_test();
    let (mut found, mut active) = (0, false);
    for i in 0..requests.count {
        let request = requests.get(i);
        if worker.with(|state| state.is_inactive(request))? {
            continue;
        }
        active = true;
        if let Some(status) = peek(request)? {
            indices.set(found, i as i64);
            statuses.set(found, &status, false);
            found += 1;
        }
    }
    Ok(if active { found as i32 } else { UNDEFINED })
}

/// MPI_Start.
pub fn start(request: &mut Handle) -> Result<()> {
    persistent::start(*request)
}

/// MPI_Startall.
pub fn startall(count: i32, requests: HandleArray) -> Result<()> {
    let requests = Array::checked(count, requests)?;
    for i in 0..requests.count {
        persistent::start(requests.get(i))?;
    }
    Ok(())
}

/// MPI_Grequest_start.
pub fn grequest_start(query: Callback, free: Callback, cancel: Callback, extra: *mut c_void) -> Result<Handle> {
    let operation = Arc::new(Generalized::new(query, free, cancel, extra));
    progress::worker()?.with(|state| state.requests.add(RequestWork::Generalized(operation), Handle(0), None))
}

/// Marks the functions of a generalized request as Fortran functions. Does nothing if `request` is
/// not a generalized request.
pub fn grequest_of_fortran(request: Handle) {
    let Ok(worker) = progress::worker() else { return };
    worker.with(|state| {
        if let Ok(RequestWork::Generalized(operation)) = state.requests.work(request) {
            operation.mark_fortran();
        }
    });
}

/// MPI_Grequest_complete.
pub fn grequest_complete(request: Handle) -> Result<()> {
    let worker = progress::worker()?;
    let operation = worker.with(|state| match state.requests.work(request) {
        Ok(RequestWork::Generalized(operation)) => Ok(operation.clone()),
        _ => fail!(ERR_REQUEST, "argument request ({}) is not a generalized request", request),
    })?;
    operation.complete();
    // A thread checks the flag under the worker's lock before it sleeps. Once this thread has held
    // the lock, that thread has seen the flag or is counted as a sleeper.
    worker.with(|_| ());
    worker.nudge();
    Ok(())
}
