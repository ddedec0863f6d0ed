//! The builder of plans: adds steps, phases and edges, and allocates memory for intermediate
//! results.
//!
//! Most algorithms consist of phases: a step waits for all steps of the earlier phases. Where that
//! is too strict (pipelines, reductions in order of arrival), steps share a phase and
//! [`Builder::after`] adds the edges between them. Messages without bytes are omitted on both
//! sides. Signals are sent even though they carry no data.

use std::ops::Range;

use towpath_base::ids::PeerIndex;
use towpath_datatype::device::Device;

use crate::Team;
use crate::buffers::{Element, Piece, Scratch};
use crate::plan::{
    Expanded, Expansion, NONE, Plan, PlanError, PlanStep, StepAction, StepEdge, StepId,
};
use crate::reducer::Reducer;
use crate::signature::CallSignature;

/// A step that was added; `None` if there was nothing to do.
pub(crate) type Mark = Option<StepId>;

/// A plan under construction.
pub(crate) struct Builder {
    pub(crate) team: Team,
    plan: Plan,
    /// Completes after all steps of earlier phases.
    gate: Mark,
    /// First step of the current phase.
    phase_start: usize,
    failure: Option<PlanError>,
    is_truncated: bool,
    withdrawn: Vec<usize>,
}

impl Builder {
    pub(crate) fn new(team: &Team) -> Builder {
        let plan = Plan {
            context: team.context,
            signature: CallSignature::default(),
            steps: Vec::new(),
            edges: Vec::new(),
            expansions: Vec::new(),
            reducer: None,
            memory: Vec::new(),
            device_memory: Vec::new(),
        };
        Builder {
            team: team.clone(),
            plan,
            gate: None,
            phase_start: 0,
            failure: None,
            is_truncated: false,
            withdrawn: Vec::new(),
        }
    }

    /// Adds steps within a sub-team: ranks are those of `team` meanwhile.
    pub(crate) fn within(&mut self, team: &Team, add: impl FnOnce(&mut Builder)) {
        let outer = std::mem::replace(&mut self.team, team.clone());
        add(self);
        self.team = outer;
    }

    /// Makes the plan fail to build, because a product of the arguments exceeds 63 bits.
    pub(crate) fn overflow(&mut self) {
        self.failure.get_or_insert(PlanError::Overflow);
    }

