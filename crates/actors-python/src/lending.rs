//! Arrays that the program lends: they stay as they are until nobody reads them any more.

use std::any::Any;
use std::ffi::c_void;

use crate::failure::report;
use crate::interpreter as py;
use crate::object::Object;

struct Lent {
    /// Keeps the array.
    _array: Box<dyn Any>,
    /// Is told, unless it is None.
    future: Object,
}

/// A number for an array that is lent, by which `towpath_python_returned` is told.
pub(crate) fn lent(array: Box<dyn Any>, future: Object) -> u64 {
    Box::into_raw(Box::new(Lent { _array: array, future })).expose_provenance() as u64
}

/// Is told of an array that was lent.
///
/// # Safety
/// The library calls it once for each number.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn towpath_python_returned(
    _: *mut c_void,
    number: u64,
    _: *const c_void,
    _: usize,
) {
    let lent = std::ptr::with_exposed_provenance_mut::<Lent>(number as usize);
    // SAFETY: `lent` has made it, and the library tells each number once. The interpreter exists
    // while the job runs.
    unsafe {
        let state = py::PyGILState_Ensure();
        let Lent { future, .. } = *Box::from_raw(lent);
        let is_none = future.raw() == &raw mut py::_Py_NoneStruct;
        let told = is_none
            || Object::tuple([].into_iter()).and_then(|nothing| future.call(&nothing)).is_some();
        if !told {
            report(future.raw());
        }
        drop(future);
        py::PyGILState_Release(state);
    }
}
