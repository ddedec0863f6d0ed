//! The global state of this process, from MPI_Init to MPI_Finalize.
//!
//! `OBJECTS` exists before MPI_Init, because info objects, error handlers and attribute keys may be
//! created then. `WORLD` exists from MPI_Init on and is never destroyed, so late calls get an error
//! instead of crashing.

use std::ffi::c_void;
use std::io::Write as _;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use towpath_base::calls::NAMES;
use towpath_base::config;
use towpath_base::control::{ControlPage, RankState};
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::sync::{AtomicPtr, AtomicU32, Ordering};
use towpath_collective::Selection;
use towpath_datatype::Datatype;
use towpath_launch::client::{Job, Launcher};
use towpath_machine::cgroup::ProcessorQuota;
use towpath_machine::cores;
use towpath_machine::fork;
use towpath_machine::levels::MachineDescription;
use towpath_machine::resources::Instances;
use towpath_shm::Heap;
use towpath_transport::Losses;

use crate::buffered::AttachedBuffer;
use crate::comm::Comm;
use crate::constants::*;
use crate::contexts::Contexts;
use crate::datatypes::Type;
use crate::error::{Error, Result, fail};
use crate::errors::{Action, Errhandler, Registry};
use crate::face::{Face, Handle, Kind};
use crate::group::Group;
use crate::handle::Table;
use crate::info::{Info, Pairs};
use crate::lane::Lane;
use crate::messages::Matched;
use crate::operations::Operation;
use crate::wait_target::WaitTarget;

mod ending;

pub use ending::end_job;
pub(crate) use ending::leave_aborted_job;

/// Objects and registries that may exist before MPI_Init.
pub struct Objects {
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
    /// Attribute keys of the program.
    pub keyvals: Table<crate::attributes::Keyval>,
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
    pub errors: Registry,
    /// Contents of MPI_INFO_ENV.
    pub environment: OnceLock<Pairs>,
    /// The hardware instances on which this process runs.
    pub instances: Mutex<Instances>,
}

/// A session. Not implemented yet (it will come with dynamic processes), but it already has room
/// for an error handler and a buffer.
#[derive(Debug)]
pub struct Session {
    /// MPI_Session_set_errhandler.
    pub errhandler: Mutex<Arc<Errhandler>>,
    /// MPI_Session_attach_buffer.
    pub buffer: Mutex<Option<AttachedBuffer>>,
}

/// The registries of this process.
pub static OBJECTS: LazyLock<Objects> = LazyLock::new(|| {
    let predefined = |handle, action| Arc::new(Errhandler::predefined(handle, action));
    let fatal = predefined(ERRORS_ARE_FATAL, Action::Fatal);
    let returning = predefined(ERRORS_RETURN, Action::Return);
    Objects {
        comms: Table::new(Kind::Comm),
        groups: Table::new(Kind::Group),
        datatypes: Table::new(Kind::Datatype),
        infos: Table::new(Kind::Info),
        errhandlers: Table::new(Kind::Errhandler),
        keyvals: Table::new(Kind::Keyval),
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
        errors: Registry::default(),
        environment: OnceLock::new(),
        instances: Mutex::default(),
    }
});

/// The state that exists from MPI_Init on.
pub struct World {
    /// Engine, requests, and the waiting loop.
    pub lane: Lane,
    /// MPI_COMM_WORLD.
    pub world: Arc<Comm>,
    /// MPI_COMM_SELF.
    pub myself: Arc<Comm>,
    /// Description of the job.
    pub job: Job,
    /// Provided thread level.
    pub thread_level: i32,
    /// The thread that called MPI_Init.
    pub main_thread: std::thread::ThreadId,
    /// Selection of collective algorithms.
    pub selection: Selection,
    /// The machine described by TOWPATH_MACHINE, used instead of the real one.
    pub machine: Option<MachineDescription>,
    /// The mapped segment, kept for its control pages.
    pub segment: towpath_shm::Segment,
    /// Opened when the first board is made.
    quota: OnceLock<ProcessorQuota>,
    /// Memory that the peers can access, for MPI_Alloc_mem.
    pub(crate) heap: Mutex<Heap>,
    /// Why processes of other hosts were lost.
    losses: Option<Losses>,
    launcher: Mutex<Box<dyn Launcher>>,
    /// Allocator of the contexts that this process names.
    contexts: Contexts,
    /// Values of the predefined attributes; the program gets pointers to them.
    attributes: Predefined,
}

