//! A job: the types of its chares, its main function, and its end.

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::Rc;

use towpath_actors::{ActorError, MachineLayer, QueueOrder, Runtime};
use towpath_actors_mpi::LibraryError;

use crate::chare::{Chare, Outcome};
use crate::program::{Program, Registry};

/// A call that the runtime has refused; the text is for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChareError(pub(crate) String);

impl From<ActorError> for ChareError {
    fn from(error: ActorError) -> ChareError {
        ChareError(error.to_string())
    }
}

/// Why a job has failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Something on this rank has ended it.
    #[error(transparent)]
    Actor(#[from] ActorError),
    /// There is no MPI library, or it has failed.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A job runs on this thread already.
    #[error("a job was started while one runs on this thread")]
    Running,
}

/// The job that runs on this thread.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) runtime: Rc<Runtime>,
    pub(crate) registry: Rc<Registry>,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The job that runs on this thread.
pub(crate) fn current() -> Current {
    let current = CURRENT.with(|current| current.borrow().clone());
    current.expect("chares are used by the thread that runs Job::run, while it does")
}

/// Ends the job if the runtime has refused something.
pub(crate) fn noticed(runtime: &Runtime, result: Result<(), ActorError>) {
    if let Err(error) = result {
        runtime.fail(error);
    }
}

/// A program of chares, which all ranks run.
#[derive(Default)]
pub struct Job {
    registry: Registry,
}

impl Job {
    /// A job without chares.
    #[must_use]
    pub fn new() -> Job {
        Job::default()
    }

    /// Has chares of this type. All ranks name the same types in the same order.
    #[must_use]
    pub fn chare<T: Chare>(mut self) -> Job {
        self.registry.add::<T>();
        self
    }

    /// Runs the job over the MPI library of the process; without one, `libmpi_abi.so.1` is loaded.
    /// All ranks of `MPI_COMM_WORLD` call this. The main function is called on rank 0, and makes
    /// the first chares. Returns the code of the job, once something has called [`exit`].
    ///
    /// # Errors
    /// There is no MPI library, or something on this rank has ended the job.
    pub fn run<O: Outcome>(self, main: impl FnOnce() -> O) -> Result<i32, JobError> {
        self.run_over(towpath_actors_mpi::open()?, main)
    }

    /// Runs the job over a layer that carries its messages.
    ///
    /// # Errors
    /// Something on this rank has ended the job.
    pub fn run_over<O: Outcome>(
        self,
        layer: Box<dyn MachineLayer>,
        main: impl FnOnce() -> O,
    ) -> Result<i32, JobError> {
        if CURRENT.with(|current| current.borrow().is_some()) {
            return Err(JobError::Running);
        }
        let registry = Rc::new(self.registry);
        let program = Box::new(Program::new(Rc::clone(&registry)));
        let runtime = Rc::new(Runtime::new(layer, program, QueueOrder::Fifo));
        let _running = Running::start(Current { runtime: Rc::clone(&runtime), registry });
        run_here(&runtime, main)
    }
}

fn run_here<O: Outcome>(runtime: &Runtime, main: impl FnOnce() -> O) -> Result<i32, JobError> {
    if runtime.rank() == 0 {
        match main().outcome() {
            Ok(()) => runtime.begin(current().registry.fingerprint(), Vec::new()),
            // Ranks that have not begun are told to end too.
            Err(reason) => runtime.fail(ActorError::Main { reason }),
        }
    } else {
        runtime.hold();
    }
    let code = runtime.run();
    runtime.close();
    Ok(code?)
}

/// A job runs on this thread as long as this exists.
struct Running;

impl Running {
    fn start(job: Current) -> Running {
        CURRENT.with(|current| *current.borrow_mut() = Some(job));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Chares are dropped with the runtime, and may still use it.
        let job = CURRENT.with(|current| current.borrow().clone());
        if let Some(job) = &job {
            job.registry.drop_objects();
        }
        CURRENT.with(|current| current.borrow_mut().take());
    }
}

impl Current {
    /// The number of the constructor of a type.
    pub(crate) fn constructor<T: Chare>(&self) -> Result<u32, ChareError> {
        self.registry.base(TypeId::of::<T>()).ok_or_else(|| {
            ChareError(format!("{} is no type of this job; name it by Job::chare", T::NAME))
        })
    }
}

/// This rank.
#[must_use]
pub fn rank() -> u32 {
    current().runtime.rank()
}

/// How many ranks the job has.
#[must_use]
pub fn ranks() -> u32 {
    current().runtime.ranks()
}

/// Ends the job on all ranks with this code. Returns.
pub fn exit(code: i32) {
    current().runtime.exit(code);
}
