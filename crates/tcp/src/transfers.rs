//! Large messages: regions that are sent to a peer, and pulls that fetch regions of peers.

use towpath_base::slab::Slab;
use towpath_base::transfer::{Source, Step, Target};

/// A region that a peer has requested.
pub(super) struct TcpPush {
    /// The receiver's number for the pull.
    pub(super) pull: u32,
    /// The publisher's token.
    pub(super) token: u64,
    pub(super) source: Source,
    /// Bytes that are sent, and bytes that are still to be sent.
    pub(super) gone: u64,
    pub(super) left: usize,
    /// The receiver wants more than the source has, so it must be told of the end.
    pub(super) short: bool,
}

impl TcpPush {
    /// A push of the first `wanted` bytes of a source.
    pub(super) fn new(pull: u32, token: u64, source: Source, wanted: u64) -> TcpPush {
        let (length, wanted) = (source.length(), usize::try_from(wanted).unwrap_or(usize::MAX));
        TcpPush { pull, token, source, gone: 0, left: length.min(wanted), short: length < wanted }
    }
}

/// A region that is being fetched.
struct TcpPull {
    from: u32,
    token: u64,
    target: Target,
    /// Bytes that have arrived.
    have: u64,
}

/// All pulls of this process; a pull's number is its index.
#[derive(Default)]
pub(super) struct TcpPulls(Slab<TcpPull>);

/// What happened to bytes that were passed to a pull.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PullOutcome {
    /// Not taken: a device is busy.
    Nothing,
    /// All of them were taken; the pull needs more.
    All,
    /// Taken, and the pull with this token is now complete.
    Last(u64),
}

impl TcpPulls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a pull and returns its number.
    pub(super) fn begin(&mut self, from: u32, token: u64, target: Target) -> u32 {
        self.0.insert(TcpPull { from, token, target, have: 0 }).index()
    }

    fn of(&mut self, from: u32, number: u32) -> Option<&mut TcpPull> {
        self.0.at_mut(number).filter(|pull| pull.from == from)
    }

    /// Where the next bytes of a pull from this peer go, and how many are missing, if its target is
    /// contiguous.
    pub(super) fn contiguous(&mut self, from: u32, number: u32) -> Option<(*mut u8, usize)> {
        match self.of(from, number)?.target {
            Target::Bytes { pointer, length } if length > 0 => Some((pointer, length)),
            _ => None,
        }
    }

    /// True if these are the next bytes of a pull from this peer, and not too many.
    pub(super) fn expects(&mut self, from: u32, number: u32, offset: u64, length: u64) -> bool {
        self.of(from, number)
            .is_some_and(|pull| pull.have == offset && length <= pull.target.length() as u64)
    }

    /// Passes bytes to a pull that expects them.
    ///
    /// # Safety
    /// `bytes` must be readable for `length` bytes, or be where [`TcpPulls::contiguous`] said to
    /// put them; in that case they stay there.
    pub(super) unsafe fn take(
        &mut self,
        from: u32,
        number: u32,
        bytes: *const u8,
        length: usize,
    ) -> PullOutcome {
        let Some(pull) = self.of(from, number) else { return PullOutcome::All };
        match &mut pull.target {
            Target::Bytes { pointer, length: room } if std::ptr::eq(*pointer, bytes) => {
                let step = length.min(*room);
                *pointer = pointer.wrapping_add(step);
                *room -= step;
            }
            // SAFETY: `bytes` is readable for `length` bytes (this function's contract), and the
            // memory behind the target lives until the pull is reported (contract of `Tcp::pull`).
            target => match unsafe { target.drain(bytes, length) } {
                Step::Pending => return PullOutcome::Nothing,
                Step::Done(_) => {}
            },
        }
        pull.have += length as u64;
        if pull.target.length() > 0 {
            PullOutcome::All
        } else {
            self.end(from, number).map_or(PullOutcome::All, PullOutcome::Last)
        }
    }

    /// Ends a pull from this peer and returns its token.
    pub(super) fn end(&mut self, from: u32, number: u32) -> Option<u64> {
        self.of(from, number)?;
        self.0.remove_at(number).map(|pull| pull.token)
    }

    /// Ends all pulls from one peer without a report.
    pub(super) fn drop_peer(&mut self, peer: u32) {
        self.0.remove_where(|pull| pull.from == peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_takes_what_it_expects_and_no_more() {
        let mut room = [0u8; 8];
        let mut pulls = TcpPulls::default();
        let number = pulls.begin(3, 77, Target::Bytes { pointer: room.as_mut_ptr(), length: 8 });
        assert!(
            pulls.expects(3, number, 0, 8)
                && !pulls.expects(3, number, 0, 9)
                && !pulls.expects(3, number, 1, 1)
        );
        assert!(!pulls.expects(4, number, 0, 1) && !pulls.expects(3, number + 1, 0, 1));
        // SAFETY: the array has three bytes, and `at` is where `contiguous` said to put five.
        unsafe {
            assert_eq!(pulls.take(3, number, [1, 2, 3].as_ptr(), 3), PullOutcome::All);
            let (at, missing) = pulls.contiguous(3, number).unwrap();
            assert_eq!(missing, 5);
            at.write_bytes(9, 5);
            assert_eq!(pulls.take(3, number, at, 5), PullOutcome::Last(77));
        }
        assert_eq!(room, [1, 2, 3, 9, 9, 9, 9, 9]);
        assert!(pulls.is_empty() && !pulls.expects(3, number, 8, 0));
    }

    #[test]
    fn the_pulls_of_one_peer_end_with_it() {
        let mut pulls = TcpPulls::default();
        let target = || Target::Bytes { pointer: std::ptr::null_mut(), length: 1 };
        let (first, second) = (pulls.begin(1, 10, target()), pulls.begin(2, 20, target()));
        pulls.drop_peer(1);
        assert_eq!(
            (pulls.end(1, first), pulls.end(1, second), pulls.end(2, second)),
            (None, None, Some(20))
        );
    }
}
