//! Constants of the standard ABI. Towpath uses the same values internally, so all conversions are
//! identities.

use std::ffi::{c_int, c_void};

use towpath_mpi::{Callback, Integers, IntegersMut};

macro_rules! pass {
    ($($into:ident, $from:ident;)*) => {
        $(
            #[inline(always)]
            #[allow(dead_code)]
            pub(crate) fn $into(value: c_int) -> i32 {
                value
            }
            #[inline(always)]
            #[allow(dead_code)]
            pub(crate) fn $from(value: i32) -> c_int {
                value
            }
        )*
    };
}

pass! {
    rank_in, rank_out;
    root_in, root_out;
    tag_in, tag_out;
    error_code_in, error_code_out;
    error_class_in, error_class_out;
    comparison_in, comparison_out;
    topology_in, topology_out;
    keyval_in, keyval_out;
    split_type_in, split_type_out;
    typeclass_in, typeclass_out;
    order_in, order_out;
    lock_type_in, lock_type_out;
    access_mode_in, access_mode_out;
    whence_in, whence_out;
    assertion_in, assertion_out;
    combiner_in, combiner_out;
    thread_level_in, thread_level_out;
    verbosity_in, verbosity_out;
    bind_in, bind_out;
    scope_in, scope_out;
    variable_class_in, variable_class_out;
    callback_safety_in, callback_safety_out;
    source_order_in, source_order_out;
}

/// Converts a buffer address for the program; the values are the internal ones.
pub(crate) fn buffer_out(pointer: *mut c_void) -> *mut c_void {
    pointer
}

/// Converts a buffer address. MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC have the internal values.
#[inline(always)]
pub(crate) fn buffer_in(pointer: *const c_void) -> *const c_void {
    pointer
}

/// Converts the displacement of a file view.
#[inline(always)]
pub(crate) fn view_displacement_in(value: i64) -> i64 {
    value
}

/// Converts a callback. The predefined attribute functions have the internal values.
#[inline(always)]
pub(crate) fn callback_in(function: *const c_void) -> Callback {
    Callback(function)
}

/// Edge weights, or MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY.
#[inline(always)]
pub(crate) fn weights_in(weights: *const c_int) -> Integers {
    Integers::small(weights)
}

/// Edge weights that a body fills in.
#[inline(always)]
pub(crate) fn weights_out(weights: *mut c_int) -> IntegersMut {
    IntegersMut::small(weights)
}

/// Converts the value of an attribute.
#[inline(always)]
pub(crate) fn attribute_out(_keyval: i32, value: *mut c_void) -> *mut c_void {
    value
}

/// An input array of ints that needs no conversion.
pub(crate) struct Given(Integers);

impl Given {
    /// The array for the body to read.
    ///
    /// # Safety
    /// None here. In the MPICH ABI, this value must outlive the array.
    pub(crate) unsafe fn integers(&self) -> Integers {
        self.0
    }
}

/// An output array of ints that needs no conversion.
pub(crate) struct Wanted(IntegersMut);

impl Wanted {
    /// The array for the body to fill.
    ///
    /// # Safety
    /// None here. In the MPICH ABI, this value must outlive the array.
    pub(crate) unsafe fn integers(&mut self) -> IntegersMut {
        self.0
    }
    pub(crate) fn finish(self) {}
}

/// Input ranks of MPI_Group_translate_ranks.
///
/// # Safety
/// `ranks` must be NULL or have `length` elements for as long as the array is used.
pub(crate) unsafe fn ranks_in(ranks: *const c_int, length: c_int) -> Given {
    // SAFETY: `ranks` is NULL or has `length` elements (this function's contract).
    Given(unsafe { Integers::small(ranks).with_length(i64::from(length)) })
}

/// Output ranks of MPI_Group_translate_ranks.
///
/// # Safety
/// `ranks` must be NULL, or be writable and have `length` elements for as long as the array is
/// used.
pub(crate) unsafe fn ranks_out(ranks: *mut c_int, length: c_int) -> Wanted {
    // SAFETY: `ranks` is NULL, or is writable and has `length` elements (this function's contract).
    Wanted(unsafe { IntegersMut::small(ranks).with_length(i64::from(length)) })
}

/// Distribution constants such as MPI_DISTRIBUTE_BLOCK.
///
/// # Safety
/// Same as for [`ranks_in`].
pub(crate) unsafe fn distributions_in(values: *const c_int, length: c_int) -> Given {
    // SAFETY: `values` is NULL or has `length` elements (this function's contract).
    unsafe { ranks_in(values, length) }
}

/// Distribution arguments, which may be MPI_DISTRIBUTE_DFLT_DARG.
///
/// # Safety
/// Same as for [`ranks_in`].
pub(crate) unsafe fn distribution_arguments_in(values: *const c_int, length: c_int) -> Given {
    // SAFETY: `values` is NULL or has `length` elements (this function's contract).
    unsafe { ranks_in(values, length) }
}

/// The results of MPI_Type_get_contents need no conversion.
pub(crate) fn contents_put(_combiner: i32, _integers: *mut c_int, _count: i64) {}