#[derive(Debug)]
struct Predefined {
    tag_ub: i32,
    host: i32,
    io: i32,
    wtime_is_global: i32,
    universe_size: i32,
    appnum: Option<i32>,
    last_used_code: AtomicU32,
}

/// Phase of the process in the life of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Phase {
    /// Before MPI_Init.
    Before = 0,
    /// MPI may be called.
    Running = 1,
    /// After MPI_Finalize.
    After = 2,
    /// In a child forked while MPI runs: the channels belong to its parent.
    Child = 3,
    /// The job is being ended: `atexit` handlers run.
    Ending = 4,
}

static WORLD: OnceLock<World> = OnceLock::new();
static PHASE: AtomicU32 = AtomicU32::new(0);
static FACE: AtomicPtr<Face> = AtomicPtr::new(std::ptr::null_mut());
/// This process's control page while MPI runs, else NULL. Every MPI function checks it first and
/// publishes its number there.
static PAGE: AtomicPtr<ControlPage> = AtomicPtr::new(std::ptr::null_mut());

/// The current phase.
pub fn phase() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Before,
        1 => Phase::Running,
        2 => Phase::After,
        3 => Phase::Child,
        _ => Phase::Ending,
    }
}

pub(crate) fn set_phase(phase: Phase) {
    let page = match WORLD.get() {
        Some(world) if phase == Phase::Running => std::ptr::from_ref(world.segment.own_control()).cast_mut(),
        _ => std::ptr::null_mut(),
    };
    PAGE.store(page, Ordering::Release);
    PHASE.store(phase as u32, Ordering::Release);
}

/// Checks that MPI may be called, and publishes the function that the process is in. The page must
/// be passed to [`leave`].
#[inline]
pub fn enter(call: u16) -> Result<&'static ControlPage> {
    // SAFETY: `PAGE` is NULL unless MPI runs; otherwise it points into the segment, which stays
    // mapped until the process ends.
    match unsafe { PAGE.load(Ordering::Relaxed).as_ref() } {
        Some(page) => {
            page.last_call.store(u32::from(call), Ordering::Relaxed);
            page.in_call.store(1, Ordering::Relaxed);
            Ok(page)
        }
        None => not_running(),
    }
}

/// This process's control page while MPI runs.
pub(crate) fn page() -> Option<&'static ControlPage> {
    // SAFETY: `PAGE` is NULL unless MPI runs; otherwise it points into the segment, which stays
    // mapped until the process ends.
    unsafe { PAGE.load(Ordering::Relaxed).as_ref() }
}

/// The error that tells why MPI cannot be called now.
#[cold]
pub(crate) fn not_running<T>() -> Result<T> {
    match phase() {
        Phase::Before => fail!(ERR_OTHER, "MPI is not initialised; call MPI_Init first"),
        Phase::Child => fail!(
            ERR_OTHER,
            "this process is a child that was forked after MPI_Init and cannot use MPI; let its parent call MPI, or exec a program"
        ),
        Phase::Ending => fail!(ERR_OTHER, "the job is being ended; a handler that runs meanwhile cannot use MPI"),
        _ => fail!(ERR_OTHER, "MPI is finalised; nothing may be called after MPI_Finalize"),
    }
}

/// The result of a call that [`enter`] has rejected. MPI_Finalize succeeds and does nothing if an
/// `atexit` handler calls it: in a forked child, which inherits the handlers of its parent, and
/// while the job ends.
#[cold]
pub(crate) fn refused(call: u16, error: Error) -> Result<()> {
    let finalizes = NAMES.get(usize::from(call)) == Some(&"MPI_Finalize");
    if finalizes && matches!(phase(), Phase::Child | Phase::Ending) { Ok(()) } else { Err(error) }
}

/// Runs in a forked child: every later call finds that MPI does not run in this process.
extern "C" fn leave_mpi_to_parent() {
    match phase() {
        Phase::Running => set_phase(Phase::Child),
        Phase::Ending => ending::take_over(),
        _ => {}
    }
}

/// Publishes that the process has left MPI.
#[inline]
pub fn leave(page: &ControlPage) {
    page.in_call.store(0, Ordering::Relaxed);
}

