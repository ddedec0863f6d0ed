//! A ring of slots that the kernel fills with packets (TPACKET_V2): received without a call of the
//! system.
//!
//! A slot begins with its state. The kernel writes the packet, then the state; this side reads the
//! state, then the packet, and gives the slot back by writing the state. A slot holds the longest
//! packet of the interface; one of a neighbour with a longer MTU is cut off.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use towpath_base::sync::{AtomicU32, Ordering};

use super::system::{set, set_number};
use super::{Counters, filter};

/// What the kernel writes in front of a packet, rounded up.
const FRONT: usize = 96;
/// A slot is a multiple of this, which whole pages are too: the kernel allocates slots in blocks of
/// pages.
const UNIT: usize = 1024;
/// Slots of a ring for packets of 1500 bytes,
const SLOTS: usize = 512;
/// and of one for longer packets, that takes 2.3 MiB at 9000 bytes.
const LONG_SLOTS: usize = 256;

/// The ring and its socket.
#[derive(Debug)]
pub(super) struct Ring {
    socket: Arc<OwnedFd>,
    slots: *mut u8,
    /// Bytes of a slot, and how many there are.
    slot: usize,
    count: usize,
    next: usize,
    longest: usize,
}

// SAFETY: the mapping is an address range of the process; the ring is used by whoever has it
// exclusively.
unsafe impl Send for Ring {}

impl Ring {
    /// Makes a socket that is not bound yet into one with a ring. Packets are `longest` bytes long
    /// at most.
    pub(super) fn new(socket: OwnedFd, longest: usize) -> io::Result<Ring> {
        set_number(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        let request = request(longest, rustix::param::page_size());
        let (slot, count) = (request.tp_frame_size as usize, request.tp_frame_nr as usize);
        // SAFETY: the option takes such a value.
        unsafe { set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)? };
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let slots = unsafe {
            use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            let slots = mmap(std::ptr::null_mut(), slot * count, rights, MapFlags::SHARED, &socket, 0)?;
            // A child has no use for it. Where that is refused it only has an address range more.
            let _ = madvise(slots, slot * count, Advice::LinuxDontFork);
            slots.cast()
        };
        Ok(Ring { socket: Arc::new(socket), slots, slot, count, next: 0, longest })
    }

    pub(super) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    /// Lends the packets that are here to `take`, at most so many; true if there was one.
    #[inline]
    pub(super) fn receive(&mut self, most: usize, counters: &mut Counters, take: &mut impl FnMut(&[u8])) -> bool {
        for count in 0..most {
            // SAFETY: the slot is inside the mapping.
            let slot = unsafe { self.slots.add(self.next * self.slot) };
            // SAFETY: a slot begins with its state, aligned, which the kernel and this process
            // access as a whole.
            let state = unsafe { &*slot.cast::<AtomicU32>() };
            let seen = state.load(Ordering::Acquire);
            if seen & libc::TP_STATUS_USER == 0 {
                return count > 0;
            }
            // SAFETY: the slot is this side's until its state is written, and `packet_in` stays
            // inside.
            match unsafe { packet_in(slot, self.slot) }.filter(|packet| packet.len() <= self.longest) {
                Some(packet) => take(packet),
                None => counters.truncated += 1,
            }
            state.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        }
        true
    }
}

/// A ring for packets of `longest` bytes, in blocks that are whole pages.
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

/// The packet in a slot of `bytes` bytes; `None` if it is cut off.
///
/// # Safety
/// The slot must belong to this side.
unsafe fn packet_in<'a>(slot: *const u8, bytes: usize) -> Option<&'a [u8]> {
    // SAFETY: a slot begins with such a header.
    let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
    let (from, length) = (usize::from(header.tp_net), header.tp_snaplen as usize);
    if length < header.tp_len as usize || from + length > bytes {
        return None;
    }
    // SAFETY: the range lies in the slot, and the kernel has written it.
    Some(unsafe { std::slice::from_raw_parts(slot.add(from), length) })
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping came from `mmap` with this length, and nothing of it is lent.
        let _ = unsafe { rustix::mm::munmap(self.slots.cast(), self.slot * self.count) };
    }
}

/// Packets that the socket dropped since the last call, because its ring or queue was full.
pub(super) fn dropped(socket: impl AsFd) -> u64 {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the option fills such a value in, at most as long as it is told.
    let result = unsafe {
        let socket = socket.as_fd().as_raw_fd();
        let value = (&raw mut statistics).cast();
        libc::getsockopt(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, value, &raw mut length)
    };
    if result == 0 { u64::from(statistics.tp_drops) } else { 0 }
}

/// A packet socket that receives its share of the frames for an endpoint as soon as it is bound.
pub(super) fn filtered(endpoint: u16, share: filter::Share) -> io::Result<OwnedFd> {
    let socket = super::system::packet_socket(libc::SOCK_DGRAM)?;
    filter::attach(&socket, endpoint, share)?;
    // Older kernels do not know it; the filter looks at the direction too.
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
                let (block, slot) = (request.tp_block_size as usize, request.tp_frame_size as usize);
                assert_eq!((block % page, block % slot), (0, 0), "{longest} {page}");
                assert_eq!(request.tp_frame_nr as usize, block / slot * request.tp_block_nr as usize);
                assert!(slot >= longest + FRONT);
            }
        }
    }
}
