//! Reduction operations as the plans see them: a predefined kernel or a user-defined function (MPI
//! 5.0, section 6.9).
//!
//! Both compute `inout[i] = input[i] op inout[i]`, so `input` is always the operand of the lower
//! ranks. Where two ranks compute the same result, plans preserve rank order even for commutative
//! operations, because only then do both get the same bits.

use std::fmt;
use std::sync::Arc;

use towpath_datatype::Basic;
use towpath_datatype::reduce::{self, Operation};

/// A predefined reduction: input, inout, number of elements.
pub type Kernel = unsafe fn(*const u8, *mut u8, usize);

/// A user-defined reduction: input, inout, number of elements.
pub type Callback = Arc<dyn Fn(*const u8, *mut u8, i64) + Send + Sync>;

/// The function that computes a reduction.
#[derive(Clone)]
pub enum ReduceFunction {
    /// That of a predefined operation.
    Kernel(Kernel),
    /// That of the user.
    Callback(Callback),
}

/// An operation on one element type.
#[derive(Clone)]
pub struct Reducer {
    function: ReduceFunction,
    commutative: bool,
    /// The predefined operation and type, if devices may compute it.
    named: Option<(Operation, Basic)>,
}

impl Reducer {
    /// A predefined operation. All of them commute.
    pub fn predefined(kernel: Kernel) -> Reducer {
        Reducer { function: ReduceFunction::Kernel(kernel), commutative: true, named: None }
    }

    /// A predefined operation on a predefined type; `None` if it is not defined.
    pub fn of(operation: Operation, basic: Basic) -> Option<Reducer> {
        let kernel = reduce::reduction(operation, basic)?;
        Some(Reducer { named: Some((operation, basic)), ..Reducer::predefined(kernel) })
    }

    /// A user-defined operation. It is never called while a lock of the engine is held.
    pub fn user(callback: Callback, commutative: bool) -> Reducer {
        Reducer { function: ReduceFunction::Callback(callback), commutative, named: None }
    }

    /// True for a predefined operation.
    pub(crate) fn is_predefined(&self) -> bool {
        matches!(self.function, ReduceFunction::Kernel(_))
    }

    /// True if the operands may be exchanged.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// The predefined operation and type that a device may compute instead.
    pub fn named(&self) -> Option<(Operation, Basic)> {
        self.named
    }

    /// The function that computes it.
    pub fn function(&self) -> &ReduceFunction {
        &self.function
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.function {
            ReduceFunction::Kernel(_) => "predefined",
            ReduceFunction::Callback(_) => "user",
        };
        write!(formatter, "Reducer({kind}, commutative: {})", self.commutative)
    }
}