/// Stores the ABI through which the program calls.
#[inline]
pub fn set_face(face: &'static Face) {
    FACE.store(std::ptr::from_ref(face).cast_mut(), Ordering::Relaxed);
}

/// The ABI through which the program calls; `None` before its first call.
pub fn face() -> Option<&'static Face> {
    // SAFETY: `FACE` is NULL or was stored by `set_face` from a `&'static Face`.
    unsafe { FACE.load(Ordering::Relaxed).as_ref() }
}

/// The state of MPI, or an error before MPI_Init.
#[inline]
pub fn world() -> Result<&'static World> {
    match WORLD.get() {
        Some(world) => Ok(world),
        None => fail!(ERR_OTHER, "MPI is not initialised; call MPI_Init first"),
    }
}

/// The lane, or an error before MPI_Init.
#[inline]
pub fn lane() -> Result<&'static Lane> {
    Ok(&world()?.lane)
}

/// Selection of collective algorithms, or an error before MPI_Init.
pub fn selection() -> Result<&'static Selection> {
    Ok(&world()?.selection)
}

/// The rank of this process in MPI_COMM_WORLD.
pub fn me() -> PeerIndex {
    WORLD.get().map_or(PeerIndex(0), |world| PeerIndex(world.job.rank))
}

/// True if this host has more ranks of the job than cores for them, as far as known.
pub(crate) fn is_oversubscribed() -> bool {
    WORLD.get().is_none_or(|world| {
        let cores = world.segment.head().allowed_cores.load(Ordering::Relaxed) as usize;
        world.job.local_ranks.len() > cores
    })
}

impl World {
    /// True if the ranks of this host share cores, as far as they have announced their affinity.
    pub(crate) fn ranks_share_cores(&self) -> bool {
        let head = self.segment.head();
        let quota = || self.quota.get_or_init(ProcessorQuota::open).cores();
        cores::are_shared(head, head.local_ranks.load(Ordering::Relaxed), quota)
    }
}

/// Looks up a communicator.
pub fn comm(handle: Handle) -> Result<Arc<Comm>> {
    let found = match handle {
        COMM_WORLD => WORLD.get().map(|world| world.world.clone()),
        COMM_SELF => WORLD.get().map(|world| world.myself.clone()),
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
/// As [`Table::borrow`].
#[inline]
pub unsafe fn borrow_comm<'a>(handle: Handle) -> Result<&'a Arc<Comm>> {
    let found = match handle {
        COMM_WORLD => WORLD.get().map(|world| &world.world),
        COMM_SELF => WORLD.get().map(|world| &world.myself),
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
    fail!(ERR_COMM, "argument comm ({}) is no communicator: it was never made, or was freed", handle)
}

/// The error message for a message from or to a lost process.
pub(crate) fn reason_of_loss(peer: PeerIndex) -> String {
    let known = WORLD.get().and_then(|world| world.losses.as_ref()?.of(peer));
    known.unwrap_or_else(|| "the other process died before the message was through".to_owned())
}

/// Creates a context named by this process.
pub fn new_context() -> ContextId {
    let world = WORLD.get().expect("contexts are made between MPI_Init and MPI_Finalize");
    world.contexts.propose(|context| OBJECTS.comms.find(|comm| comm.has_context(context)).is_some())
}

/// The number that its creator gave a context (0 for MPI_COMM_WORLD, 1 for MPI_COMM_SELF), and the
/// creator's rank.
pub(crate) fn maker_of(context: ContextId) -> (u32, u32) {
    let first = WORLD.get().map_or(0, |world| world.contexts.creator().wrapping_sub(world.job.rank));
    (context.0 as u32 >> 2, ((context.0 >> 32) as u32).wrapping_sub(first))
}

/// Name of the MPI function that a rank of this host called last.
pub(crate) fn last_call_of(peer: PeerIndex) -> Option<&'static str> {
    name_of_call(page_of(peer)?)
}

/// As [`last_call_of`], and whether the rank is still in the function; `Some(None)` before its
/// first call.
pub(crate) fn call_of(peer: PeerIndex) -> Option<Option<(&'static str, bool)>> {
    let page = page_of(peer)?;
    Some(name_of_call(page).map(|name| (name, page.in_call.load(Ordering::Relaxed) != 0)))
}

/// The control page of a rank of this host.
fn page_of(peer: PeerIndex) -> Option<&'static ControlPage> {
    let world = WORLD.get()?;
    let local = world.job.local_ranks.iter().position(|&rank| rank == peer.0)?;
    Some(world.segment.control(local))
}

fn name_of_call(page: &ControlPage) -> Option<&'static str> {
    let number = page.last_call.load(Ordering::Relaxed);
    towpath_base::calls::NAMES.get(number as usize).copied().filter(|name| number != 0 && !name.is_empty())
}

