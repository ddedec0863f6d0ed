//! Reductions as the plans see them: a predefined kernel, or the program's own function (MPI 5.0,
//! section 6.9).
//!
//! Both compute `inout[i] = input[i] op inout[i]`, so `input` is always the operand of the lower
//! ranks. Plans keep the order of ranks even for commutative operations wherever two ranks compute
//! the same result, because only then do both get the same bits.

use std::fmt;
use std::sync::Arc;

/// A predefined reduction: input, inout, number of elements.
pub type Kernel = unsafe fn(*const u8, *mut u8, usize);

/// The program's own reduction: input, inout, number of elements.
pub type Callback = Arc<dyn Fn(*const u8, *mut u8, i64) + Send + Sync>;

#[derive(Clone)]
enum Function {
    Kernel(Kernel),
    Callback(Callback),
}

/// An operation on one type of element.
#[derive(Clone)]
pub struct Reducer {
    function: Function,
    commutative: bool,
}

impl Reducer {
    /// A predefined operation; all of them commute.
    pub fn predefined(kernel: Kernel) -> Reducer {
        Reducer { function: Function::Kernel(kernel), commutative: true }
    }

    /// The program's own operation. It is called from [`crate::Run::compute`] only.
    pub fn user(callback: Callback, commutative: bool) -> Reducer {
        Reducer { function: Function::Callback(callback), commutative }
    }

    /// Whether it is one of the standard's own.
    pub(crate) fn is_predefined(&self) -> bool {
        matches!(self.function, Function::Kernel(_))
    }

    /// Whether the operands may change places.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Computes `inout[i] = input[i] op inout[i]` for `count` elements.
    ///
    /// # Safety
    /// Both rows must have `count` elements of the type that the operation was made for, and must
    /// not overlap.
    pub unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: i64) {
        match &self.function {
            // SAFETY: promised by the caller.
            Function::Kernel(kernel) => unsafe { kernel(input, inout, count as usize) },
            Function::Callback(callback) => callback(input, inout, count),
        }
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.function {
            Function::Kernel(_) => "predefined",
            Function::Callback(_) => "user",
        };
        write!(formatter, "Reducer({kind}, commutative: {})", self.commutative)
    }
}
