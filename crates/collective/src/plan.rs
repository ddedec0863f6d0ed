//! Plans: the steps of one collective call and their dependencies.
//!
//! A plan is a directed acyclic graph. Each step counts the steps that it still waits for, and
//! lists the steps that wait for it. All edges are in one vector, chained per step in creation
//! order. Invariant: steps released by the same event start in the order of their numbers, so that
//! messages of one pair with one tag match in order.

use towpath_base::ids::{ContextId, PeerIndex};

use crate::buffers::{Piece, Scratch};
use crate::reducer::Reducer;
use crate::run::Run;

/// Number of a step in its plan.
pub(crate) type StepId = u32;

/// "No step" and "no edge".
pub(crate) const NONE: u32 = u32::MAX;

/// Reason why a plan could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Out of memory for intermediate results.
    #[error("the collective needs {bytes} bytes of memory for intermediate results, and the system gave none")]
    Memory {
        /// Bytes requested.
        bytes: i64,
    },
    /// The product of a count and an extent exceeds 2^63.
    #[error("count times extent exceeds 2^63 bytes; check the counts of the call")]
    Overflow,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum StepAction {
    /// Sends to a peer; the turn distinguishes messages of one pair.
    Send { peer: PeerIndex, turn: u16, piece: Piece },
    /// Receives from a peer.
    Receive { peer: PeerIndex, turn: u16, piece: Piece },
    /// Copies from the first to the second piece.
    Copy { from: Piece, to: Piece },
    /// `inout[i] = input[i] op inout[i]`.
    Reduce { input: *const u8, inout: *mut u8, count: i64 },
    /// No operation: lets many steps wait for many others with few edges.
    Join,
}

/// A step and its place in the graph.
#[derive(Debug)]
pub(crate) struct PlanStep {
    pub(crate) action: StepAction,
    /// Number of steps it waits for in a fresh plan.
    pub(crate) dependencies: u32,
    /// Number of steps it still waits for in the current run.
    pub(crate) waiting: u32,
    pub(crate) first_edge: u32,
    pub(crate) last_edge: u32,
}

/// A dependency: the step that waits, and the next edge of the same origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepEdge {
    pub(crate) to: StepId,
    pub(crate) next: u32,
}

/// A collective call ready for execution, once or (for persistent requests) many times.
#[derive(Debug)]
pub struct Plan {
    pub(crate) context: ContextId,
    /// This process's rank in the team.
    pub(crate) rank: usize,
    pub(crate) steps: Vec<PlanStep>,
    pub(crate) edges: Vec<StepEdge>,
    pub(crate) reducer: Option<Reducer>,
    pub(crate) memory: Vec<Scratch>,
}

impl Plan {
    /// The context of its messages.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// Starts the plan. `sequence` numbers the collective calls of the communicator and must be
    /// equal on all its ranks; only its lower 16 bits are used.
    ///
    /// # Safety
    /// All memory named when the plan was built must stay valid until the run is done, and must not
    /// be accessed by others in ways that the standard forbids for the buffers of a collective
    /// call.
    pub unsafe fn start(self, sequence: u32) -> Run {
        Run::new(self, sequence)
    }

    /// Creates a run that is already over, for [`Run::start_again`] (persistent requests).
    pub fn hold(self, sequence: u32) -> Run {
        Run::held(self, sequence)
    }

    /// Number of steps.
    pub fn length(&self) -> usize {
        self.steps.len()
    }
}

// SAFETY: the pointers of a plan are dereferenced only by the thread that executes it, and a
// request moves between threads only under the lock of its table.
unsafe impl Send for Plan {}
