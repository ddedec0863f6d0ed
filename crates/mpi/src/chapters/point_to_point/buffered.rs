//! Buffered sends: accounting of an attached buffer, and the copies in flight (MPI 5.0, section
//! 3.6).
//!
//! Towpath allocates the copies itself; the program's buffer only limits their size, as in the
//! model of 3.6.1. Invariant: the bytes of the copies in flight plus [`OVERHEAD`] for each never
//! exceed the size of the buffer.

use std::sync::MutexGuard;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::Source;
use towpath_engine::{Mode, RequestId};
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::BUFFER_AUTOMATIC;
use towpath_neutral::error::{Result, fail};

use crate::objects::buffer::{AttachedBuffer, SentCopy};
use crate::objects::comm::Comm;
use crate::objects::elements::Elements;
use crate::objects::registry::OBJECTS;
use crate::progress;
use crate::progress::request_table::{Extra, RequestWork};
use crate::progress::state::State;

/// Space in the buffer that a message takes in addition to its bytes; less than MPI_BSEND_OVERHEAD
/// of both ABIs.
const OVERHEAD: usize = 64;

impl AttachedBuffer {
    /// Frees the copies that have been sent. Returns true if none is in flight any more.
    pub(crate) fn reclaim(&mut self, state: &mut State) -> bool {
        let AttachedBuffer { under_way, used, .. } = self;
        under_way.retain(|copy| {
            let done = state.engine.take(copy.id).is_some();
            if done {
                *used -= copy.bytes.len() + OVERHEAD;
            }
            !done
        });
        under_way.is_empty()
    }

    /// The sends that [`AttachedBuffer::reclaim`] has not yet found complete.
    pub(crate) fn under_way(&self) -> Vec<RequestId> {
        self.under_way.iter().map(|copy| copy.id).collect()
    }

    /// Drops the buffer. The copies live until they are sent.
    pub(crate) fn leave(self, state: &mut State) -> Result<()> {
        let ids = self.under_way();
        ids.iter().for_each(|id| state.engine.free_when_done(*id));
        let Ok(entry) = state.requests.reserve() else {
            // Without a request their completion goes unnoticed, so the copies are leaked.
            std::mem::forget(self.under_way);
            return Ok(());
        };
        let extra = Extra { start: None, finish: None, keep: Some(Box::new(self.under_way)) };
        let request = state.requests.fill(entry, RequestWork::Flush(ids), Handle(0), Some(Box::new(extra)));
        state.abandon(request)?;
        state.sweep_abandoned();
        Ok(())
    }

    fn has_room(&self, length: usize) -> bool {
        let needed = self.used.saturating_add(length).saturating_add(OVERHEAD);
        self.address == BUFFER_AUTOMATIC || needed as u64 <= self.size as u64
    }

    /// Makes room for a message of `length` bytes, if necessary by freeing copies that have been
    /// sent.
    fn make_room(&mut self, state: &mut State, length: usize) -> Result<()> {
        if !self.has_room(length) {
            state.progress();
            self.reclaim(state);
        } else if self.under_way.len() == self.under_way.capacity() {
            // A buffer of unlimited size never lacks room: free what has been sent before the list
            // grows.
            self.reclaim(state);
        }
        if !self.has_room(length) {
            fail!(
                ERR_BUFFER,
                "the message of {length} bytes does not fit into the attached buffer of {} bytes, of which {} are in use",
                self.size,
                self.used
            );
        }
        Ok(())
    }
}

/// Calls `f` with the buffer for sends on this communicator: its own if it has one, else that of
/// the process.
fn with_buffer<R>(comm: &Comm, f: impl FnOnce(Option<&mut AttachedBuffer>) -> R) -> R {
    let mut settings = comm.settings();
    if settings.buffer.is_some() {
        return f(settings.buffer.as_mut());
    }
    drop(settings);
    let mut process: MutexGuard<'_, Option<AttachedBuffer>> = OBJECTS.buffer.lock().unwrap();
    f(process.as_mut())
}

/// Sends a copy of the elements. The send is complete for the program when this returns.
pub(crate) fn send(comm: &Comm, elements: Elements, peer: PeerIndex, tag: i32) -> Result<()> {
    let length = elements.packed_length();
    let worker = progress::worker()?;
    let sent = with_buffer(comm, |attached| {
        let Some(attached) = attached else {
            fail!(ERR_BUFFER, "no buffer is attached for buffered sends; call MPI_Buffer_attach first");
        };
        worker.with(|state| attached.make_room(state, length))?;
        let bytes = elements.packed()?;
        worker.with(|state| {
            let source = Source::Bytes { pointer: bytes.as_ptr(), length };
            // SAFETY: `bytes` is stored in `under_way` below and is freed only after the send is
            // complete.
            let id = unsafe { state.engine.isend(peer, comm.context(), tag, comm.rank as u32, source, Mode::Standard) };
            attached.used += length + OVERHEAD;
            attached.under_way.push(SentCopy { id, bytes });
        });
        Ok(())
    });
    worker.nudge();
    sent
}
