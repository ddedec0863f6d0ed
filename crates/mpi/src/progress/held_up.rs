//! The message to the user when a rank waits long because a receiver has no room for its messages.
//!
//! The standard allows a send to wait for its receive, but a program that relies on buffering then
//! hangs without an explanation. One rank of each host prints the message, once.

use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_engine::held_up;
use towpath_machine::wait::watchdog::LONG;
use towpath_shm::Segment;

use crate::process;

/// Tells the user that this process waits for room at `peer`, unless a rank of this host has done
/// so already. `wire` is true if the wire is full because the peer has not read earlier messages,
/// and false if this process lacks credit.
pub(crate) fn tell(segment: &Segment, peer: PeerIndex, wire: bool) {
    if segment.head().told_of_wait.swap(1, Ordering::Relaxed) == 0 {
        let why = if wire { held_up::why_it_takes_none(process::call_of(peer)) } else { held_up::NO_ROOM.to_owned() };
        process::say(&held_up::sentence(&process::name_of(process::me()), &process::name_of(peer), &why, LONG));
    }
}
