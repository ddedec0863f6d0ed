//! Plans: the steps of one collective call and their dependencies.
//!
//! A plan is a directed acyclic graph. Each step counts the steps that it still waits for, and
//! lists the steps that wait for it. All edges are in one vector, chained per step in creation
//! order. Invariant: steps released by the same event start in the order of their numbers, so that
//! messages of one pair with the same turn match in order.

use towpath_base::ids::{ContextId, PeerIndex};

use crate::buffers::{Piece, Scratch};
use crate::reducer::Reducer;
use crate::signature::CallSignature;

/// Number of a step in its plan.
pub type StepId = u32;

/// "No step" and "no edge".
pub const NONE: u32 = u32::MAX;

/// Reason why a plan could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Out of memory for intermediate results.
    #[error(
        "the collective needs {bytes} bytes of memory for intermediate results, which the system \
         cannot provide"
    )]
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
pub enum StepAction {
    /// Sends to a peer.
    Send {
        /// The receiver.
        peer: PeerIndex,
        /// Distinguishes messages of one pair that are in flight; equal at both ends.
        turn: u16,
        /// The data.
        piece: Piece,
    },
    /// Receives from a peer.
    Receive {
        /// The sender.
        peer: PeerIndex,
        /// As in [`StepAction::Send`].
        turn: u16,
        /// The destination of the data.
        piece: Piece,
    },
    /// Copies from the first to the second piece.
    Copy {
        /// The data.
        from: Piece,
        /// Its destination.
        to: Piece,
    },
    /// `inout[i] = input[i] op inout[i]`.
    Reduce {
        /// The operands of the lower ranks.
        input: *const u8,
        /// Those of the higher ranks, and the results.
        inout: *mut u8,
        /// Number of elements.
        count: i64,
    },
    /// No operation: lets many steps wait for many others with few edges.
    Join,
}

/// A step and its edges in the graph.
#[derive(Debug)]
pub struct PlanStep {
    /// What it does.
    pub action: StepAction,
    /// Number of steps it waits for in a fresh plan.
    pub dependencies: u32,
    /// Number of steps it still waits for in the current run.
    pub waiting: u32,
    /// The first edge to a step that waits for it, or [`NONE`].
    pub first_edge: u32,
    /// The last of these edges, or [`NONE`].
    pub last_edge: u32,
}

/// A dependency: the step that waits, and the next edge of the same origin.
#[derive(Clone, Copy, Debug)]
pub struct StepEdge {
    /// The step that waits.
    pub to: StepId,
    /// The next edge of the same origin, or [`NONE`].
    pub next: u32,
}

/// A collective call ready for execution, once or (for persistent requests) many times.
#[derive(Debug)]
pub struct Plan {
    /// The context of its messages.
    pub context: ContextId,
    /// What its messages say of the call.
    pub signature: CallSignature,
    /// The steps; a step waits only for earlier ones.
    pub steps: Vec<PlanStep>,
    /// The edges of all steps.
    pub edges: Vec<StepEdge>,
    /// The operation of its reductions, if it has any.
    pub reducer: Option<Reducer>,
    /// Memory for intermediate results.
    pub memory: Vec<Scratch>,
}

impl Plan {
    /// Number of steps.
    pub fn length(&self) -> usize {
        self.steps.len()
    }

    /// Bytes of memory that the plan occupies: its steps, and their intermediate results.
    pub fn bytes(&self) -> usize {
        let steps = self.steps.len() * size_of::<PlanStep>();
        steps + self.memory.iter().map(Scratch::bytes).sum::<usize>()
    }
}
