//! Vectors of a reduction that stay in the memory of a device, which reduces them there.

use towpath_datatype::Datatype;
use towpath_datatype::device::Device;

use crate::Call;
use crate::buffers::{DeviceReduction, DeviceSpread, Element};
use crate::host_copies::HostCopies;
use crate::operand::Operand;
use crate::operation::Operation;
use crate::plan::{Plan, PlanError};

impl HostCopies {
    /// The plan by messages of an operation on these copies. Vectors of a long reduction stay in
    /// the memory of their device instead, if that can reduce them and has memory for the plan.
    /// Each rank decides that for itself, since its messages are the same either way. `spread` is
    /// where the vectors of all ranks are, if they know that all are on devices. The plan takes the
    /// copies, or makes them needless.
    ///
    /// # Errors
    /// If there is no memory for intermediate results, or sizes overflow.
    pub fn plan(
        &mut self,
        call: &Call,
        operation: &Operation,
        spread: Option<DeviceSpread>,
    ) -> Result<Plan, PlanError> {
        if self.is_empty() {
            return operation.plan(call);
        }
        if operation.is_long_reduction()
            && let Some(vectors) = DeviceVectors::of(operation, call.team.rank, self)
            && let Ok(plan) = vectors.operation(operation, spread).plan(call)
        {
            *self = HostCopies::default();
            return Ok(plan);
        }
        let as_on_devices = spread.and_then(|spread| as_on_devices(operation, spread));
        let plan = as_on_devices.as_ref().unwrap_or(operation).plan(call)?;
        std::mem::take(self).around(call.team, plan)
    }
}

/// A reduction in host memory, with the messages that it has on devices.
fn as_on_devices(operation: &Operation, spread: DeviceSpread) -> Option<Operation> {
    let (operand, _) = vectors(operation, 0)?;
    let datatype = Datatype::named(operand.reducer.named()?.1);
    let how = DeviceReduction { spread: Some(spread), ..DeviceReduction::default() };
    let element = Element::reduced_on(&datatype, None, how);
    Some(with(operation, &element, (operand.send, None)))
}

/// The vectors that a reduction uses on this rank, all in the memory of one device, which can
/// compute it.
#[derive(Debug)]
pub struct DeviceVectors {
    /// `None` if the vector is in the receive buffer.
    send: Option<*mut u8>,
    /// `None` if it is not significant.
    receive: Option<*mut u8>,
    datatype: Datatype,
    device: &'static dyn Device,
    number: u64,
}

impl DeviceVectors {
    /// The vectors of which `copies` has host copies, which the operation names. `None` unless they
    /// are all that it uses on this rank.
    pub fn of(operation: &Operation, rank: usize, copies: &HostCopies) -> Option<DeviceVectors> {
        let (operand, receive) = vectors(operation, rank)?;
        let (named, basic) = operand.reducer.named()?;
        let used: Vec<*mut u8> = operand.send.into_iter().chain(receive).collect();
        let originals = used.iter().map(|&copy| copies.original(copy));
        let originals = originals.collect::<Option<Vec<_>>>()?;
        let (datatype, device) = (originals.first()?.datatype()?, originals.first()?.device()?);
        let pointers: Vec<*mut u8> = originals.iter().map(|piece| piece.pointer).collect();
        let parts = originals.iter().map(|piece| (piece.pointer.cast_const(), piece.count));
        let number = device.reducing(named, basic, &parts.collect::<Vec<_>>())?;
        let mut pointers = pointers.into_iter();
        let send = operand.send.and_then(|_| pointers.next());
        Some(DeviceVectors {
            send,
            receive: pointers.next(),
            datatype: datatype.clone(),
            device,
            number,
        })
    }

    /// The number of the device, see [`Device::reducing`].
    pub fn device(&self) -> u64 {
        self.number
    }

    /// The operation on these vectors instead of their copies.
    fn operation(&self, on_copies: &Operation, spread: Option<DeviceSpread>) -> Operation {
        let like = self.send.or(self.receive).map_or(0, |vector| vector as usize);
        let how = DeviceReduction { like, spread };
        let element = Element::reduced_on(&self.datatype, Some(self.device), how);
        with(on_copies, &element, (self.send, self.receive))
    }
}

