//! Arrays that the program lends: they stay as they are until nobody reads them any more.

use std::any::Any;
use std::ffi::c_void;

use crate::dropped;
use crate::failure::report;
use crate::interpreter as py;
use crate::message::TowpathCallback;
use crate::module::{Module, with_module};
use crate::object::Object;

/// The number of no array: this rank is to look for messages that other threads have dropped.
const LOOK: u64 = 0;
/// Nanoseconds between two looks.
const PERIOD: u64 = 50_000_000;

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

/// Is told of an array that was lent, or that it is time to look for messages that were dropped.
///
/// # Safety
/// The library calls it once for each number of an array.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn towpath_python_returned(
    _: *mut c_void,
    number: u64,
    _: *const c_void,
    _: usize,
) {
    // SAFETY: the interpreter exists while the job runs. `lent` has made all other numbers, which
    // are those of boxes, and the library tells each once.
    unsafe {
        let state = py::PyGILState_Ensure();
        if number == LOOK {
            with_module(look);
        } else {
            let lent = std::ptr::with_exposed_provenance_mut::<Lent>(number as usize);
            tell(&Box::from_raw(lent).future);
        }
        py::PyGILState_Release(state);
    }
}

/// Nobody reads an array any more, for which a future waits that may be None.
pub(crate) fn tell(future: &Object) {
    let is_none = future.raw() == &raw mut py::_Py_NoneStruct;
    let nothing = || Object::tuple([].into_iter());
    if !is_none && nothing().and_then(|nothing| future.call(&nothing)).is_none() {
        report(future.raw());
    }
}

/// Frees messages that other threads have dropped, in the thread of the job.
pub(crate) fn free_dropped(module: &Module) {
    if !module.has_given_memory.get() {
        return;
    }
    for mut message in dropped::take() {
        // SAFETY: nothing refers to it any more.
        unsafe { (module.interface.message_free)(&raw mut message) };
    }
}

/// A method has returned: this rank will look if the program keeps arrays that are lent.
pub(crate) fn watch(module: &Module) {
    if module.has_given_memory.get() && dropped::begins_watch() {
        look_later(module);
    }
}

fn look(module: &Module) -> Option<()> {
    free_dropped(module);
    dropped::goes_on().then(|| look_later(module))
}

fn look_later(module: &Module) {
    // SAFETY: the thread of the job calls this, and the structure is local.
    unsafe {
        let look = TowpathCallback::function((module.interface.rank)(), LOOK);
        (module.interface.call_after)(PERIOD, &raw const look);
    }
}
