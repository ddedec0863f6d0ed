//! The board of nonblocking calls, and the order in which they use it.

use towpath_schedule::Operation;
use towpath_schedule::select::{Selection, Subscription};

use super::{BoardLimits, Need, TeamBoard};

/// What is known about a board.
#[derive(Debug, Default)]
pub enum BoardState {
    /// No call has needed the board yet, or a nonblocking call is using it.
    #[default]
    Unknown,
    /// There is no board: no memory, or members on several hosts.
    Missing,
    /// The board exists.
    Made(Box<TeamBoard>),
}

/// The board of a communicator's nonblocking collectives, or of a persistent one, and whose turn it
/// is.
#[derive(Debug, Default)]
pub struct BoardQueue {
    pub(super) board: BoardState,
    /// Which calls may use the board, when ranks have a core each and when they share cores;
    /// computed by the first call.
    pub(super) limits: Option<Box<[BoardLimits; 2]>>,
    /// Whether a call has asked for the board, and for its areas.
    pub(super) asks: bool,
    pub(super) asks_for_areas: bool,
    /// Numbers of calls in the queue so far, and of those that are over.
    pub(super) queued: u32,
    pub(super) over: u32,
}

/// The sequence numbers of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallNumbers {
    /// Of its plan of messages.
    pub(super) plan: u32,
    /// Of three exchanges that find the board, if the call is the first to need it.
    pub(super) board: Option<[u32; 3]>,
    /// Of the exchange about the areas of the board, if the call is the first to need them.
    pub(super) areas: Option<u32>,
}

/// The place of a nonblocking call.
#[derive(Debug)]
pub enum Place {
    /// The queue of the communicator, with the turn and the sequence numbers there.
    Queued(u32, CallNumbers),
    /// Not in the queue: it runs by messages with this sequence number.
    Outside(u32),
}

impl BoardQueue {
    /// Gives the next nonblocking call of a team its place. `number` returns the next sequence
    /// number of the team, and `is_on_one_host` says whether all of its members are on this host.
    pub fn place(
        &mut self,
        operation: &Operation,
        selection: &Selection,
        (ranks, is_on_one_host): (usize, bool),
        mut number: impl FnMut() -> u32,
    ) -> Place {
        let plan = number();
        if ranks == 1 || !is_on_one_host {
            return Place::Outside(plan);
        }
        let limits = self.limits.get_or_insert_with(|| Box::new(limits_of(selection, ranks)));
        let needs = limits.each_ref().map(|limits| limits.need(operation));
        if needs == [None; 2] {
            return Place::Outside(plan);
        }
        let is_first = !std::mem::replace(&mut self.asks, true);
        let needs_areas = needs.contains(&Some(Need::Areas));
        let is_first_long = needs_areas && !std::mem::replace(&mut self.asks_for_areas, true);
        let board = is_first.then(|| [number(), number(), number()]);
        let areas = is_first_long.then(number);
        let uses_board = match &self.board {
            BoardState::Missing => false,
            BoardState::Made(board) => is_first_long || board.serves(operation),
            BoardState::Unknown => true,
        };
        if !uses_board {
            return Place::Outside(plan);
        }
        let turn = self.queued;
        self.queued = turn.wrapping_add(1);
        Place::Queued(turn, CallNumbers { plan, board, areas })
    }
}

impl CallNumbers {
    /// The sequence numbers of a persistent operation of a team on one host, which may use a board
    /// of its own; `None` if it cannot. `number` returns the next number of the team.
    pub fn of_persistent(
        operation: &Operation,
        selection: &Selection,
        ranks: usize,
        mut number: impl FnMut() -> u32,
    ) -> Option<CallNumbers> {
        let needs = limits_of(selection, ranks).map(|limits| limits.need(operation));
        if ranks == 1 || needs == [None; 2] {
            return None;
        }
        let (plan, board) = (number(), Some([number(), number(), number()]));
        let areas = needs.contains(&Some(Need::Areas)).then(number);
        Some(CallNumbers { plan, board, areas })
    }
}

/// Which calls may use a board, when ranks have a core each and when they share cores.
fn limits_of(selection: &Selection, ranks: usize) -> [BoardLimits; 2] {
    [Subscription::Full, Subscription::Over]
        .map(|subscription| BoardLimits::new(selection, ranks, subscription))
}
