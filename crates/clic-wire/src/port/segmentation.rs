//! Super-frames: UDP datagrams that the interface or the kernel segments (UDP_SEGMENT) and
//! coalesces (UDP_GRO). How many frames go into one, and whether the kernel supports it.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use towpath_clic::frame::HEADER_BYTES;

use super::OutgoingFrame;
use super::system::set_number;

pub(super) const UDP_SEGMENT: i32 = 103;
pub(super) const UDP_GRO: i32 = 104;
/// Maximum number of segments of a super-frame that every kernel accepts.
pub(super) const SEGMENTS: usize = 64;
/// Maximum length of a super-frame, without IP and UDP headers.
const SUPER_BYTES: usize = 65_535 - 48;

/// Whether the kernel supports sending super-frames by UDP (UDP_SEGMENT), and receiving them
/// (UDP_GRO).
pub fn super_frames() -> (bool, bool) {
    let Ok(socket) =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
    else {
        return (false, false);
    };
    let knows = |option, value| set_number(&socket, libc::SOL_UDP, option, value).is_ok();
    (knows(UDP_SEGMENT, 1000), knows(UDP_GRO, 1))
}

/// How many of the frames fit into one super-frame: all but the last must have the same length.
pub(super) fn super_frame(frames: &[OutgoingFrame]) -> usize {
    let Some(first) = frames.first() else { return 0 };
    let segment = HEADER_BYTES + first.length;
    let most = SEGMENTS.min(SUPER_BYTES / segment).max(1);
    let equal = frames.iter().take(most).take_while(|frame| frame.length == first.length).count();
    let ends = frames.get(equal).is_some_and(|last| equal < most && last.length < first.length);
    equal + usize::from(ends)
}
