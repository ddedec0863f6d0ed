//! Plans: the steps of one collective call and their dependencies.
//!
//! A plan is a directed acyclic graph. Each step counts the steps that it still waits for, and
//! lists the steps that wait for it. All edges are in one vector, chained per step in creation
//! order. Invariant: steps released by the same event start in the order of their numbers, so that
//! messages of one pair with the same turn match in order.
//!
//! Where only other ranks know what this one must do, a plan contains an [`Expansion`]: it reads
//! what they have sent, and adds the steps that follow from it.

use std::fmt;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_datatype::device::{Device, DeviceMemory};

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
        /// The device that computes it, in its memory; `None` is the processor.
        device: Option<&'static dyn Device>,
    },
    /// Adds the steps of an expansion to the plan under way.
    Expand {
        /// Index of the expansion.
        expansion: u32,
    },
    /// No operation: lets many steps wait for many others with few edges.
    Join,
}

/// Steps that depend on the content of messages.
pub struct Expansion {
    /// The receives of these messages, into contiguous memory of the plan.
    pub receives: Vec<StepId>,
    /// Receives that are posted already, and that may get no message.
    pub posted: Vec<StepId>,
    /// Builds the steps from what the receives have got, in their order.
    pub build: Box<ExpansionBuilder>,
}

/// See [`Expansion::build`].
pub type ExpansionBuilder = dyn Fn(&[&[u8]]) -> Result<Expanded, PlanError>;

impl fmt::Debug for Expansion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "expansion after the receives {:?}", self.receives)
    }
}

/// What an expansion adds to a plan.
#[derive(Debug)]
pub struct Expanded {
    /// The steps. They wait for none of the others, and none of the others for them.
    pub plan: Plan,
    /// Indices of the [posted receives](Expansion::posted) that get no message.
    pub withdrawn: Vec<usize>,
    /// True if a rank has sent more than this one expects.
    pub is_truncated: bool,
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
    /// What [`StepAction::Expand`] adds.
    pub expansions: Vec<Expansion>,
    /// The operation of its reductions, if it has any.
    pub reducer: Option<Reducer>,
    /// Memory for intermediate results.
    pub memory: Vec<Scratch>,
    /// The same in the memory of a device.
    pub device_memory: Vec<Box<dyn DeviceMemory>>,
}

/// How long the parts of a plan are, see [`Plan::truncate`].
#[derive(Clone, Copy, Debug)]
pub struct PlanLength {
    steps: usize,
    edges: usize,
    expansions: usize,
    memory: usize,
    device_memory: usize,
}

impl Plan {
    /// Number of steps.
    pub fn length(&self) -> usize {
        self.steps.len()
    }

    /// Appends the steps of another plan, with their memory. Returns the number of the first one.
    pub fn append(&mut self, plan: Plan) -> StepId {
        let (first_step, first_edge) = (self.steps.len() as StepId, self.edges.len() as u32);
        let first_expansion = self.expansions.len() as u32;
        let moved = |edge: u32| if edge == NONE { NONE } else { edge + first_edge };
        self.steps.extend(plan.steps.into_iter().map(|mut step| {
            if let StepAction::Expand { expansion } = &mut step.action {
                *expansion += first_expansion;
            }
            let (first_edge, last_edge) = (moved(step.first_edge), moved(step.last_edge));
            PlanStep { first_edge, last_edge, ..step }
        }));
        let edges = plan.edges.into_iter();
        self.edges.extend(
            edges.map(|edge| StepEdge { to: edge.to + first_step, next: moved(edge.next) }),
        );
        self.expansions.extend(plan.expansions.into_iter().map(|mut expansion| {
            let Expansion { receives, posted, .. } = &mut expansion;
            receives.iter_mut().chain(posted).for_each(|step| *step += first_step);
            expansion
        }));
        self.memory.extend(plan.memory);
        self.device_memory.extend(plan.device_memory);
        first_step
    }

    /// The lengths of all parts.
    pub fn length_of_all(&self) -> PlanLength {
        PlanLength {
            steps: self.steps.len(),
            edges: self.edges.len(),
            expansions: self.expansions.len(),
            memory: self.memory.len(),
            device_memory: self.device_memory.len(),
        }
    }

    /// Removes what was [appended](Plan::append) when the plan had this length. Only expansions
    /// append to a plan that is in use.
    pub fn truncate(&mut self, length: PlanLength) {
        if self.expansions.is_empty() {
            return;
        }
        self.steps.truncate(length.steps);
        self.edges.truncate(length.edges);
        self.expansions.truncate(length.expansions);
        self.memory.truncate(length.memory);
        self.device_memory.truncate(length.device_memory);
    }

    /// Bytes of memory that the plan occupies: its steps, and their intermediate results.
    pub fn bytes(&self) -> usize {
        let steps = self.steps.len() * size_of::<PlanStep>();
        let on_devices = self.device_memory.iter().map(|memory| memory.bytes()).sum::<usize>();
        steps + self.memory.iter().map(Scratch::bytes).sum::<usize>() + on_devices
    }
}
