//! Constants of the MPICH ABI: the conversions that the generated tables do not cover.
//!
//! Error codes: an internal code is `class | slot << 8` (MPI_T's classes, from 1001, have no slot),
//! and codes added by the program follow MPI_ERR_LASTCODE. Conversion replaces the class by MPICH's
//! and keeps the slot; added codes follow MPICH's MPI_ERR_LASTCODE (0x3fffffff) in the same order.

use std::ffi::{c_int, c_void};

use towpath_base::sync::{AtomicI32, Ordering};
use towpath_mpi::{Callback, Integers, IntegersMut, constants};

use crate::data;
pub(crate) use crate::generated::tables::{
    access_mode_in, access_mode_out, assertion_in, bind_out, callback_safety_in, combiner_out,
    comparison_out, keyval_in, keyval_out, lock_type_in, order_in, rank_in, rank_out, scope_out,
    source_order_out, split_type_in, tag_in, tag_out, thread_level_in, thread_level_out,
    topology_out, typeclass_in, variable_class_in, variable_class_out, verbosity_out, whence_in,
};
use crate::generated::tables::{
    bare_class_in, bare_class_out, distribution_argument_in, distribution_argument_out,
    distribution_in, distribution_out, order_out, window_flavor_out, window_model_out,
};

/// Converts a root: a rank, MPI_ROOT or MPI_PROC_NULL.
#[inline]
pub(crate) fn root_in(value: c_int) -> i32 {
    rank_in(value)
}

/// MPICH's MPI_ERR_LASTCODE; codes added by the program follow it.
const LAST_CODE: i32 = 0x3fff_ffff;
/// Internal numbers of MPI_T's error classes.
const TOOL_CLASSES: std::ops::RangeInclusive<i32> = 1001..=1018;

/// Converts an error code from the program.
pub(crate) fn error_code_in(code: c_int) -> i32 {
    if code >= LAST_CODE {
        return constants::ERR_LASTCODE + (code - LAST_CODE);
    }
    if code <= 0 {
        return code;
    }
    let class = bare_class_in(code & 0xff);
    if class > 0xff { class } else { class | code & !0xff }
}

/// Converts an error code for the program.
#[inline]
pub(crate) fn error_code_out(code: i32) -> c_int {
    if code == constants::SUCCESS { code } else { some_error_out(code) }
}

#[cold]
fn some_error_out(code: i32) -> c_int {
    if code >= constants::ERR_LASTCODE {
        return LAST_CODE.saturating_add(code - constants::ERR_LASTCODE);
    }
    if code < 0 || TOOL_CLASSES.contains(&code) {
        return bare_class_out(code);
    }
    bare_class_out(code & 0xff) | code & !0xff
}

/// Converts an error class from the program. Classes added by the program are codes too.
pub(crate) fn error_class_in(class: c_int) -> i32 {
    error_code_in(class)
}

/// Converts an error class for the program.
pub(crate) fn error_class_out(class: i32) -> c_int {
    error_code_out(class)
}

/// Converts a buffer address. In this ABI MPI_IN_PLACE is -1 and MPI_BUFFER_AUTOMATIC is -2.
#[inline(always)]
pub(crate) fn buffer_in(pointer: *const c_void) -> *const c_void {
    if (pointer as usize) < usize::MAX - 1 { pointer } else { special_buffer(pointer) }
}

fn special_buffer(pointer: *const c_void) -> *const c_void {
    let neutral = if pointer as usize == usize::MAX {
        constants::IN_PLACE
    } else {
        constants::BUFFER_AUTOMATIC
    };
    neutral as *const c_void
}

/// Converts a buffer address for the program.
pub(crate) fn buffer_out(pointer: *mut c_void) -> *mut c_void {
    if pointer as usize == constants::BUFFER_AUTOMATIC {
        (usize::MAX - 1) as *mut c_void
    } else {
        pointer
    }
}

/// Converts the displacement of a file view, which may be MPI_DISPLACEMENT_CURRENT.
pub(crate) fn view_displacement_in(value: i64) -> i64 {
    if value == -54_278_278 { constants::DISPLACEMENT_CURRENT } else { value }
}

/// Converts a callback. In this ABI MPI_COMM_DUP_FN and its counterparts are the function
/// `MPIR_Dup_fn`; internally they are a number.
pub(crate) fn callback_in(function: *const c_void) -> Callback {
    if function == data::MPIR_Dup_fn as *const c_void {
        Callback(std::ptr::without_provenance(1))
    } else {
        Callback(function)
    }
}

/// Converts MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY, which are exported pointers in this ABI and
/// numbers internally.
fn weights(pointer: *const c_int) -> *const c_int {
    let neutral = if pointer.cast() == data::MPI_UNWEIGHTED.0 {
        constants::UNWEIGHTED
    } else if pointer.cast() == data::MPI_WEIGHTS_EMPTY.0 {
        constants::WEIGHTS_EMPTY
    } else {
        return pointer;
    };
    neutral as *const c_int
}

