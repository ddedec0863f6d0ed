//! The state of this process: the only statics of Towpath (arrow 6), from MPI_Init to MPI_Finalize.
//!
//! `OBJECTS` exists before MPI_Init, because info objects, error handlers and attribute keys may be
//! made then; `WORLD` exists from MPI_Init on and is never taken down, so late calls find a
//! sentence and not a crash.

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
use towpath_machine::levels::Description;
use towpath_machine::resources::Instances;
use towpath_shm::Heap;
use towpath_transport::Losses;

use crate::buffered::Buffer;
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
    /// Predefined types made from parameters (MPI_Type_create_f90_*).
    pub parameterized: Mutex<Vec<(Datatype, Handle)>>,
    /// The buffer of MPI_Buffer_attach.
    pub buffer: Mutex<Option<Buffer>>,
    /// MPI_GROUP_EMPTY.
    pub empty_group: Arc<Group>,
    /// MPI_ERRORS_ARE_FATAL.
    pub fatal: Arc<Errhandler>,
    /// MPI_ERRORS_ABORT.
    pub abort: Arc<Errhandler>,
    /// MPI_ERRORS_RETURN.
    pub returning: Arc<Errhandler>,
    /// What decides errors before MPI_Init and after MPI_Finalize.
    pub initial_errhandler: Mutex<Arc<Errhandler>>,
    /// What decides errors of files that are not open (MPI_FILE_NULL).
    pub file_errhandler: Mutex<Arc<Errhandler>>,
    /// Error classes and codes.
    pub errors: Registry,
    /// What MPI_INFO_ENV holds.
    pub environment: OnceLock<Pairs>,
    /// Where this process runs.
    pub instances: Mutex<Instances>,
}

/// A session: built with the issue of dynamic processes; its error handler and buffer have their
/// place already.
#[derive(Debug)]
pub struct Session {
    /// MPI_Session_set_errhandler.
    pub errhandler: Mutex<Arc<Errhandler>>,
    /// MPI_Session_attach_buffer.
    pub buffer: Mutex<Option<Buffer>>,
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

/// What exists from MPI_Init on.
pub struct World {
    /// Engine, requests, and the waiting loop.
    pub lane: Lane,
    /// MPI_COMM_WORLD.
    pub world: Arc<Comm>,
    /// MPI_COMM_SELF.
    pub myself: Arc<Comm>,
    /// The facts of the job.
    pub job: Job,
    /// Provided thread level.
    pub thread_level: i32,
    /// The thread that called MPI_Init.
    pub main_thread: std::thread::ThreadId,
    /// Which collective algorithm where.
    pub selection: Selection,
    /// The machine that a setting describes in place of the one that is there.
    pub machine: Option<Description>,
    /// The mapped segment, kept for its control pages.
    pub segment: towpath_shm::Segment,
    /// Opened when the first board is made.
    quota: OnceLock<ProcessorQuota>,
    /// Where MPI_Alloc_mem takes memory that the peers can reach.
    pub(crate) heap: Mutex<Heap>,
    /// Why processes of other hosts are lost.
    losses: Option<Losses>,
    launcher: Mutex<Box<dyn Launcher>>,
    /// The context names that this process gives.
    contexts: Contexts,
    /// Values of the predefined attributes, to which the program gets pointers.
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

/// Where the process stands between start and end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Phase {
    /// Before MPI_Init.
    Before = 0,
    /// MPI may be called.
    Running = 1,
    /// After MPI_Finalize.
    After = 2,
    /// In a child that was forked while MPI ran: the channels are its parent's.
    Child = 3,
    /// While the job is being ended: handlers of `atexit` run.
    Ending = 4,
}

static WORLD: OnceLock<World> = OnceLock::new();
static PHASE: AtomicU32 = AtomicU32::new(0);
static FACE: AtomicPtr<Face> = AtomicPtr::new(std::ptr::null_mut());
/// The own control page while MPI runs, NULL before and after: every function looks at it first,
/// and publishes its number there.
static PAGE: AtomicPtr<ControlPage> = AtomicPtr::new(std::ptr::null_mut());

/// Where the process stands.
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

/// Checks that MPI may be called and publishes which function the process is in; the page is for
/// [`leave`].
#[inline]
pub fn enter(call: u16) -> Result<&'static ControlPage> {
    // SAFETY: the page is NULL unless MPI runs, else part of the segment, which stays mapped until
    // the process ends.
    match unsafe { PAGE.load(Ordering::Relaxed).as_ref() } {
        Some(page) => {
            page.last_call.store(u32::from(call), Ordering::Relaxed);
            page.in_call.store(1, Ordering::Relaxed);
            Ok(page)
        }
        None => not_running(),
    }
}

/// The own control page while MPI runs.
pub(crate) fn page() -> Option<&'static ControlPage> {
    // SAFETY: as in `enter`.
    unsafe { PAGE.load(Ordering::Relaxed).as_ref() }
}

/// Why MPI cannot be called now.
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

/// What becomes of a call that [`enter`] has refused. MPI_Finalize succeeds and does nothing where
/// a handler of `atexit` calls it: in a child, which inherits its parent's, and while the job ends.
#[cold]
pub(crate) fn refused(call: u16, error: Error) -> Result<()> {
    let finalizes = NAMES.get(usize::from(call)) == Some(&"MPI_Finalize");
    if finalizes && matches!(phase(), Phase::Child | Phase::Ending) { Ok(()) } else { Err(error) }
}

