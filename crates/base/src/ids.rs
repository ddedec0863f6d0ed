//! Identifiers that are shared by several layers and processes.

/// Identifies a job: 128 random bits, the same in all its processes, different in every other job
/// that may ever connect to it. Not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u128);

impl JobId {
    /// The identifier, folded to 32 bits. The processes of a job derive the numbers in their
    /// context identifiers from it.
    pub fn folded(self) -> u32 {
        let folded = (self.0 ^ self.0 >> 64) as u64;
        (folded ^ folded >> 32) as u32
    }
}

/// Identifies a process of any job. All processes name it, and order it among others, in the same
/// way, whatever its [`PeerIndex`] is in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// Its job.
    pub job: JobId,
    /// Its rank in that job's MPI_COMM_WORLD.
    pub rank: u32,
}

impl ProcessId {
    /// The name of this process in a sentence for the user, as a process of job `own` says it.
    pub fn in_words(self, own: JobId) -> String {
        let other = if self.job == own { "" } else { " of another job" };
        format!("rank {}{other}", self.rank)
    }
}

/// Index of a process in this process's growable table of peers.
///
/// It is *not* a rank. For processes of the first job it equals the rank in that job's
/// MPI_COMM_WORLD; processes of later jobs (spawned, accepted) are appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerIndex(pub u32);

impl PeerIndex {
    /// The index as an offset into a table of peers.
    #[inline]
    pub fn slot(self) -> usize {
        self.0 as usize
    }
}

/// Identifies a communication context. Carried in full in every message header, so processes need
/// not agree on a shorter one.
///
/// Bits 63..32 are the creator's process number, bits 31..2 a counter of the creator, bits 1..0 the
/// [`Plane`]. Process numbers are the ranks of a job plus a random number of that job, so they are
/// unique within a job. Those of two jobs may overlap (with n processes each about once in 2^31 /
/// n), so jobs must compare their process numbers before they connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub u64);

/// Class of traffic within one communicator. Messages of different planes never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Plane {
    /// The program's point-to-point messages.
    PointToPoint = 0,
    /// Messages of collective operations.
    Collective = 1,
    /// Messages of one-sided operations.
    OneSided = 2,
    /// Messages of Towpath's own object management (communicator creation, files).
    Internal = 3,
}

/// Number of contexts that one process can create.
pub const CONTEXTS: u32 = 1 << 30;

impl ContextId {
    /// The context of a creator's process number and counter.
    ///
    /// # Panics
    /// If `counter` is not below [`CONTEXTS`].
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
        let all = [Plane::PointToPoint, Plane::Collective, Plane::OneSided, Plane::Internal]
            .map(|p| context.on(p));
        for (i, a) in all.iter().enumerate() {
            assert_eq!(a.on(Plane::PointToPoint), context);
            assert!(all.iter().skip(i + 1).all(|b| b != a));
        }
    }
}