/// Edge weights, or MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY.
pub(crate) fn weights_in(pointer: *const c_int) -> Integers {
    Integers::small(weights(pointer))
}

/// Edge weights that a body fills in.
pub(crate) fn weights_out(pointer: *mut c_int) -> IntegersMut {
    IntegersMut::small(weights(pointer).cast_mut())
}

static NO_PROCESS: c_int = -1;
static ANY_PROCESS: c_int = -2;
static LAST_USED: AtomicI32 = AtomicI32::new(LAST_CODE);
static FLAVORS: [c_int; 5] = [0, 1, 2, 3, 4];

/// Converts the value of an attribute. Predefined attributes that point to a rank, an error code or
/// a window constant are replaced by pointers to the converted value.
pub(crate) fn attribute_out(keyval: i32, value: *mut c_void) -> *mut c_void {
    if value.is_null() {
        return value;
    }
    // SAFETY: the value is not NULL, and for the predefined keys below it points to an int of the
    // `mpi` crate.
    let number = || unsafe { *value.cast::<i32>() };
    let fixed = |place: &'static c_int| (&raw const *place).cast_mut().cast::<c_void>();
    match keyval {
        constants::HOST | constants::IO => match rank_out(number()) {
            -1 => fixed(&NO_PROCESS),
            -2 => fixed(&ANY_PROCESS),
            _ => value,
        },
        constants::LASTUSEDCODE => {
            LAST_USED.store(error_code_out(number()), Ordering::Relaxed);
            (&raw const LAST_USED).cast_mut().cast()
        }
        constants::WIN_CREATE_FLAVOR => {
            FLAVORS.get(window_flavor_out(number()) as usize).map_or(value, fixed)
        }
        constants::WIN_MODEL => {
            FLAVORS.get(window_model_out(number()) as usize).map_or(value, fixed)
        }
        _ => value,
    }
}

/// An input array of ints, converted for a body.
pub(crate) struct Given(Option<Vec<c_int>>);

impl Given {
    /// Copies and converts `length` ints.
    ///
    /// # Safety
    /// `values` must be NULL or point to `length` readable elements.
    unsafe fn new(values: *const c_int, length: c_int, translate: fn(i32) -> i32) -> Given {
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: `values` is not NULL, so it has `length` elements (this function's contract).
        Given(
            (!values.is_null())
                .then(|| (0..length).map(|i| translate(unsafe { *values.add(i) })).collect()),
        )
    }

    /// The array for the body to read.
    ///
    /// # Safety
    /// This value must live for as long as the array is used.
    pub(crate) unsafe fn integers(&self) -> Integers {
        let Some(values) = &self.0 else { return Integers::small(std::ptr::null()) };
        // SAFETY: the vector lives as long as this value, and that as long as the array is used
        // (this function's contract).
        unsafe { Integers::small(values.as_ptr()).with_length(values.len() as i64) }
    }
}

/// An output array of ints, filled by a body and then converted for the program.
pub(crate) struct Wanted {
    values: *mut c_int,
    filled: Vec<c_int>,
}

impl Wanted {
    /// The array for the body to fill.
    ///
    /// # Safety
    /// This value must live for as long as the array is used.
    pub(crate) unsafe fn integers(&mut self) -> IntegersMut {
        if self.values.is_null() {
            return IntegersMut::small(std::ptr::null_mut());
        }
        let length = self.filled.len() as i64;
        // SAFETY: the vector lives as long as this value, and that as long as the array is used
        // (this function's contract).
        unsafe { IntegersMut::small(self.filled.as_mut_ptr()).with_length(length) }
    }