    /// Returns the finished plan.
    pub(crate) fn finish(self) -> Result<Plan, PlanError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.plan),
        }
    }

    /// This rank.
    pub(crate) fn rank(&self) -> usize {
        self.team.rank
    }

    /// Number of ranks in the team.
    pub(crate) fn size(&self) -> usize {
        self.team.size()
    }

    /// Sets the operation of all reduce steps.
    pub(crate) fn reduce_with(&mut self, reducer: &Reducer) {
        self.plan.reducer = Some(reducer.clone());
    }

    /// Ends a phase: everything added later waits for everything added so far.
    pub(crate) fn phase(&mut self) {
        let steps = &self.plan.steps;
        let ends: Vec<Mark> = (self.phase_start..steps.len())
            .filter(|&step| steps[step].first_edge == NONE)
            .map(|step| Some(step as StepId))
            .collect();
        self.gate = self.join(ends).or(self.gate);
        self.phase_start = self.plan.steps.len();
    }

    /// The step after which all of these are done.
    pub(crate) fn join(&mut self, steps: impl IntoIterator<Item = Mark>) -> Mark {
        let steps: Vec<StepId> = steps.into_iter().flatten().collect();
        if let [] | [_] = steps[..] {
            return steps.first().copied();
        }
        let join = self.add_free(StepAction::Join);
        steps.into_iter().for_each(|step| self.edge(step, join));
        Some(join)
    }

    /// Makes `later` wait for `earlier`, within one phase.
    pub(crate) fn after(&mut self, later: Mark, earlier: Mark) {
        if let (Some(later), Some(earlier)) = (later, earlier) {
            self.edge(earlier, later);
        }
    }

    /// Sends `piece` to `rank`.
    pub(crate) fn send(&mut self, rank: usize, turn: usize, piece: Piece) -> Mark {
        let peer = self.team.peers[rank];
        self.send_to(peer, turn, piece)
    }

    /// Receives `piece` from `rank`.
    pub(crate) fn receive(&mut self, rank: usize, turn: usize, piece: Piece) -> Mark {
        let peer = self.team.peers[rank];
        self.receive_from(peer, turn, piece)
    }

    /// Sends `piece` to a peer that need not be in the team.
    pub(crate) fn send_to(&mut self, peer: PeerIndex, turn: usize, piece: Piece) -> Mark {
        (piece.bytes() > 0).then(|| self.add(StepAction::Send { peer, turn: turn as u16, piece }))
    }

    /// Receives `piece` from a peer that need not be in the team.
    pub(crate) fn receive_from(&mut self, peer: PeerIndex, turn: usize, piece: Piece) -> Mark {
        (piece.bytes() > 0)
            .then(|| self.add(StepAction::Receive { peer, turn: turn as u16, piece }))
    }

    /// Sends a message without bytes.
    pub(crate) fn signal(&mut self, peer: PeerIndex, turn: usize) -> Mark {
        let piece = Piece::raw(std::ptr::dangling_mut(), 0);
        Some(self.add(StepAction::Send { peer, turn: turn as u16, piece }))
    }

    /// Receives a message without bytes.
    pub(crate) fn await_signal(&mut self, peer: PeerIndex, turn: usize) -> Mark {
        let piece = Piece::raw(std::ptr::dangling_mut(), 0);
        Some(self.add(StepAction::Receive { peer, turn: turn as u16, piece }))
    }

    /// Receives `piece` from `rank`, which sends something even if this rank expects nothing.
    pub(crate) fn receive_always(&mut self, rank: usize, turn: usize, piece: Piece) -> Mark {
        match piece.bytes() {
            0 => self.await_signal(self.team.peers[rank], turn),
            _ => self.receive(rank, turn, piece),
        }
    }

    /// Adds the steps that `build` derives from what these receives of contiguous bytes get. It may
    /// [withdraw](Builder::withdraw) some of the receives `posted`, for which no step may wait.
    pub(crate) fn expand(
        &mut self,
        receives: &[Mark],
        posted: &[Mark],
        build: impl Fn(&mut Builder, &[&[u8]]) + 'static,
    ) -> Mark {
        let team = self.team.clone();
        let build = move |received: &[&[u8]]| {
            let mut builder = Builder::new(&team);
            build(&mut builder, received);
            let (withdrawn, is_truncated) =
                (std::mem::take(&mut builder.withdrawn), builder.is_truncated);
            Ok(Expanded { plan: builder.finish()?, withdrawn, is_truncated })
        };
        let [receives, posted]: [Vec<StepId>; 2] =
            [receives, posted].map(|marks| marks.iter().copied().flatten().collect());
        let expansion = self.plan.expansions.len() as u32;
        let step = self.add(StepAction::Expand { expansion });
        receives.iter().for_each(|&receive| self.edge(receive, step));
        self.plan.expansions.push(Expansion { receives, posted, build: Box::new(build) });
        Some(step)
    }

    /// Makes the plan fail to build, because there is no memory for `bytes` bytes.
    pub(crate) fn exhausted(&mut self, bytes: i64) {
        self.failure.get_or_insert(PlanError::Memory { bytes });
    }

    /// Notes in an expansion that a posted receive, given by its index, gets no message.
    pub(crate) fn withdraw(&mut self, posted: usize) {
        self.withdrawn.push(posted);
    }

    /// Notes in an expansion that a rank has sent more than this one expects.
    pub(crate) fn truncated(&mut self) {
        self.is_truncated = true;
    }

    /// Copies between pieces, which must be either identical or disjoint.
    pub(crate) fn copy(&mut self, from: Piece, to: Piece) -> Mark {
        (from.bytes() > 0 && !from.same(&to)).then(|| self.add(StepAction::Copy { from, to }))
    }

    /// Adds a finished plan to the current phase. Its reducer becomes that of this plan.
    pub(crate) fn graft(&mut self, plan: Plan) {
        let first = (0u32..).zip(&plan.steps).filter(|(_, step)| step.dependencies == 0);
        let starts: Vec<StepId> = first.map(|(step, _)| step).collect();
        self.plan.signature = plan.signature;
        if let Some(reducer) = &plan.reducer {
            self.reduce_with(reducer);
        }
        let first_step = self.plan.append(plan);
        if let Some(gate) = self.gate {
            starts.into_iter().for_each(|step| self.edge(gate, first_step + step));
        }
    }

    /// Keeps memory that the steps use.
    pub(crate) fn keep(&mut self, memory: Vec<Scratch>) {
        self.plan.memory.extend(memory);
    }

    /// `inout[i] = input[i] op inout[i]` for the elements of `range`.
    pub(crate) fn reduce(
        &mut self,
        input: *mut u8,
        inout: *mut u8,
        range: Range<i64>,
        element: &Element,
    ) -> Mark {
        let count = range.end - range.start;
        let (input, inout) = (element.at(input, range.start), element.at(inout, range.start));
        let device = element.reducing_device().map(|(device, _)| device);
        (count > 0).then(|| self.add(StepAction::Reduce { input, inout, count, device }))
    }

    /// Allocates `bytes` bytes. If memory is exhausted, the plan fails to build.
    pub(crate) fn bytes(&mut self, bytes: i64) -> *mut u8 {
        match Scratch::new(bytes) {
            Some(mut scratch) => {
                let pointer = scratch.pointer();
                self.plan.memory.push(scratch);
                pointer
            }
            None => {
                self.exhausted(bytes);
                std::ptr::dangling_mut()
            }
        }
    }

    /// Allocates `bytes` bytes in the memory of the device that holds the address `like`. If it is
    /// exhausted, the plan fails to build.
    fn bytes_on(&mut self, device: &dyn Device, like: usize, bytes: i64) -> *mut u8 {
        match device.allocate(like, bytes as usize) {
            Some(memory) => {
                let pointer = memory.pointer();
                self.plan.device_memory.push(memory);
                pointer
            }
            None => {
                self.exhausted(bytes);
                std::ptr::dangling_mut()
            }
        }
    }

    /// Allocates an array of `count` elements, where the device that reduces them has its memory,
    /// if there is one. The pointer is the address of element 0, as for a user buffer.
    pub(crate) fn scratch(&mut self, count: i64, element: &Element) -> *mut u8 {
        let Some((low, high)) = element.span(count) else {
            self.overflow();
            return std::ptr::dangling_mut();
        };
        let memory = match element.reducing_device() {
            Some((device, how)) => self.bytes_on(device, how.like, high - low),
            None => self.bytes(high - low),
        };
        memory.wrapping_offset(-low as isize)
    }

    fn add(&mut self, action: StepAction) -> StepId {
        let step = self.add_free(action);
        if let Some(gate) = self.gate {
            self.edge(gate, step);
        }
        step
    }

    fn add_free(&mut self, action: StepAction) -> StepId {
        let step = self.plan.steps.len() as StepId;
        self.plan.steps.push(PlanStep {
            action,
            dependencies: 0,
            waiting: 0,
            first_edge: NONE,
            last_edge: NONE,
        });
        step
    }

    fn edge(&mut self, earlier: StepId, later: StepId) {
        debug_assert!(earlier < later, "edges lead from older to newer steps");
        let edge = self.plan.edges.len() as u32;
        self.plan.edges.push(StepEdge { to: later, next: NONE });
        let step = &mut self.plan.steps[earlier as usize];
        match step.last_edge {
            NONE => step.first_edge = edge,
            last => self.plan.edges[last as usize].next = edge,
        }
        step.last_edge = edge;
        self.plan.steps[later as usize].dependencies += 1;
    }
}
