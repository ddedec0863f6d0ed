//! All objects that handles name, and the predefined communicators.
//!
//! Info objects, error handlers and attribute keys may be created before MPI_Init, so the tables
//! exist before it. The predefined communicators exist from MPI_Init on and are never destroyed, so
//! late calls get an error instead of crashing.

use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_datatype::Datatype;
use towpath_machine::resources::Instances;
use towpath_neutral::abi::{Handle, Kind};
use towpath_neutral::constants::{COMM_NULL, COMM_SELF, COMM_WORLD, ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN};
use towpath_neutral::error::{Result, fail};
use towpath_neutral::handle::Table;
use towpath_neutral::info::{Info, Pairs};

use super::buffer::AttachedBuffer;
use super::comm::Comm;
use super::datatype::Type;
use super::errhandler::{Action, Errhandler, ErrorCodes};
use super::group::Group;
use super::message::Matched;
use super::operation::Operation;
use crate::process;

/// Objects and registries that may exist before MPI_Init.
pub(crate) struct Objects {
    /// Communicators other than the predefined ones.
    pub comms: Table<Comm>,
    /// Groups other than the empty one.
    pub groups: Table<Group>,
    /// Datatypes that are not predefined.
    pub datatypes: Table<Type>,
    /// Info objects.
    pub infos: Table<Info>,
    /// Error handlers of the program.
    pub errhandlers: Table<Errhandler>,
    /// Messages taken out by a matched probe.
    pub messages: Table<Matched>,
    /// Operations of the program.
    pub operations: Table<Operation>,
    /// Sessions.
    pub sessions: Table<Session>,
    /// Predefined types created from parameters (MPI_Type_create_f90_*).
    pub parameterized: Mutex<Vec<(Datatype, Handle)>>,
    /// The buffer of MPI_Buffer_attach.
    pub buffer: Mutex<Option<AttachedBuffer>>,
    /// MPI_GROUP_EMPTY.
    pub empty_group: Arc<Group>,
    /// MPI_ERRORS_ARE_FATAL.
    pub fatal: Arc<Errhandler>,
    /// MPI_ERRORS_ABORT.
    pub abort: Arc<Errhandler>,
    /// MPI_ERRORS_RETURN.
    pub returning: Arc<Errhandler>,
    /// The error handler before MPI_Init and after MPI_Finalize.
    pub initial_errhandler: Mutex<Arc<Errhandler>>,
    /// The error handler of files that are not open (MPI_FILE_NULL).
    pub file_errhandler: Mutex<Arc<Errhandler>>,
    /// Error classes and codes.
    pub errors: ErrorCodes,
    /// Contents of MPI_INFO_ENV.
    pub environment: OnceLock<Pairs>,
    /// The hardware instances on which this process runs.
    pub instances: Mutex<Instances>,
}

/// A session. Not implemented yet (planned with dynamic processes), but it already has room for an
/// error handler and a buffer.
#[derive(Debug)]
pub(crate) struct Session {
    /// MPI_Session_set_errhandler.
    pub errhandler: Mutex<Arc<Errhandler>>,
    /// MPI_Session_attach_buffer.
    pub buffer: Mutex<Option<AttachedBuffer>>,
}

/// The registries of this process.
pub(crate) static OBJECTS: LazyLock<Objects> = LazyLock::new(|| {
    let predefined = |handle, action| Arc::new(Errhandler::predefined(handle, action));
    let fatal = predefined(ERRORS_ARE_FATAL, Action::Fatal);
    let returning = predefined(ERRORS_RETURN, Action::Return);
    Objects {
        comms: Table::new(Kind::Comm),
        groups: Table::new(Kind::Group),
        datatypes: Table::new(Kind::Datatype),
        infos: Table::new(Kind::Info),
        errhandlers: Table::new(Kind::Errhandler),
        messages: Table::new(Kind::Message),
        operations: Table::new(Kind::Op),
        sessions: Table::new(Kind::Session),
        parameterized: Mutex::default(),
        buffer: Mutex::default(),
        empty_group: Arc::new(Group::new(Vec::new(), PeerIndex(0))),
        abort: predefined(ERRORS_ABORT, Action::Abort),
        initial_errhandler: Mutex::new(fatal.clone()),
        file_errhandler: Mutex::new(returning.clone()),
        fatal,
        returning,
        errors: ErrorCodes::default(),
        environment: OnceLock::new(),
        instances: Mutex::default(),
    }
});

/// The predefined communicators.
struct PredefinedComms {
    world: Arc<Comm>,
    myself: Arc<Comm>,
}

static PREDEFINED: OnceLock<PredefinedComms> = OnceLock::new();

/// Stores MPI_COMM_WORLD and MPI_COMM_SELF, once.
pub(crate) fn set_predefined(world: Comm, myself: Comm) {
    world.set_handle(COMM_WORLD);
    myself.set_handle(COMM_SELF);
    let comms = PredefinedComms { world: Arc::new(world), myself: Arc::new(myself) };
    assert!(PREDEFINED.set(comms).is_ok(), "the predefined communicators are made once");
}

/// Looks up a communicator.
pub(crate) fn comm(handle: Handle) -> Result<Arc<Comm>> {
    let found = match handle {
        COMM_WORLD => PREDEFINED.get().map(|comms| comms.world.clone()),
        COMM_SELF => PREDEFINED.get().map(|comms| comms.myself.clone()),
        _ => OBJECTS.comms.share(handle),
    };
    match found {
        Some(found) => Ok(found),
        None => unknown_comm(handle),
    }
}

/// Looks up a communicator on the fast path, without a reference count.
///
/// # Safety
/// Same as for [`Table::borrow`].
#[inline]
pub(crate) unsafe fn borrow_comm<'a>(handle: Handle) -> Result<&'a Arc<Comm>> {
    let found = match handle {
        COMM_WORLD => PREDEFINED.get().map(|comms| &comms.world),
        COMM_SELF => PREDEFINED.get().map(|comms| &comms.myself),
        // SAFETY: the reference is used only as `Table::borrow` allows (this function's contract).
        _ => unsafe { OBJECTS.comms.borrow(handle) },
    };
    match found {
        Some(found) => Ok(found),
        None => unknown_comm(handle),
    }
}

#[cold]
fn unknown_comm<T>(handle: Handle) -> Result<T> {
    if handle == COMM_NULL {
        fail!(ERR_COMM, "argument comm is MPI_COMM_NULL; pass a communicator");
    }
    fail!(ERR_COMM, "argument comm ({}) is not a communicator: it was never created, or was freed", handle)
}

/// Allocates a context, with this process as its creator.
pub(crate) fn new_context() -> ContextId {
    let process = process::this().expect("contexts are made between MPI_Init and MPI_Finalize");
    process.contexts.propose(|context| OBJECTS.comms.find(|comm| comm.has_context(context)).is_some())
}
