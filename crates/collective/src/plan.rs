//! Plans: the steps of one collective call and what each must wait for.
//!
//! A plan is a directed graph without cycles. Every step counts the steps that it still waits for
//! and knows the steps that wait for it; edges lie in one list, chained per step in the order in
//! which they were made. Invariant: steps that the same event releases start in the order of their
//! numbers, so that messages of one pair with one tag match in order.

use towpath_base::ids::{ContextId, PeerIndex};

use crate::buffers::{Piece, Scratch};
use crate::reducer::Reducer;
use crate::run::Run;

/// Number of a step in its plan.
pub(crate) type StepId = u32;

/// "No step" and "no edge".
pub(crate) const NONE: u32 = u32::MAX;

/// Why a plan could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No memory for intermediate results.
    #[error("the collective needs {bytes} bytes of memory for intermediate results, and the system gave none")]
    Memory {
        /// How many bytes were asked for.
        bytes: i64,
    },
    /// Counts and extents that multiply to more than 2^63.
    #[error("count times extent exceeds 2^63 bytes; check the counts of the call")]
    Overflow,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Sends to a peer; the turn tells messages of one pair apart.
    Send { peer: PeerIndex, turn: u16, piece: Piece },
    /// Receives from a peer.
    Receive { peer: PeerIndex, turn: u16, piece: Piece },
    /// Copies from the first to the second piece.
    Copy { from: Piece, to: Piece },
    /// `inout[i] = input[i] op inout[i]`.
    Reduce { input: *const u8, inout: *mut u8, count: i64 },
    /// Nothing: many steps wait for many others through it.
    Join,
}

/// A step with its place in the graph.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// Steps it waits for in a fresh plan.
    pub(crate) dependencies: u32,
    /// Steps it still waits for in the current run.
    pub(crate) waiting: u32,
    pub(crate) first_edge: u32,
    pub(crate) last_edge: u32,
}

/// One step that waits for another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) to: StepId,
    pub(crate) next: u32,
}

/// A collective call that is ready to be executed, once or (for persistent requests) many times.
#[derive(Debug)]
pub struct Plan {
    pub(crate) context: ContextId,
    /// My rank in the team.
    pub(crate) rank: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) reducer: Option<Reducer>,
    pub(crate) memory: Vec<Scratch>,
}

impl Plan {
    /// The context of its messages.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// Begins to execute the plan. `sequence` numbers the collective calls of the communicator and
    /// must be equal on all its ranks; its lower 16 bits count.
    ///
    /// # Safety
    /// All memory that was named when the plan was built must live until the run is done, unused by
    /// others as the standard asks of the buffers of a collective call.
    pub unsafe fn start(self, sequence: u32) -> Run {
        Run::new(self, sequence)
    }

    /// A run that is over before it began, for [`Run::start_again`] (persistent requests).
    pub fn hold(self, sequence: u32) -> Run {
        Run::held(self, sequence)
    }

    /// How many steps it has.
    pub fn length(&self) -> usize {
        self.steps.len()
    }
}

// SAFETY: the pointers of a plan are used only by the thread that executes it; requests move
// between threads under the lock of their table.
unsafe impl Send for Plan {}
