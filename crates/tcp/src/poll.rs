//! One epoll descriptor for all sockets of a wire: asked without waiting while the process is busy,
//! slept on by whoever waits for the process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};

/// Events taken at a time.
const BATCH: usize = 64;

/// Whose socket something happened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Somebody wants to connect.
    Listener,
    /// Of a connection, or an attempt at one, to this peer.
    Peer(u32),
    /// Of a connection that has not been proved.
    Stranger(u32),
}

impl Whose {
    fn encode(self) -> epoll::EventData {
        let word = match self {
            Whose::Peer(place) => u64::from(place),
            Whose::Stranger(number) => 1 << 32 | u64::from(number),
            Whose::Listener => u64::MAX,
        };
        epoll::EventData::new_u64(word)
    }

    fn decode(data: epoll::EventData) -> Whose {
        match data.u64() {
            u64::MAX => Whose::Listener,
            word if word >> 32 == 0 => Whose::Peer(word as u32),
            word => Whose::Stranger(word as u32),
        }
    }
}

/// The descriptor.
pub(super) struct Poll {
    epoll: OwnedFd,
}

impl Poll {
    pub(super) fn new() -> std::io::Result<Poll> {
        Ok(Poll { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn flags(writing: bool) -> epoll::EventFlags {
        if writing { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
    }

    /// Watches a socket: for bytes to read, and for room to write where that is wanted. It is
    /// forgotten when it is closed.
    pub(super) fn watch(&self, socket: &OwnedFd, whose: Whose, writing: bool) -> std::io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, whose.encode(), Poll::flags(writing))?)
    }

    /// Changes what a watched socket is watched for.
    pub(super) fn change(&self, socket: &OwnedFd, whose: Whose, writing: bool) {
        let _ = epoll::modify(&self.epoll, socket, whose.encode(), Poll::flags(writing));
    }

    /// Watches a socket no longer.
    pub(super) fn forget(&self, socket: &OwnedFd) {
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Watches a watched socket under another name; false when the system refuses.
    pub(super) fn watch_again(&self, socket: &OwnedFd, whose: Whose) -> bool {
        epoll::modify(&self.epoll, socket, whose.encode(), Poll::flags(false)).is_ok()
    }

    /// What has happened, without waiting.
    pub(super) fn look(&self, events: &mut Vec<Whose>) {
        let mut found = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; BATCH];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let count = epoll::wait(&self.epoll, &mut found, Some(&at_once)).unwrap_or(0);
        events.extend(found[..count].iter().map(|event| Whose::decode(event.data)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sockets_survive() {
        for whose in [Whose::Listener, Whose::Peer(0), Whose::Peer(u32::MAX), Whose::Stranger(0), Whose::Stranger(9)] {
            assert_eq!(Whose::decode(whose.encode()), whose);
        }
    }
}
