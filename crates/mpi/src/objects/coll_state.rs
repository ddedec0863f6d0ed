//! The state that a communicator keeps for its blocking collectives: a board in shared memory, and
//! a multicast group. `chapters::collectives::boards` and `chapters::collectives::multicast` make
//! and use them.

use towpath_collective::Pays;
use towpath_collective::board::BoardLimits;
use towpath_engine::board::Board;

/// What is known about the board of a communicator.
#[derive(Debug, Default)]
pub(crate) enum BoardState {
    /// No call has needed a board yet.
    #[default]
    Unknown,
    /// There is no board: no memory, or members on several hosts.
    Missing,
    /// The board exists.
    Made {
        board: Box<Board>,
        /// Which calls use the board.
        limits: BoardLimits,
        /// Whether the board has areas for long messages; `None` until a call needs them.
        areas: Option<bool>,
        /// Number of calls that used the board.
        calls: u32,
    },
}

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
