//! Buffered sends: how much of an attached buffer is in use, and the copies under way (MPI 5.0,
//! section 3.6).
//!
//! The copies lie in memory of Towpath; the program's buffer only bounds them, as the model of
//! 3.6.1 asks. The invariant kept: the bytes of copies under way, with [`OVERHEAD`] each, never
//! exceed the size of the buffer.

use std::ffi::c_void;
use std::sync::{Arc, MutexGuard};

use towpath_base::transfer::Source;
use towpath_datatype::Datatype;
use towpath_engine::{Mode, RequestId};

use crate::comm::Comm;
use crate::constants::BUFFER_AUTOMATIC;
use crate::datatypes;
use crate::error::{Result, fail};
use crate::face::Handle;
use crate::lane::State;
use crate::persistent::Message;
use crate::request_table::{Extra, Work};
use crate::world::{self, OBJECTS};

/// What one message takes of the buffer beyond its bytes; below MPI_BSEND_OVERHEAD of both faces.
const OVERHEAD: usize = 64;

/// An attached buffer.
#[derive(Debug)]
pub struct Buffer {
    /// What the program attached, handed back at detach.
    pub address: usize,
    /// Its size in bytes, as the program gave it.
    pub size: i64,
    used: usize,
    under_way: Vec<Copy>,
}

struct Copy {
    id: RequestId,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Copy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "copy of {} bytes", self.bytes.len())
    }
}

impl Buffer {
    /// A buffer that nothing uses yet.
    pub fn new(address: *mut c_void, size: i64) -> Buffer {
        Buffer { address: address as usize, size, used: 0, under_way: Vec::new() }
    }

    /// Frees what has been sent; true when nothing is under way any more.
    pub fn reclaim(&mut self, state: &mut State) -> bool {
        let Buffer { under_way, used, .. } = self;
        under_way.retain(|copy| {
            let done = state.engine.take(copy.id).is_some();
            if done {
                *used -= copy.bytes.len() + OVERHEAD;
            }
            !done
        });
        under_way.is_empty()
    }

    /// The messages that [`Buffer::reclaim`] has not found sent.
    pub fn under_way(&self) -> Vec<RequestId> {
        self.under_way.iter().map(|copy| copy.id).collect()
    }

    /// The buffer goes, its messages stay: their copies live until they are sent.
    pub fn leave(self, state: &mut State) -> Result<()> {
        let ids = self.under_way();
        ids.iter().for_each(|id| state.engine.free_when_done(*id));
        let Ok(place) = state.requests.place() else {
            // Nobody can tell when they are sent, so they stay.
            std::mem::forget(self.under_way);
            return Ok(());
        };
        let extra = Extra { start: None, finish: None, keep: Some(Box::new(self.under_way)) };
        let request = state.requests.fill(place, Work::Flush(ids), Handle(0), Some(Box::new(extra)));
        state.abandon(request)?;
        state.sweep_abandoned();
        Ok(())
    }

    fn has_room(&self, length: usize) -> bool {
        let needed = self.used.saturating_add(length).saturating_add(OVERHEAD);
        self.address == BUFFER_AUTOMATIC || needed as u64 <= self.size as u64
    }

    /// Makes room for a message of `length` bytes, if need be from messages that have been sent by
    /// now.
    fn make_room(&mut self, state: &mut State, length: usize) -> Result<()> {
        if !self.has_room(length) {
            state.progress();
            self.reclaim(state);
        } else if self.under_way.len() == self.under_way.capacity() {
            // A buffer without bound never lacks room: what is sent is freed before the list would
            // grow.
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

/// Which buffer a send on this communicator uses: the communicator's own, else the process's.
fn with_buffer<R>(comm: &Comm, f: impl FnOnce(Option<&mut Buffer>) -> R) -> R {
    let mut settings = comm.settings();
    if settings.buffer.is_some() {
        return f(settings.buffer.as_mut());
    }
    drop(settings);
    let mut process: MutexGuard<'_, Option<Buffer>> = OBJECTS.buffer.lock().unwrap();
    f(process.as_mut())
}

/// Sends a copy of `count` elements; complete at once for the program.
///
/// # Safety
/// `buffer` must hold `count` elements.
pub(crate) unsafe fn send(
    comm: &Arc<Comm>,
    buffer: *const c_void,
    count: i64,
    datatype: &Datatype,
    peer: towpath_base::ids::PeerIndex,
    tag: i32,
) -> Result<()> {
    let length = datatype.bytes(count) as usize;
    let lane = world::lane()?;
    let sent = with_buffer(comm, |attached| {
        let Some(attached) = attached else {
            fail!(ERR_BUFFER, "no buffer is attached for buffered sends; call MPI_Buffer_attach first");
        };
        lane.with(|state| attached.make_room(state, length))?;
        // SAFETY: promised by the caller.
        let bytes = unsafe { datatypes::packed(datatype, buffer, count) }?;
        lane.with(|state| {
            let source = Source::Bytes { pointer: bytes.as_ptr(), length };
            // SAFETY: the copy is kept until the send is complete.
            let id = unsafe { state.engine.isend(peer, comm.context(), tag, comm.rank as u32, source, Mode::Standard) };
            attached.used += length + OVERHEAD;
            attached.under_way.push(Copy { id, bytes });
        });
        Ok(())
    });
    lane.nudge();
    sent
}

/// Starts a persistent buffered send once more.
pub(crate) fn again(message: &Message) -> Box<dyn FnOnce() -> Result<()>> {
    let (comm, datatype) = (message.comm.clone(), message.datatype.clone());
    let (buffer, count) = (message.buffer, message.count);
    let (peer, tag) = (message.peer.expect("a send names its receiver"), message.tag.expect("a send has a tag"));
    // SAFETY: the program keeps the buffer while the request is active.
    Box::new(move || unsafe { send(&comm, buffer, count, &datatype, peer, tag) })
}