    /// Converts the results into the program's array.
    pub(crate) fn finish(self) {
        if !self.values.is_null() {
            for (i, &value) in self.filled.iter().enumerate() {
                // SAFETY: `values` is not NULL, so it has as many elements as `filled` (contract of
                // `ranks_out`).
                unsafe { *self.values.add(i) = rank_out(value) };
            }
        }
    }
}

/// Input ranks of MPI_Group_translate_ranks.
///
/// # Safety
/// `ranks` must be NULL or point to `length` readable elements.
pub(crate) unsafe fn ranks_in(ranks: *const c_int, length: c_int) -> Given {
    // SAFETY: `ranks` is NULL or has `length` elements (this function's contract).
    unsafe { Given::new(ranks, length, rank_in) }
}

/// Output ranks of MPI_Group_translate_ranks. Elements that the body does not write keep their
/// value, provided that it is a rank of this ABI.
///
/// # Safety
/// `ranks` must be NULL or point to `length` readable and writable elements.
pub(crate) unsafe fn ranks_out(ranks: *mut c_int, length: c_int) -> Wanted {
    // SAFETY: `ranks` is NULL or has `length` elements (this function's contract).
    let before = unsafe { Given::new(ranks, length, rank_in) };
    Wanted { values: ranks, filled: before.0.unwrap_or_default() }
}

/// Distribution constants such as MPI_DISTRIBUTE_BLOCK.
///
/// # Safety
/// `values` must be NULL or point to `length` readable elements.
pub(crate) unsafe fn distributions_in(values: *const c_int, length: c_int) -> Given {
    // SAFETY: `values` is NULL or has `length` elements (this function's contract).
    unsafe { Given::new(values, length, distribution_in) }
}

/// Distribution arguments, which may be MPI_DISTRIBUTE_DFLT_DARG.
///
/// # Safety
/// `values` must be NULL or point to `length` readable elements.
pub(crate) unsafe fn distribution_arguments_in(values: *const c_int, length: c_int) -> Given {
    // SAFETY: `values` is NULL or has `length` elements (this function's contract).
    unsafe { Given::new(values, length, distribution_argument_in) }
}

/// Converts the constants among the ints that MPI_Type_get_contents returned for a subarray or
/// darray: order, distributions and their arguments (MPI 5.0, 5.1.13). `integers` has the length
/// reported by the envelope; for types made by a large-count constructor the sizes are among the
/// counts instead.
pub(crate) fn contents_out(combiner: i32, integers: &mut [c_int]) {
    let Some((order, _)) = integers.split_last_mut() else { return };
    match combiner {
        constants::COMBINER_SUBARRAY => *order = order_out(*order),
        constants::COMBINER_DARRAY if integers.len() > 3 => {
            let last = integers.len() - 1;
            integers[last] = order_out(integers[last]);
            let dimensions = usize::try_from(integers[2]).unwrap_or(0);
            let sizes = if integers.len() == 4 * dimensions + 4 { dimensions } else { 0 };
            let distributions = 3 + sizes;
            for value in integers.iter_mut().skip(distributions).take(dimensions) {
                *value = distribution_out(*value);
            }
            for value in integers.iter_mut().skip(distributions + dimensions).take(dimensions) {
                *value = distribution_argument_out(*value);
            }
        }
        _ => {}
    }
}

/// Converts the results of MPI_Type_get_contents for a type of this combiner.
///
/// # Safety
/// `integers` must be NULL or point to `count` elements that have been filled.
pub(crate) unsafe fn contents_put(combiner: i32, integers: *mut c_int, count: i64) {
    if !integers.is_null() {
        // SAFETY: `integers` is not NULL, so it points to `count` initialized elements (this
        // function's contract).
        contents_out(combiner, unsafe {
            std::slice::from_raw_parts_mut(integers, usize::try_from(count).unwrap_or(0))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_tags_have_their_own_wildcards() {
        assert_eq!((rank_in(-1), rank_in(-2), rank_in(-3)), (-3, -1, -4));
        assert_eq!((rank_out(-1), rank_out(-3), rank_out(-4)), (-2, -1, -3));
        assert_eq!((tag_in(-1), tag_out(-2)), (-2, -1));
        assert_eq!(rank_in(5), 5);
        assert_eq!(rank_in(-4), i32::MIN, "a wrong rank does not become MPI_ROOT");
        assert_eq!(tag_in(-2), i32::MIN, "a wrong tag does not become MPI_ANY_TAG");
    }

    #[test]
    fn error_codes_survive() {
        assert_eq!(error_code_out(constants::ERR_REQUEST), 19);
        assert_eq!(error_code_out(constants::ERR_REQUEST | 5 << 8), 19 | 5 << 8);
        assert_eq!(error_code_in(19 | 5 << 8), constants::ERR_REQUEST | 5 << 8);
        assert_eq!(error_code_out(constants::T_ERR_INVALID), 74);
        assert_eq!(error_code_in(74), constants::T_ERR_INVALID);
        for class in 0..=62 {
            assert_eq!(error_code_in(error_code_out(class)), class);
        }
        let added = constants::ERR_LASTCODE + 3;
        assert_eq!(error_code_out(added), 0x4000_0002);
        assert_eq!(error_code_in(0x4000_0002), added);
    }

    #[test]
    fn special_buffers_are_the_cores_own() {
        assert_eq!(buffer_in(usize::MAX as *const c_void) as usize, 1);
        assert_eq!(buffer_in((usize::MAX - 1) as *const c_void) as usize, 2);
        assert_eq!(buffer_in(64 as *const c_void) as usize, 64);
    }

    #[test]
    fn contents_of_a_darray_are_translated() {
        let mut small = [4, 0, 2, 10, 10, 17, 18, 19, 3, 2, 2, 12];
        contents_out(constants::COMBINER_DARRAY, &mut small);
        assert_eq!(small, [4, 0, 2, 10, 10, 121, 122, -49767, 3, 2, 2, 56]);
        let mut large = [4, 0, 2, 17, 18, 19, 3, 2, 2, 15];
        contents_out(constants::COMBINER_DARRAY, &mut large);
        assert_eq!(large, [4, 0, 2, 121, 122, -49767, 3, 2, 2, 57]);
    }
}
