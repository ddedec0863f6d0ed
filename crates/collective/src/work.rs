//! What a collective call with checked arguments does, before it is known how it runs.

use towpath_schedule::{Call, HostCopies, Operation, Plan, PlanError};

/// The work of one call.
#[derive(Debug)]
pub enum CollectiveWork {
    /// An operation, for which an algorithm is chosen.
    Operation(Operation),
    /// A call that always runs by messages.
    Plan(Box<Plan>),
    /// A reduction, on host copies of buffers in the memory of a device.
    OnCopies(Box<(CollectiveWork, HostCopies)>),
    /// A long reduction, on copies or not, which devices may compute, as far as all ranks know.
    Long(Box<CollectiveWork>),
}

impl CollectiveWork {
    /// An operation, on copies if there are any.
    pub fn new((operation, copies): (Operation, HostCopies)) -> CollectiveWork {
        CollectiveWork::Operation(operation).on_copies(copies)
    }

    /// The work of a reduction, on copies if there are any.
    pub fn of_reduction(self, copies: HostCopies) -> CollectiveWork {
        let is_long = self.operation().is_some_and(Operation::is_long_reduction);
        let work = self.on_copies(copies);
        if is_long { CollectiveWork::Long(Box::new(work)) } else { work }
    }

    /// The same on copies, if there are any.
    #[inline]
    fn on_copies(self, copies: HostCopies) -> CollectiveWork {
        if copies.is_empty() { self } else { CollectiveWork::OnCopies(Box::new((self, copies))) }
    }

    /// The operation that may use a board, on copies or not; `None` for a plan.
    pub fn operation(&self) -> Option<&Operation> {
        match self {
            CollectiveWork::Operation(operation) => Some(operation),
            CollectiveWork::OnCopies(both) => both.0.operation(),
            CollectiveWork::Long(work) => work.operation(),
            CollectiveWork::Plan(_) => None,
        }
    }

    /// The plan that performs the work by messages. Of vectors that stay in the memory of a device
    /// it uses no copies.
    ///
    /// # Errors
    /// If there is no memory for intermediate results, or sizes overflow.
    pub fn plan(self, call: &Call) -> Result<Plan, PlanError> {
        match self {
            CollectiveWork::Operation(operation) => operation.plan(call),
            CollectiveWork::Plan(plan) => Ok(*plan),
            CollectiveWork::Long(work) => work.plan(call),
            CollectiveWork::OnCopies(both) => {
                let (work, mut copies) = *both;
                match work {
                    CollectiveWork::Operation(operation) => copies.plan(call, &operation, None),
                    work => copies.around(call.team, work.plan(call)?),
                }
            }
        }
    }

    /// Takes out the copies.
    pub fn take_copies(&mut self) -> HostCopies {
        match self {
            CollectiveWork::OnCopies(both) => std::mem::take(&mut both.1),
            CollectiveWork::Long(work) => work.take_copies(),
            _ => HostCopies::default(),
        }
    }

    /// The same by value, with the copies.
    ///
    /// # Panics
    /// For a plan.
    pub fn into_operation(self) -> (Operation, HostCopies) {
        match self {
            CollectiveWork::Operation(operation) => (operation, HostCopies::default()),
            CollectiveWork::OnCopies(both) => (both.0.into_operation().0, both.1),
            CollectiveWork::Long(work) => work.into_operation(),
            CollectiveWork::Plan(_) => panic!("a plan has no operation"),
        }
    }
}