/// Number of the host on which this process runs.
pub fn host_of_mine() -> Result<u32> {
    let job = &world()?.job;
    Ok(job.node_of_rank[job.rank as usize])
}

/// The value of a predefined attribute; `None` if the key is not predefined, `Some(None)` if it has
/// no value.
pub fn predefined_attribute(keyval: i32) -> Option<Option<*mut c_void>> {
    let attributes = &WORLD.get()?.attributes;
    let address = |value: &i32| std::ptr::from_ref(value).cast_mut().cast::<c_void>();
    Some(match keyval {
        TAG_UB => Some(address(&attributes.tag_ub)),
        IO => Some(address(&attributes.io)),
        WTIME_IS_GLOBAL => Some(address(&attributes.wtime_is_global)),
        UNIVERSE_SIZE => Some(address(&attributes.universe_size)),
        APPNUM => attributes.appnum.as_ref().map(address),
        LASTUSEDCODE => {
            attributes.last_used_code.store(OBJECTS.errors.last_used() as u32, Ordering::Relaxed);
            Some(attributes.last_used_code.as_ptr().cast())
        }
        HOST => Some(address(&attributes.host)),
        _ => return None,
    })
}

/// Contents of MPI_INFO_ENV (11.2.1), determined once, so that they are the same before and after
/// MPI_Init. There is no key for a thread level, because launchers are not asked for one.
pub fn environment_pairs() -> Pairs {
    OBJECTS.environment.get_or_init(look_at_environment).clone()
}

fn look_at_environment() -> Pairs {
    let mut pairs = Pairs::default();
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    if let Some(command) = arguments.next() {
        pairs.set("command", &command);
    }
    pairs.set("argv", &arguments.collect::<Vec<_>>().join(" "));
    if let Ok(directory) = std::env::current_dir() {
        pairs.set("wdir", &directory.to_string_lossy());
    }
    pairs.set("host", &crate::environment::host_name());
    pairs.set("arch", std::env::consts::ARCH);
    pairs.set("mpi_memory_alloc_kinds", "system,mpi");
    // A process that was not launched is alone.
    let processes = towpath_launch::client::seen().map(|seen| seen.place.map_or(Some(1), |(_, size)| size));
    if let Ok(Some(processes)) = processes {
        pairs.set("maxprocs", &processes.to_string());
    }
    pairs
}

/// Starts MPI: connects to the launcher, maps the segment and creates the predefined communicators.
pub(crate) fn start(thread_level: i32) -> Result<()> {
    if phase() != Phase::Before {
        fail!(ERR_OTHER, "MPI was initialised before; MPI_Init may be called once");
    }
    if let Some(limit) = towpath_machine::limits::short_stack() {
        return Err(failed_start(format!(
            "the stack of this process is limited to {limit} bytes (ulimit -s); 131072 are the least for MPI"
        )));
    }
    let mut launcher = Some(towpath_launch::client::connect().map_err(failed_start)?);
    let started = build(thread_level, &mut launcher).inspect_err(|_| {
        ending::keep(launcher.take());
    })?;
    if WORLD.set(started).is_err() {
        fail!(ERR_OTHER, "two threads initialise MPI at the same time");
    }
    let world = world()?;
    world.world.set_handle(COMM_WORLD);
    world.myself.set_handle(COMM_SELF);
    if thread_level == THREAD_MULTIPLE {
        world.lane.share();
    }
    world.segment.own_control().pid.store(std::process::id(), Ordering::Relaxed);
    world.segment.own_control().set_state(RankState::Running);
    world.segment.head().attached.fetch_add(1, Ordering::AcqRel);
    set_phase(Phase::Running);
    fork::in_child(leave_mpi_to_parent);
    crate::heap::open(world);
    Ok(())
}

pub(crate) fn failed_start(what: impl std::fmt::Display) -> Error {
    Error::new(ERR_OTHER, format!("MPI cannot start: {what}"))
}

