//! One epoll descriptor for all sockets of a wire: polled without blocking while the process is
//! busy, and slept on while it waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};

/// Events fetched in one call.
const BATCH: usize = 64;

/// What an event on a socket belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The listening socket: a process wants to connect.
    Listener,
    /// A connection to this peer, or an attempt to open one.
    Peer(u32),
    /// An incoming connection that is not authenticated.
    PendingConnection(u32),
}

impl Whose {
    fn encode(self) -> epoll::EventData {
        let word = match self {
            Whose::Peer(index) => u64::from(index),
            Whose::PendingConnection(number) => 1 << 32 | u64::from(number),
            Whose::Listener => u64::MAX,
        };
        epoll::EventData::new_u64(word)
    }

    fn decode(data: epoll::EventData) -> Whose {
        match data.u64() {
            u64::MAX => Whose::Listener,
            word if word >> 32 == 0 => Whose::Peer(word as u32),
            word => Whose::PendingConnection(word as u32),
        }
    }
}

/// The epoll descriptor.
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

    /// Adds a socket, for input and optionally for room to write. Closing the socket removes it.
    pub(super) fn watch(
        &self,
        socket: &OwnedFd,
        whose: Whose,
        writing: bool,
    ) -> std::io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, whose.encode(), Poll::flags(writing))?)
    }

    /// Changes whether a socket in the set is polled for room to write.
    pub(super) fn change(&self, socket: &OwnedFd, whose: Whose, writing: bool) {
        let _ = epoll::modify(&self.epoll, socket, whose.encode(), Poll::flags(writing));
    }

    /// Removes a socket.
    pub(super) fn forget(&self, socket: &OwnedFd) {
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Changes what a socket in the set belongs to; false if the system refuses.
    pub(super) fn watch_again(&self, socket: &OwnedFd, whose: Whose) -> bool {
        epoll::modify(&self.epoll, socket, whose.encode(), Poll::flags(false)).is_ok()
    }

    /// Appends the events that are ready, without blocking.
    pub(super) fn look(&self, events: &mut Vec<Whose>) {
        let mut found = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; BATCH];
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
        for whose in [
            Whose::Listener,
            Whose::Peer(0),
            Whose::Peer(u32::MAX),
            Whose::PendingConnection(0),
            Whose::PendingConnection(9),
        ] {
            assert_eq!(Whose::decode(whose.encode()), whose);
        }
    }
}
