//! Reduction operations (MPI 5.0, section 6.9): predefined and user-defined ones, and
//! MPI_Reduce_local.

use std::ffi::c_void;
use std::sync::Arc;

use towpath_collective::{HostCopies, Reducer, on_copies, reduce_elements, reduce_on_device};
use towpath_datatype::device::Device;
use towpath_datatype::reduce::Operation as Predefined;
use towpath_datatype::{Basic, Datatype};
use towpath_neutral::abi::{Callback, Handle};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};

use super::collectives::arguments::{self, ArgumentNames, BUFFER};
use super::datatypes;
use super::host_copies::in_host_memory;
use crate::objects::datatype::Type;
use crate::objects::operation::Operation;
use crate::objects::registry::OBJECTS;
use crate::process::{self, devices};

/// The operation that a handle names.
enum FoundOperation {
    Predefined(Predefined),
    Program(Arc<Operation>),
}

fn lookup(op: Handle) -> Result<FoundOperation> {
    if let Some(predefined) = Predefined::from_number(op.0) {
        return Ok(FoundOperation::Predefined(predefined));
    }
    match OBJECTS.operations.share(op) {
        Some(operation) => Ok(FoundOperation::Program(operation)),
        None if op == OP_NULL => fail!(ERR_OP, "argument op is MPI_OP_NULL; pass an operation"),
        None => {
            fail!(ERR_OP, "argument op ({}) is not an operation: it was never created, or was freed", op)
        }
    }
}

/// The basic type of the elements of `datatype`, if that is a basic type or has the same layout as
/// one.
fn basic_of(datatype: &Datatype) -> Option<Basic> {
    datatype.as_named().or_else(|| {
        let basic = datatype.single_basic()?;
        let is_one = datatype.size() == basic.size() as i64;
        (is_one && datatype.extent() == basic.extent() as i64 && datatype.true_lb() == 0).then_some(basic)
    })
}

/// Creates the function that combines elements of a datatype. The operation may be freed while the
/// function is in use.
pub(crate) fn reducer(op: Handle, handle: Handle, kind: &Arc<Type>) -> Result<Reducer> {
    match lookup(op)? {
        FoundOperation::Predefined(operation) => predefined(operation, &kind.datatype),
        FoundOperation::Program(operation) => {
            let Some(abi) = process::abi() else { fail!(ERR_OP, "no MPI function has been called through an ABI yet") };
            let (function, large) = (operation.function, operation.large);
            let (kept, extent) = (kind.clone(), kind.datatype.extent());
            let call = move |input: *const u8, inout: *mut u8, count: i64| {
                let _ = &kept;
                // SAFETY: the program registered `function` as a reduction function of this form;
                // `input` and `inout` each point to `count` elements of `handle`.
                unsafe { (abi.call_reduction)(function, large, input.cast(), inout.cast(), count, handle, extent) }
            };
            Ok(Reducer::user(Arc::new(call), operation.commutes))
        }
    }
}

fn predefined(operation: Predefined, datatype: &Datatype) -> Result<Reducer> {
    let name = operation.name();
    let Some(basic) = basic_of(datatype) else {
        fail!(ERR_OP, "argument op is {name}, which combines predefined datatypes only; use MPI_Op_create for others");
    };
    let undefined = || format!("argument op is {name}, which is not defined for elements of {}", basic.name());
    Reducer::of(operation, basic).ok_or_else(|| Error::new(ERR_OP, undefined()))
}

/// MPI_Op_create.
pub fn op_create(user_fn: Callback, commute: bool, large: bool) -> Result<Handle> {
    if user_fn.0.is_null() {
        fail!(ERR_ARG, "argument user_fn is NULL; pass a function");
    }
    OBJECTS
        .operations
        .insert(Arc::new(Operation { function: user_fn, commutes: commute, large }))
        .ok_or_else(|| Error::new(ERR_NO_MEM, "too many operations exist; free some"))
}

/// MPI_Op_free. Pending reductions keep the operation.
pub fn op_free(op: &mut Handle) -> Result<()> {
    if let FoundOperation::Predefined(operation) = lookup(*op)? {
        fail!(ERR_OP, "argument op is {}; predefined operations cannot be freed", operation.name());
    }
    OBJECTS.operations.remove(*op);
    *op = OP_NULL;
    Ok(())
}

/// MPI_Op_commutative.
pub fn op_commutative(op: Handle) -> Result<bool> {
    Ok(match lookup(op)? {
        FoundOperation::Predefined(operation) => operation.commutative(),
        FoundOperation::Program(operation) => operation.commutes,
    })
}

/// MPI_Reduce_local (6.9.7).
///
/// # Safety
/// Both buffers must hold `count` elements of `datatype`, and must not overlap.
pub unsafe fn reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
) -> Result<()> {
    let kind = datatypes::lookup(datatype, "datatype")?;
    let reducer = reducer(op, datatype, &kind)?;
    for (pointer, buffer) in [(inbuf, "inbuf"), (inoutbuf.cast_const(), "inoutbuf")] {
        arguments::check(pointer, count, &kind, ArgumentNames { buffer, ..BUFFER })?;
    }
    if inbuf == inoutbuf && count > 0 && kind.needs_distinct(inbuf) {
        return arguments::aliased();
    }
    if count == 0 {
        return Ok(());
    }
    let vectors = (inbuf.cast(), inoutbuf.cast());
    // SAFETY: both buffers hold the elements, and do not overlap (this function's contract).
    let reduced = |device: &dyn Device| unsafe { reduce_on_device(&reducer, device, vectors, count) };
    if devices::may_exist() && devices::device_of(&kind.datatype, inbuf).is_some_and(reduced) {
        return Ok(());
    }
    let mut copies = HostCopies::default();
    let input = in_host_memory(&mut copies, &kind.datatype, inbuf, count, 0)?;
    let inout = in_host_memory(&mut copies, &kind.datatype, inoutbuf, count, count)?;
    // SAFETY: both buffers hold `count` elements of the type that `reducer` was created for, and do
    // not overlap (this function's contract); so do their copies, which are made first.
    unsafe {
        on_copies(&copies, || {
            reduce_elements(&reducer, input, inout, count);
            Ok(())
        })
    }
}