fn build(thread_level: i32, connected: &mut Option<Box<dyn Launcher>>) -> Result<World> {
    let launcher = connected.as_mut().expect("the caller has connected");
    let job = launcher.job().clone();
    let file = launcher.segment().map_err(failed_start)?;
    let (local, own) = (job.local_ranks.len(), job.local_rank as usize);
    let segment = towpath_shm::Segment::map(&file, local, own).map_err(failed_start)?;
    drop(file);
    let several = job.hosts() > 1;
    let far = several.then(|| crate::network::reach_others(&mut **launcher, &job, &segment)).transpose()?;
    let losses = far.as_ref().map(crate::network::Far::losses);
    let lane = crate::start::lane(&segment, &job, far)?;
    let number = (job.nonce ^ job.nonce >> 32) as u32;
    let everyone: Vec<PeerIndex> = (0..job.size).map(PeerIndex).collect();
    let me = PeerIndex(job.rank);
    let errhandler = OBJECTS.initial_errhandler.lock().unwrap().clone();
    let comm = |context, members, name: &str| {
        let comm = Comm::new(context, Arc::new(Group::new(members, me)), None, errhandler.clone());
        name.clone_into(&mut comm.settings().name);
        Arc::new(comm)
    };
    let creator = number.wrapping_add(job.rank);
    let selection = match config::setting("TOWPATH_COLLECTIVE") {
        Some(text) => Selection::parse(&text).map_err(failed_start)?,
        None => Selection::default(),
    }
    .among(&job.node_of_rank);
    let machine = config::setting("TOWPATH_MACHINE").map(|value| MachineDescription::of_setting(&value));
    Ok(World {
        lane,
        world: comm(ContextId::new(number, 0), everyone, "MPI_COMM_WORLD"),
        myself: comm(ContextId::new(creator, 1), vec![me], "MPI_COMM_SELF"),
        heap: Mutex::new(Heap::new(segment.clone().with_heaps(config::number("TOWPATH_HEAP") != Some(0)))),
        thread_level,
        main_thread: std::thread::current().id(),
        selection,
        machine: machine.transpose().map_err(failed_start)?,
        segment,
        quota: OnceLock::new(),
        losses,
        launcher: Mutex::new(connected.take().expect("as above")),
        contexts: Contexts::new(creator),
        attributes: Predefined {
            tag_ub: i32::MAX,
            host: PROC_NULL,
            io: job.rank as i32,
            // Processes share a clock only within a host.
            wtime_is_global: i32::from(!several),
            universe_size: job.universe_size.unwrap_or(job.size as i32),
            appnum: job.appnum,
            last_used_code: AtomicU32::new(0),
        },
        job,
    })
}

/// Ends MPI: deletes the attributes of MPI_COMM_SELF, then completes everything in flight, then
/// tells the launcher.
pub(crate) fn finish() -> Result<()> {
    let world = world()?;
    world.myself.attributes.delete_all(COMM_SELF)?;
    crate::topologies::declaration::show("at the end");
    crate::collectives::closing_barrier()?;
    world.lane.with(|state| state.engine.end_flow_control());
    world
        .lane
        .wait_for(|_| WaitTarget::Other, |state| (!(state.sweep_abandoned() | state.engine.busy())).then_some(()));
    world.lane.with(|state| state.engine.wire_mut().leave());
    world.lane.wait_for(|_| WaitTarget::Other, |state| (!state.engine.busy()).then_some(()));
    world.lane.with(|state| state.engine.wire_mut().close());
    set_phase(Phase::After);
    world.segment.own_control().set_state(RankState::Finalized);
    world.segment.head().finalized.fetch_add(1, Ordering::AcqRel);
    world.launcher.lock().unwrap().finalize().map_err(|error| Error::new(ERR_OTHER, error.to_string()))
}

/// Prints lines to standard error in one write.
pub(crate) fn say_lines(lines: &str) {
    let _ = std::io::stderr().write_all(format!("{lines}\n").as_bytes());
}

/// Prints a line to standard error in one write, so that the lines of ranks that fail together do
/// not mix.
pub(crate) fn say(sentence: &str) {
    say_lines(&format!("towpath: {sentence}"));
}

/// Wakes the thread of this process that sleeps in the kernel.
pub(crate) fn wake_myself() {
    if let Some(world) = WORLD.get() {
        towpath_machine::wait::notify(world.segment.own_control());
    }
}
