//! Host copies of buffers in the memory of a device, for reductions that the processor computes:
//! data is copied to the host before the reduction, and the result back after it.

use towpath_datatype::Datatype;
use towpath_datatype::device::Device;

use crate::Team;
use crate::buffers::{Element, Piece, Scratch};
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};

/// The host copies of one call.
#[derive(Debug, Default)]
pub struct HostCopies {
    before: Vec<(Piece, Piece)>,
    after: Vec<(Piece, Piece)>,
    memory: Vec<Scratch>,
}

impl HostCopies {
    /// Replaces the elements at `pointer`: the first `read` of them are copied to the host before
    /// the reduction, and the first `written` back after it. Returns the address of the copy.
    ///
    /// # Errors
    /// If there is no memory for the copy.
    pub fn add(
        &mut self,
        pointer: *mut u8,
        read: i64,
        written: i64,
        datatype: &Datatype,
        device: &'static dyn Device,
    ) -> Result<*mut u8, PlanError> {
        let (there, here) = (Element::on_device(datatype, device), Element::of(datatype));
        let (low, high) = here.span(read.max(written)).ok_or(PlanError::Overflow)?;
        let bytes = high - low;
        let mut scratch = Scratch::new(bytes).ok_or(PlanError::Memory { bytes })?;
        let copy = scratch.pointer().wrapping_offset(-low as isize);
        self.memory.push(scratch);
        let pieces = |count| (there.piece(pointer, 0, count), here.piece(copy, 0, count));
        if read > 0 {
            self.before.push(pieces(read));
        }
        if written > 0 {
            let (device, host) = pieces(written);
            self.after.push((host, device));
        }
        Ok(copy)
    }

    /// What a copy is of.
    pub(crate) fn original(&self, copy: *mut u8) -> Option<&Piece> {
        let before = self.before.iter().map(|(there, here)| (here, there));
        let after = self.after.iter().map(|(here, there)| (here, there));
        before.chain(after).find(|(here, _)| here.pointer == copy).map(|(_, there)| there)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// What is copied to the host before the reduction: from the first to the second piece.
    pub fn before(&self) -> &[(Piece, Piece)] {
        &self.before
    }

    /// What is copied back after it.
    pub fn after(&self) -> &[(Piece, Piece)] {
        &self.after
    }

    /// The plan with the copies around it.
    ///
    /// # Errors
    /// Those of a plan that cannot be built; there are none now.
    pub fn around(self, team: &Team, plan: Plan) -> Result<Plan, PlanError> {
        let mut builder = Builder::new(team);
        for (from, to) in self.before {
            builder.copy(from, to);
        }
        builder.phase();
        builder.graft(plan);
        builder.phase();
        for (from, to) in self.after {
            builder.copy(from, to);
        }
        builder.keep(self.memory);
        builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use towpath_base::ids::{ContextId, PeerIndex};
    use towpath_datatype::Basic;
    use towpath_datatype::device::simulated::SimulatedDevice;

    use super::*;
    use crate::Placement;
    use crate::plan::{NONE, StepAction};

    #[test]
    fn the_reduction_waits_for_the_copies_and_its_result_for_the_reduction() {
        static DEVICE: SimulatedDevice = SimulatedDevice;
        let (context, placement) = (ContextId::new(1, 1), Placement::on_one_host(1).into());
        let team = Team { context, rank: 0, peers: [PeerIndex(0)].into(), placement };
        let int = Datatype::named(Basic::Int32);
        let (mut copies, mut vectors) = (HostCopies::default(), [[1u32; 8], [2; 8]]);
        assert!(copies.is_empty());
        let mut copy = |vector: usize, read, written| {
            let pointer = vectors[vector].as_mut_ptr().cast();
            copies.add(pointer, read, written, &int, &DEVICE).unwrap()
        };
        let (send, receive) = (copy(0, 8, 0), copy(1, 8, 8));
        let mut builder = Builder::new(&team);
        builder.reduce(send, receive, 0..4, &Element::dense(4));
        builder.reduce(send, receive, 4..8, &Element::dense(4));
        let plan = copies.around(&team, builder.finish().unwrap()).unwrap();
        let kinds: Vec<char> = plan
            .steps
            .iter()
            .map(|step| match step.action {
                StepAction::Copy { .. } => 'c',
                StepAction::Reduce { .. } => 'r',
                _ => 'j',
            })
            .collect();
        assert_eq!(kinds, ['c', 'c', 'j', 'r', 'r', 'j', 'c']);
        assert_eq!(
            plan.steps.iter().map(|step| step.dependencies).collect::<Vec<_>>(),
            [0, 0, 2, 1, 1, 2, 1]
        );
        assert_eq!(plan.steps.last().map(|step| step.first_edge), Some(NONE));
        assert_eq!(plan.memory.len(), 2);
    }

    #[test]
    fn memory_that_is_only_written_is_not_copied_to_the_host() {
        static DEVICE: SimulatedDevice = SimulatedDevice;
        let (mut copies, mut vector) = (HostCopies::default(), [1u32; 8]);
        let (pointer, int) = (vector.as_mut_ptr().cast(), Datatype::named(Basic::Int32));
        let copy = copies.add(pointer, 0, 3, &int, &DEVICE).unwrap();
        assert!(!copies.is_empty() && copies.before().is_empty());
        let [(from, to)] = copies.after() else { panic!("one vector is written") };
        assert_eq!((from.pointer, to.pointer), (copy, pointer));
        assert_eq!((from.bytes(), to.bytes()), (12, 12));
    }
}
