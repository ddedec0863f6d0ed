//! A ring of slots that the kernel fills with packets (TPACKET_V2), received without system calls.
//!
//! A slot begins with its status word. The kernel writes the packet, then the status; this side
//! reads the status (acquire), then the packet, and returns the slot by writing the status
//! (release). A slot holds the longest packet of the interface; a longer one, from a neighbour with
//! a larger MTU, is truncated.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use towpath_base::sync::{AtomicU32, Ordering};

use super::system::{set, set_number};
use super::{Counters, filter};

/// Room that the kernel needs before a packet, rounded up.
const FRONT: usize = 96;
/// The slot size is a multiple of this unit, and so is the page size: the kernel allocates slots in
/// blocks of pages.
const UNIT: usize = 1024;
/// Number of slots of a ring for packets of 1500 bytes.
const SLOTS: usize = 512;
/// Number of slots of a ring for longer packets; takes 2.3 MiB at 9000 bytes.
const LONG_SLOTS: usize = 256;

/// The ring and its socket.
#[derive(Debug)]
pub(super) struct Ring {
    socket: Arc<OwnedFd>,
    slots: *mut u8,
    /// Size of a slot in bytes, and number of slots.
    slot: usize,
    count: usize,
    next: usize,
    longest: usize,
}

// SAFETY: `slots` is a mapping of the process, valid in every thread, and it is accessed through
// `&mut self` only.
unsafe impl Send for Ring {}

impl Ring {
    /// Attaches a ring to a socket that is not bound yet, for packets of at most `longest` bytes.
    pub(super) fn new(socket: OwnedFd, longest: usize) -> io::Result<Ring> {
        set_number(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            libc::tpacket_versions::TPACKET_V2 as i32,
        )?;
        let request = request(longest, rustix::param::page_size());
        let (slot, count) = (request.tp_frame_size as usize, request.tp_frame_nr as usize);
        // SAFETY: PACKET_RX_RING takes a `tpacket_req`, which contains no pointers.
        unsafe { set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)? };
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let slots = unsafe {
            use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            let slots =
                mmap(std::ptr::null_mut(), slot * count, rights, MapFlags::SHARED, &socket, 0)?;
            // A forked child does not need it. If this fails, the child only has one more mapping.
            let _ = madvise(slots, slot * count, Advice::LinuxDontFork);
            slots.cast()
        };
        Ok(Ring { socket: Arc::new(socket), slots, slot, count, next: 0, longest })
    }

    pub(super) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    /// Passes pending packets to `take`, at most `most`; true if there were any.
    #[inline]
    pub(super) fn receive(
        &mut self,
        most: usize,
        counters: &mut Counters,
        take: &mut impl FnMut(&[u8]),
    ) -> bool {
        for count in 0..most {
            // SAFETY: `next < count`, so the slot is inside the mapping.
            let slot = unsafe { self.slots.add(self.next * self.slot) };
            // SAFETY: a slot begins with its status, a 4-byte aligned `u32`; kernel and process
            // access it concurrently only as a whole.
            let state = unsafe { &*slot.cast::<AtomicU32>() };
            let seen = state.load(Ordering::Acquire);
            if seen & libc::TP_STATUS_USER == 0 {
                return count > 0;
            }
            // SAFETY: the status says that the slot belongs to this side until the status is
            // written, and `self.slot` is its size.
            match unsafe { packet_in(slot, self.slot) }
                .filter(|packet| packet.len() <= self.longest)
            {
                Some(packet) => take(packet),
                None => counters.truncated += 1,
            }
            state.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        }
        true
    }
}

/// The parameters of a ring for packets of `longest` bytes, in blocks of whole pages.
fn request(longest: usize, page: usize) -> libc::tpacket_req {
    let slot = (longest + FRONT).next_multiple_of(UNIT);
    let count = if slot > 2 * UNIT { LONG_SLOTS } else { SLOTS };
    let in_block = page / UNIT;
    libc::tpacket_req {
        tp_block_size: (slot * in_block) as u32,
        tp_block_nr: (count / in_block) as u32,
        tp_frame_size: slot as u32,
        tp_frame_nr: count as u32,
    }
}

/// The packet in a slot of `bytes` bytes; `None` if it is truncated.
///
/// # Safety
/// `slot` must be readable for `bytes` bytes, and the kernel must not write to it during `'a`.
unsafe fn packet_in<'a>(slot: *const u8, bytes: usize) -> Option<&'a [u8]> {
    // SAFETY: the slot is readable (this function's contract) and begins with a `tpacket2_hdr`.
    let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
    let (from, length) = (usize::from(header.tp_net), header.tp_snaplen as usize);
    if length < header.tp_len as usize || from + length > bytes {
        return None;
    }
    // SAFETY: the range is inside the slot, which is readable and not written during `'a` (this
    // function's contract).
    Some(unsafe { std::slice::from_raw_parts(slot.add(from), length) })
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping came from `mmap` with this address and length, and no reference into
        // it exists.
        let _ = unsafe { rustix::mm::munmap(self.slots.cast(), self.slot * self.count) };
    }
}

/// Number of packets that the socket has dropped since the last call because its ring or queue was
/// full.
pub(super) fn dropped(socket: impl AsFd) -> u64 {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: PACKET_STATISTICS fills in a `tpacket_stats`, and writes at most `length` bytes.
    let result = unsafe {
        let socket = socket.as_fd().as_raw_fd();
        let value = (&raw mut statistics).cast();
        libc::getsockopt(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, value, &raw mut length)
    };
    if result == 0 { u64::from(statistics.tp_drops) } else { 0 }
}

/// Creates a packet socket that receives its share of the frames for an endpoint once it is bound.
pub(super) fn filtered(endpoint: u16, share: filter::FilterShare) -> io::Result<OwnedFd> {
    let socket = super::system::packet_socket(libc::SOCK_DGRAM)?;
    filter::attach(&socket, endpoint, share)?;
    // Not supported by older kernels; the packet filter checks the direction too.
    let _ = set_number(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_pages_whatever_a_page_is() {
        for page in [4, 16, 64].map(|kilobytes| kilobytes * 1024) {
            for longest in [1280, 1500, 9000, 16 << 10] {
                let request = request(longest, page);
                let (block, slot) =
                    (request.tp_block_size as usize, request.tp_frame_size as usize);
                assert_eq!((block % page, block % slot), (0, 0), "{longest} {page}");
                assert_eq!(
                    request.tp_frame_nr as usize,
                    block / slot * request.tp_block_nr as usize
                );
                assert!(slot >= longest + FRONT);
            }
        }
    }
}