/// In a child that was just forked: from now on every call finds that MPI does not run here.
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

/// Remembers the face through which the program calls.
#[inline]
pub fn set_face(face: &'static Face) {
    FACE.store(std::ptr::from_ref(face).cast_mut(), Ordering::Relaxed);
}

/// The face through which the program calls.
pub fn face() -> Option<&'static Face> {
    // SAFETY: only `set_face` stores here, and faces are statics.
    unsafe { FACE.load(Ordering::Relaxed).as_ref() }
}

/// The world.
#[inline]
pub fn world() -> Result<&'static World> {
    match WORLD.get() {
        Some(world) => Ok(world),
        None => fail!(ERR_OTHER, "MPI is not initialised; call MPI_Init first"),
    }
}

/// The lane.
#[inline]
pub fn lane() -> Result<&'static Lane> {
    Ok(&world()?.lane)
}

/// Which collective algorithm where.
pub fn selection() -> Result<&'static Selection> {
    Ok(&world()?.selection)
}

/// This process.
pub fn me() -> PeerIndex {
    WORLD.get().map_or(PeerIndex(0), |world| PeerIndex(world.job.rank))
}

/// Whether this host has more ranks of the job than cores for them, as far as is known.
pub(crate) fn is_crowded() -> bool {
    WORLD.get().is_none_or(|world| {
        let cores = world.segment.head().allowed_cores.load(Ordering::Relaxed) as usize;
        world.job.local_ranks.len() > cores
    })
}

impl World {
    /// Whether the ranks of this host share cores, as far as they have said where they may run.
    pub(crate) fn ranks_share_cores(&self) -> bool {
        let head = self.segment.head();
        let quota = || self.quota.get_or_init(ProcessorQuota::open).cores();
        cores::are_shared(head, head.local_ranks.load(Ordering::Relaxed), quota)
    }
}

/// Finds a communicator.
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

/// Finds a communicator for the small path.
///
/// # Safety
/// As [`Table::borrow`].
#[inline]
pub unsafe fn borrow_comm<'a>(handle: Handle) -> Result<&'a Arc<Comm>> {
    let found = match handle {
        COMM_WORLD => WORLD.get().map(|world| &world.world),
        COMM_SELF => WORLD.get().map(|world| &world.myself),
        // SAFETY: promised by the caller.
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

/// Why a message from or to a lost process failed, as a sentence.
pub(crate) fn reason_of_loss(peer: PeerIndex) -> String {
    let known = WORLD.get().and_then(|world| world.losses.as_ref()?.of(peer));
    known.unwrap_or_else(|| "the other process died before the message was through".to_owned())
}

/// A new context, named by this process.
pub fn new_context() -> ContextId {
    let world = WORLD.get().expect("contexts are made between MPI_Init and MPI_Finalize");
    world.contexts.propose(|context| OBJECTS.comms.find(|comm| comm.has_context(context)).is_some())
}

/// The number that its maker gave a context (0 is MPI_COMM_WORLD's, 1 MPI_COMM_SELF's), and the
/// maker's rank.
pub(crate) fn maker_of(context: ContextId) -> (u32, u32) {
    let first = WORLD.get().map_or(0, |world| world.contexts.creator().wrapping_sub(world.job.rank));
    (context.0 as u32 >> 2, ((context.0 >> 32) as u32).wrapping_sub(first))
}

/// The MPI function that a rank of this host has called last.
pub(crate) fn last_call_of(peer: PeerIndex) -> Option<&'static str> {
    name_of_call(page_of(peer)?)
}

/// As [`last_call_of`], with whether the rank is in it still; `Some(None)` before its first call.
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

/// The number of the host that this process is on.
pub fn host_of_mine() -> Result<u32> {
    let job = &world()?.job;
    Ok(job.node_of_rank[job.rank as usize])
}

/// A predefined attribute: `None` when the key is none, `Some(None)` when it has no value.
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

/// What MPI_INFO_ENV holds (11.2.1): found out once, so that it is the same before and after
/// MPI_Init. No launcher is asked for a thread level, so there is no key for one.
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
    // Where nobody has launched the process there is one.
    let processes = towpath_launch::client::seen().map(|seen| seen.place.map_or(Some(1), |(_, size)| size));
    if let Ok(Some(processes)) = processes {
        pairs.set("maxprocs", &processes.to_string());
    }
    pairs
}

/// Starts MPI: meets the launcher, maps the segment, makes the predefined communicators.
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
    let machine = config::setting("TOWPATH_MACHINE").map(|value| Description::of_setting(&value));
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
            // Hosts do not share a clock; the processes of one host do.
            wtime_is_global: i32::from(!several),
            universe_size: job.universe_size.unwrap_or(job.size as i32),
            appnum: job.appnum,
            last_used_code: AtomicU32::new(0),
        },
        job,
    })
}

/// Ends MPI: attributes of MPI_COMM_SELF first, then everything under way, then the launcher hears
/// of it.
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

/// Lines on standard error in one write.
pub(crate) fn say_lines(lines: &str) {
    let _ = std::io::stderr().write_all(format!("{lines}\n").as_bytes());
}

/// A line on standard error in one write: ranks that fail at once do not tear each other's lines.
pub(crate) fn say(sentence: &str) {
    say_lines(&format!("towpath: {sentence}"));
}

/// Wakes the own waiting thread.
pub(crate) fn wake_myself() {
    if let Some(world) = WORLD.get() {
        towpath_machine::wait::notify(world.segment.own_control());
    }
}
