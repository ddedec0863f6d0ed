//! The raw side of a port: packet sockets for CLIC's ethertype. They need the capability
//! CAP_NET_RAW.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use super::bulk::{Arrivals, Batch};
use super::craft::Crafter;
use super::filter::FilterShare;
use super::ring::{Ring, dropped, filtered};
use super::system::{SendOutcome, SocketName, bind_packet, iovec, send, widen};
use super::{Counters, OutgoingFrame};
use towpath_clic::credit::CEILING;
use towpath_clic::frame::{HEADER_BYTES, HeaderBytes};

/// Receive buffer size for bulk: everything that a process may have requested at a time.
const BULK_BUFFER: i32 = CEILING as i32;
/// Maximum number of frames per call.
const BATCH: usize = 32;

/// Opens the sockets on an interface, for frames of at most `longest` bytes; one for bulk only if
/// `bulk`.
pub(super) fn open(
    index: u32,
    endpoint: u16,
    longest: usize,
    bulk: bool,
) -> io::Result<(RawOutput, RawInput)> {
    let ring = Ring::new(filtered(endpoint, FilterShare::Small)?, longest)?;
    bind_packet(ring.socket(), index, true)?;
    let bulk = match bulk {
        true => Some(Arc::new(bulk_socket(index, endpoint)?)),
        false => None,
    };
    let small = Arc::clone(ring.socket());
    let (iovecs, messages) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let crafter = Crafter::open(index)?;
    let outgoing = RawOutput { small, bulk: bulk.clone(), crafter, iovecs, messages };
    Ok((outgoing, RawInput { ring, bulk, batch: None, longest }))
}

fn bulk_socket(index: u32, endpoint: u16) -> io::Result<OwnedFd> {
    let bulk = filtered(endpoint, FilterShare::Bulk)?;
    widen(&bulk, BULK_BUFFER);
    bind_packet(&bulk, index, true)?;
    Ok(bulk)
}

/// The sending half.
#[derive(Debug)]
pub(super) struct RawOutput {
    small: Arc<OwnedFd>,
    bulk: Option<Arc<OwnedFd>>,
    pub(super) crafter: Crafter,
    iovecs: Vec<[libc::iovec; 2]>,
    messages: Vec<libc::mmsghdr>,
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct RawInput {
    /// Receives small frames.
    pub(super) ring: Ring,
    bulk: Option<Arc<OwnedFd>>,
    batch: Option<Batch>,
    longest: usize,
}

// SAFETY: the raw pointers in `iovecs` and `messages` are used only during the `send_bulk` call
// that stores them; afterwards they are stale and never dereferenced.
unsafe impl Send for RawOutput {}

impl RawOutput {
    /// Sends one small frame.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes.
    #[inline]
    pub(super) unsafe fn send(
        &self,
        to: &SocketName,
        header: &HeaderBytes,
        body: *const u8,
        length: usize,
    ) -> SendOutcome {
        // SAFETY: `body` is readable for `length` bytes (this function's contract).
        unsafe { send(&self.small, to, header, body, length) }
    }

    /// Sends as many frames as the interface accepts. Returns how many, and the outcome of the next
    /// one.
    ///
    /// # Safety
    /// The bodies must be readable for their lengths.
    pub(super) unsafe fn send_bulk(
        &mut self,
        to: &SocketName,
        frames: &[OutgoingFrame],
    ) -> (usize, SendOutcome) {
        self.iovecs.clear();
        self.messages.clear();
        self.iovecs.extend(frames.iter().take(BATCH).map(|frame| {
            [iovec(frame.header.as_ptr(), HEADER_BYTES), iovec(frame.body, frame.length)]
        }));
        let message = |iovecs: &mut [libc::iovec; 2]| libc::mmsghdr {
            msg_hdr: to.message(iovecs),
            msg_len: 0,
        };
        self.messages.extend(self.iovecs.iter_mut().map(message));
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the messages refer to `iovecs`, `to` and frame headers, which outlive the call,
        // and to bodies, which are readable (this function's contract).
        let sent = unsafe {
            let count = self.messages.len() as u32;
            // Without a socket for bulk, use that for small frames.
            let socket = self.bulk.as_ref().unwrap_or(&self.small);
            libc::sendmmsg(socket.as_raw_fd(), self.messages.as_mut_ptr(), count, flags as _)
        };
        (usize::try_from(sent).unwrap_or(0), SendOutcome::of(sent as isize))
    }
}

impl RawInput {
    /// The socket with which groups are joined.
    pub(super) fn small(&self) -> &OwnedFd {
        self.ring.socket()
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        [self.small()].into_iter().chain(self.bulk.as_deref())
    }

    /// Receives bulk, at most `most` frames; false if there was none.
    pub(super) fn receive_bulk(
        &mut self,
        most: usize,
        counters: &mut Counters,
        arrivals: &mut impl Arrivals,
    ) -> bool {
        let Some(bulk) = &self.bulk else { return false };
        let batch = self.batch.get_or_insert_with(|| Batch::new(self.longest));
        let messages = batch.prepare(most, arrivals);
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: the messages refer to writable headers, destinations (contract of
        // `Places::expect`) and buffers, which outlive the call.
        let got = unsafe {
            let count = messages.len() as u32;
            libc::recvmmsg(
                bulk.as_raw_fd(),
                messages.as_mut_ptr(),
                count,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(got) {
            Ok(count) => batch.hand_out(count, counters, arrivals),
            Err(_) => match SendOutcome::of(-1) {
                SendOutcome::Error(_) => counters.errors += 1,
                _ => return false,
            },
        }
        got > 0
    }

    pub(super) fn dropped(&self) -> u64 {
        self.sockets().map(dropped).sum()
    }
}
