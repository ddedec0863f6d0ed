//! Reasons for rejecting a frame. No external input causes a panic: a rejected frame is counted
//! here and dropped.

#![forbid(unsafe_code)]

/// The reasons, in the order in which a frame is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[repr(u8)]
pub enum Refusal {
    /// Shorter than a header.
    #[error("the frame is shorter than a header")]
    Short,
    /// Another version of the protocol.
    #[error("the frame has a different protocol version")]
    Version,
    /// Unknown kind of frame, or unknown flags.
    #[error("the frame has an unknown kind or unknown flags")]
    Kind,
    /// The length does not fit the frame, its kind, or what it belongs to.
    #[error("the frame's length is invalid")]
    Length,
    /// Wrong authentication tag: another job, a forged frame, or bit errors in transit.
    #[error("the frame's authentication tag is wrong")]
    Forged,
    /// For another endpoint of this host.
    #[error("the frame is for another endpoint")]
    Endpoint,
    /// Arrived over another rail than its header claims, or over one that does not exist.
    #[error("the frame arrived over a different rail than its header says")]
    Rail,
    /// From an unknown sender.
    #[error("the frame comes from an unknown sender")]
    Source,
    /// From an earlier incarnation of one of the two processes.
    #[error("the frame belongs to an earlier session")]
    Stale,
    /// Acknowledges frames that were never sent.
    #[error("the frame acknowledges frames that were never sent")]
    Acknowledgement,
    /// Sequence number outside the window.
    #[error("the frame's sequence number is outside the window")]
    Window,
    /// No room to store a frame that arrived out of order; it will be retransmitted.
    #[error("there is no room for a frame that arrived out of order")]
    Room,
    /// Names a region, request or group that does not exist (any more).
    #[error("the frame names a region, request or group that does not exist")]
    Unknown,
    /// Offset and length exceed the object they refer to.
    #[error("the frame extends beyond the end of its message or region")]
    Range,
    /// A duplicate. Harmless: a retransmitted frame may arrive twice.
    #[error("the frame is a duplicate")]
    Again,
}

const KINDS: usize = Refusal::Again as usize + 1;

/// How often each reason occurred.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusals([u64; KINDS]);

impl Refusals {
    /// Counts one rejected frame.
    pub fn count(&mut self, why: Refusal) {
        self.0[why as usize] += 1;
    }

    /// How often this reason occurred.
    pub fn of(&self, why: Refusal) -> u64 {
        self.0[why as usize]
    }

    /// The sum over all reasons.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Refusals) {
        self.0.iter_mut().zip(other.0).for_each(|(own, theirs)| *own += theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_count() {
        let mut refusals = Refusals::default();
        for why in [Refusal::Short, Refusal::Again, Refusal::Again] {
            refusals.count(why);
        }
        let mut sum = refusals;
        sum.add(&refusals);
        assert_eq!(
            (sum.of(Refusal::Short), sum.of(Refusal::Again), sum.of(Refusal::Forged)),
            (2, 4, 0)
        );
        assert_eq!(sum.total(), 6);
    }
}
