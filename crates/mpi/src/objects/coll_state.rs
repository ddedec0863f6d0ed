//! The state that a communicator keeps for collectives by multicast.
//! `chapters::collectives::multicast` makes and uses it.

use towpath_collective::Pays;

/// What is known about the multicast group of a communicator.
#[derive(Debug)]
pub(crate) enum MulticastState {
    /// Not decided yet. Counts the calls that could have used a group.
    Unknown(u32),
    /// There is no group: too few hosts, or multicast frames do not reach them.
    Missing,
    /// The group exists.
    Made(Box<JoinedGroup>),
}

impl Default for MulticastState {
    fn default() -> MulticastState {
        MulticastState::Unknown(0)
    }
}

/// A multicast group that this process has joined.
#[derive(Debug)]
pub(crate) struct JoinedGroup {
    pub(crate) number: u32,
    pub(crate) chunk: u16,
    pub(crate) pays: Pays,
    /// The ranks of each host.
    pub(crate) hosts: Vec<Vec<usize>>,
    /// Index of this process's host in `hosts`.
    pub(crate) own: usize,
    /// True once this process has sent to the group.
    pub(crate) sends: bool,
}