/// A reduction of other vectors; its receive buffer stays where it is if there is no other one.
fn with(
    operation: &Operation,
    element: &Element,
    (send, other): (Option<*mut u8>, Option<*mut u8>),
) -> Operation {
    let moved = |operand: &Operand| Operand { send, element: element.clone(), ..operand.clone() };
    let at = |receive: &*mut u8| other.unwrap_or(*receive);
    match operation {
        Operation::Reduce { root, operand, receive } => {
            Operation::Reduce { root: *root, operand: moved(operand), receive: at(receive) }
        }
        Operation::Allreduce { operand, receive } => {
            Operation::Allreduce { operand: moved(operand), receive: at(receive) }
        }
        Operation::ReduceScatter { operand, counts, receive } => {
            let (counts, receive) = (counts.clone(), at(receive));
            Operation::ReduceScatter { operand: moved(operand), counts, receive }
        }
        Operation::Scan { operand, receive, exclusive } => {
            let (exclusive, receive) = (*exclusive, at(receive));
            Operation::Scan { operand: moved(operand), receive, exclusive }
        }
        _ => unreachable!("only reductions have these vectors"),
    }
}

/// The operand of a reduction and its receive buffer, where that is significant.
fn vectors(operation: &Operation, rank: usize) -> Option<(&Operand, Option<*mut u8>)> {
    let (operand, receive, is_significant) = match operation {
        Operation::Reduce { root, operand, receive } => (operand, receive, rank == *root),
        Operation::Allreduce { operand, receive } => (operand, receive, true),
        Operation::ReduceScatter { operand, counts, receive } => {
            (operand, receive, counts[rank] > 0 || operand.send.is_none())
        }
        Operation::Scan { operand, receive, exclusive } => {
            (operand, receive, !exclusive || rank > 0 || operand.send.is_none())
        }
        _ => return None,
    };
    Some((operand, is_significant.then_some(*receive)))
}

#[cfg(test)]
mod tests {
    use towpath_datatype::Basic;
    use towpath_datatype::device::simulated::SimulatedDevice;
    use towpath_datatype::reduce::Operation as Named;

    use super::*;
    use crate::Reducer;

    static DEVICE: SimulatedDevice = SimulatedDevice;

    /// A sum of two integers from the first to the second address.
    fn sum(send: *mut u8, receive: *mut u8) -> Operation {
        let reducer = Reducer::of(Named::Sum, Basic::Int32).unwrap();
        let operand = Operand { send: Some(send), count: 2, element: Element::dense(4), reducer };
        Operation::Reduce { root: 0, operand, receive }
    }

    #[test]
    fn a_rank_has_them_if_all_that_it_uses_was_copied() {
        let (mut copies, mut memory) = (HostCopies::default(), [[0u32; 2]; 2]);
        let [from, to] = memory.each_mut().map(|vector| vector.as_mut_ptr().cast::<u8>());
        let int = Datatype::named(Basic::Int32);
        let send = copies.add(from, 2, 0, &int, &DEVICE).unwrap();
        let operation = sum(send, to);
        assert!(DeviceVectors::of(&operation, 0, &copies).is_none(), "the root receives");
        let vectors = DeviceVectors::of(&operation, 1, &copies).unwrap();
        assert_eq!((vectors.send, vectors.receive), (Some(from), None));
        let receive = copies.add(to, 0, 2, &int, &DEVICE).unwrap();
        let vectors = DeviceVectors::of(&sum(send, receive), 0, &copies).unwrap();
        assert_eq!((vectors.send, vectors.receive), (Some(from), Some(to)));
        let moved = vectors.operation(&sum(send, receive), Some(DeviceSpread::One));
        let Operation::Reduce { operand, receive, .. } = &moved else { panic!("it is a sum") };
        assert_eq!((operand.send, *receive), (Some(from), to));
        assert!(operand.is_on_one_device() && !operand.is_plain());
    }
}
