//! The job that runs on this thread.

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::Rc;

use towpath_actors::{ActorError, Runtime};

use crate::chare::ChareType;
use crate::error::ChareError;
use crate::registry::ChareRegistry;

/// The job that runs on this thread.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) runtime: Rc<Runtime>,
    pub(crate) registry: Rc<ChareRegistry>,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The job that runs on this thread.
pub(crate) fn current() -> Current {
    let current = CURRENT.with(|current| current.borrow().clone());
    current.expect("chares are used by the thread that runs ChareJob::run, while it does")
}

/// Ends the job if the runtime has refused something.
pub(crate) fn noticed(runtime: &Runtime, result: Result<(), ActorError>) {
    if let Err(error) = result {
        runtime.fail(error);
    }
}

impl Current {
    /// The number of the constructor of a type.
    pub(crate) fn constructor<T: ChareType>(&self) -> Result<u32, ChareError> {
        self.registry.base(TypeId::of::<T>()).ok_or_else(|| {
            ChareError(format!("{} is no type of this job; name it by ChareJob::chare", T::NAME))
        })
    }
}

/// A job runs on this thread as long as this exists.
pub(crate) struct Running;

impl Running {
    pub(crate) fn exists() -> bool {
        CURRENT.with(|current| current.borrow().is_some())
    }

    pub(crate) fn start(job: Current) -> Running {
        CURRENT.with(|current| *current.borrow_mut() = Some(job));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Those that were made since the job has ended, or all if the main function has panicked.
        // They may still use the runtime.
        let job = CURRENT.with(|current| current.borrow().clone());
        if let Some(job) = &job {
            job.registry.drop_objects();
        }
        CURRENT.with(|current| current.borrow_mut().take());
    }
}
