//! A job: the types of its chares, its main function, and its end.

use std::rc::Rc;

use towpath_actors::{ActorError, Chares, MachineLayer, QueueOrder, Runtime};

use crate::chare::{ChareType, MethodResult};
use crate::current::{Current, Running, current};
use crate::error::JobError;
use crate::program::RustProgram;
use crate::registry::ChareRegistry;

/// A program of chares, which all ranks run.
#[derive(Default)]
pub struct ChareJob {
    registry: ChareRegistry,
}

impl ChareJob {
    /// A job without chares.
    #[must_use]
    pub fn new() -> ChareJob {
        ChareJob::default()
    }

    /// Has chares of this type. All ranks name the same types in the same order.
    #[must_use]
    pub fn chare<T: ChareType>(mut self) -> ChareJob {
        self.registry.add::<T>();
        self
    }

    /// Runs the job over the MPI library of the process; without one, `libmpi_abi.so.1` is loaded.
    /// All ranks of `MPI_COMM_WORLD` call this. The main function is called on rank 0, and makes
    /// the first chares. Returns the code of the job, once something has called [`exit`]. The user
    /// observes it by the settings `TOWPATH_CHARES_*`. If the program has not initialized MPI, this
    /// does, and finalizes it: then there is no other job.
    ///
    /// # Errors
    /// There is no MPI library, it has been finalized, something on this rank has ended the job, or
    /// another thread of this process has run one: MPI is called by one thread.
    pub fn run<O: MethodResult>(self, main: impl FnOnce() -> O) -> Result<i32, JobError> {
        let start = |program| Ok(towpath_actors_mpi::start(program)?);
        self.run_between(start, towpath_actors_mpi::stop, main)
    }

    /// Runs the job over a layer that carries its messages.
    ///
    /// # Errors
    /// Something on this rank has ended the job.
    pub fn run_over<O: MethodResult>(
        self,
        layer: Box<dyn MachineLayer>,
        main: impl FnOnce() -> O,
    ) -> Result<i32, JobError> {
        let start = |program| Ok(Runtime::new(layer, program, QueueOrder::Fifo));
        self.run_between(start, Runtime::close, main)
    }

    fn run_between<O: MethodResult>(
        self,
        start: impl FnOnce(Box<dyn Chares>) -> Result<Runtime, JobError>,
        stop: fn(&Runtime),
        main: impl FnOnce() -> O,
    ) -> Result<i32, JobError> {
        if Running::exists() {
            return Err(JobError::Running);
        }
        let registry = Rc::new(self.registry);
        let program = Box::new(RustProgram::new(Rc::clone(&registry)));
        let runtime = Rc::new(start(program)?);
        let _running = Running::start(Current { runtime: Rc::clone(&runtime), registry });
        let code = run_here(&runtime, main);
        stop(&runtime);
        Ok(code?)
    }
}

fn run_here<O: MethodResult>(
    runtime: &Runtime,
    main: impl FnOnce() -> O,
) -> Result<i32, ActorError> {
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
    // Chares may send while they are dropped.
    current().registry.drop_objects();
    code
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
