//! The raw side: packet sockets for CLIC's own ethertype, which need the capability CAP_NET_RAW.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use super::bulk::{Arrivals, Batch};
use super::craft::Crafter;
use super::filter::Share;
use super::ring::{Ring, dropped, filtered};
use super::system::{Name, Sent, bind_packet, row, send, widen};
use super::{Counters, Frame};
use towpath_clic::credit::CEILING;
use towpath_clic::frame::HEADER_BYTES;

/// Bytes of bulk that may wait to be received: all that a process has asked for at a time.
const BULK_BUFFER: i32 = CEILING as i32;
/// Frames in one call.
const BATCH: usize = 32;

/// Opens the sockets on an interface, for frames of `longest` bytes at most; one for bulk only if
/// that is wanted.
pub(super) fn open(index: u32, endpoint: u16, longest: usize, bulk: bool) -> io::Result<(Outgoing, Incoming)> {
    let ring = Ring::new(filtered(endpoint, Share::Small)?, longest)?;
    bind_packet(ring.socket(), index, true)?;
    let bulk = match bulk {
        true => Some(Arc::new(bulk_socket(index, endpoint)?)),
        false => None,
    };
    let small = Arc::clone(ring.socket());
    let (rows, messages) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let crafter = Crafter::open(index)?;
    let outgoing = Outgoing { small, bulk: bulk.clone(), crafter, rows, messages };
    Ok((outgoing, Incoming { ring, bulk, batch: None, longest }))
}

fn bulk_socket(index: u32, endpoint: u16) -> io::Result<OwnedFd> {
    let bulk = filtered(endpoint, Share::Bulk)?;
    widen(&bulk, BULK_BUFFER);
    bind_packet(&bulk, index, true)?;
    Ok(bulk)
}

/// What sends.
#[derive(Debug)]
pub(super) struct Outgoing {
    small: Arc<OwnedFd>,
    bulk: Option<Arc<OwnedFd>>,
    pub(super) crafter: Crafter,
    rows: Vec<[libc::iovec; 2]>,
    messages: Vec<libc::mmsghdr>,
}

/// What receives.
#[derive(Debug)]
pub(super) struct Incoming {
    ring: Ring,
    bulk: Option<Arc<OwnedFd>>,
    batch: Option<Batch>,
    longest: usize,
}

// SAFETY: pointers are kept from one call to the next only as worn-out room.
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// # Safety
    /// The body must be readable.
    #[inline]
    pub(super) unsafe fn send(&self, to: &Name, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) -> Sent {
        // SAFETY: promised by the caller.
        unsafe { send(&self.small, to, header, body, length) }
    }

    /// Sends frames, as many as the interface takes; says how many, and what became of the next
    /// one.
    ///
    /// # Safety
    /// The bodies must be readable.
    pub(super) unsafe fn send_bulk(&mut self, to: &Name, frames: &[Frame]) -> (usize, Sent) {
        self.rows.clear();
        self.messages.clear();
        self.rows.extend(
            frames
                .iter()
                .take(BATCH)
                .map(|frame| [row(frame.header.as_ptr(), HEADER_BYTES), row(frame.body, frame.length)]),
        );
        let message = |rows: &mut [libc::iovec; 2]| libc::mmsghdr { msg_hdr: to.message(rows), msg_len: 0 };
        self.messages.extend(self.rows.iter_mut().map(message));
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the messages name rows that live, for whose content the caller vouches.
        let sent = unsafe {
            let count = self.messages.len() as u32;
            // Without a socket for bulk that of small frames will do.
            let socket = self.bulk.as_ref().unwrap_or(&self.small);
            libc::sendmmsg(socket.as_raw_fd(), self.messages.as_mut_ptr(), count, flags as _)
        };
        (usize::try_from(sent).unwrap_or(0), Sent::of(sent as isize))
    }
}

impl Incoming {
    /// The socket that joins groups.
    pub(super) fn small(&self) -> &OwnedFd {
        self.ring.socket()
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        [self.small()].into_iter().chain(self.bulk.as_deref())
    }

    #[inline]
    pub(super) fn receive(&mut self, most: usize, counters: &mut Counters, take: &mut impl FnMut(&[u8])) -> bool {
        self.ring.receive(most, counters, take)
    }

    /// Receives bulk, at most so many frames; false when there was none.
    pub(super) fn receive_bulk(&mut self, most: usize, counters: &mut Counters, arrivals: &mut impl Arrivals) -> bool {
        let Some(bulk) = &self.bulk else { return false };
        let batch = self.batch.get_or_insert_with(|| Batch::new(self.longest));
        let messages = batch.prepare(most, arrivals);
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: the messages name headers, places and room that are writable.
        let got = unsafe {
            let count = messages.len() as u32;
            libc::recvmmsg(bulk.as_raw_fd(), messages.as_mut_ptr(), count, flags as _, std::ptr::null_mut())
        };
        match usize::try_from(got) {
            Ok(count) => batch.hand_out(count, counters, arrivals),
            Err(_) => match Sent::of(-1) {
                Sent::Error(_) => counters.errors += 1,
                _ => return false,
            },
        }
        got > 0
    }

    pub(super) fn dropped(&self) -> u64 {
        self.sockets().map(dropped).sum()
    }
}
