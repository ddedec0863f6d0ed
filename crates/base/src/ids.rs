//! Identifiers that cross storeys and processes.

/// Index of a process in this process's own growable table of peers.
///
/// It is *not* a rank: for the processes of the first job it equals the rank in the first job's
/// world, later jobs (spawned, accepted) are appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerIndex(pub u32);

impl PeerIndex {
    /// The index as an offset into a table.
    #[inline]
    pub fn slot(self) -> usize {
        self.0 as usize
    }
}

/// Name of a communication context: carried whole in every header, never agreed upon by a protocol.
///
/// Layout: bits 63..32 the creator's process number, bits 31..2 a counter of the creator, bits 1..0
/// the [`Plane`]. Process numbers are the ranks of a job added to a random number of it, so they
/// differ inside a job. Two jobs may have common ones (with n processes each about once in 2^31 /
/// n), so jobs that meet must compare theirs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub u64);

/// Which kind of traffic of one communicator a message belongs to. Messages of different planes
/// never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Plane {
    /// Point-to-point messages of the program.
    PointToPoint = 0,
    /// Messages of collective operations.
    Collective = 1,
    /// Messages of one-sided operations.
    OneSided = 2,
    /// Messages that Towpath's own object management sends (communicator creation, files).
    Internal = 3,
}

/// How many contexts one process can name.
pub const CONTEXTS: u32 = 1 << 30;

impl ContextId {
    /// A context named by its creator's process number and the creator's counter, which is below
    /// [`CONTEXTS`].
    pub fn new(creator: u32, counter: u32) -> ContextId {
        assert!(counter < CONTEXTS, "{counter} names no context");
        ContextId(u64::from(creator) << 32 | u64::from(counter) << 2)
    }

    /// The same context on another plane.
    #[inline]
    pub fn on(self, plane: Plane) -> ContextId {
        ContextId(self.0 & !3 | plane as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_do_not_collide() {
        let context = ContextId::new(7, 9);
        let all = [Plane::PointToPoint, Plane::Collective, Plane::OneSided, Plane::Internal].map(|p| context.on(p));
        for (i, a) in all.iter().enumerate() {
            assert_eq!(a.on(Plane::PointToPoint), context);
            assert!(all.iter().skip(i + 1).all(|b| b != a));
        }
    }
}
