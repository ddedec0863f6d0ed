//! Communicators as objects (MPI 5.0, chapter 7): a context, one or two groups, and what the
//! program has attached.
//!
//! The C functions are in `chapters`: `communicators`, `intercommunicators` and `attributes`.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_base::sync::{AtomicU32, AtomicU64, Ordering};
use towpath_collective::board::{BoardQueue, BoardState};
use towpath_collective::neighborhood::Neighbors;
use towpath_collective::numbers::{self, CallForm};
use towpath_collective::order::{CallOrder, PlacedCall};
use towpath_collective::{AgreedRates, CallSignature, KeptCalls, Placements, Selection, Team};
use towpath_mapping::topology::Topology;
use towpath_network::HostNetwork;
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::{COMM_SELF, COMM_WORLD, PROC_NULL};
use towpath_neutral::error::{Result, fail};
use towpath_neutral::info::Pairs;

use super::attribute::Attributes;
use super::buffer::AttachedBuffer;
use super::claim::ChannelClaim;
use super::coll_state::MulticastState;
use super::errhandler::Errhandler;
use super::group::Group;
use crate::process;
use crate::progress::board_calls::Caller;

/// The remote side of an intercommunicator.
#[derive(Debug)]
pub(crate) struct Remote {
    /// The remote group.
    pub group: Arc<Group>,
    /// Context of an intracommunicator of only the local group, for collectives that need one.
    local_context: AtomicU64,
}

impl Remote {
    /// Creates the remote side from its group and a context for the local group.
    pub(crate) fn new(group: Arc<Group>, local_context: ContextId) -> Remote {
        Remote { group, local_context: AtomicU64::new(local_context.0) }
    }

    fn local_context(&self) -> ContextId {
        ContextId(self.local_context.load(Ordering::Relaxed))
    }
}

/// The properties that the program may change at any time.
#[derive(Debug)]
pub(crate) struct Settings {
    /// MPI_Comm_set_name.
    pub name: String,
    /// MPI_Comm_set_errhandler.
    pub errhandler: Arc<Errhandler>,
    /// True if the program has set the error handler on this communicator itself.
    pub errhandler_chosen: bool,
    /// Hints that the program has set and Towpath recognizes.
    pub info: Pairs,
    /// The buffer of MPI_Comm_attach_buffer.
    pub buffer: Option<AttachedBuffer>,
}

/// A communicator.
#[derive(Debug)]
pub(crate) struct Comm {
    handle: AtomicU32,
    context: AtomicU64,
    /// The local group.
    pub group: Arc<Group>,
    /// The remote group, if this is an intercommunicator.
    pub remote: Option<Remote>,
    /// Rank of this process in the local group.
    pub rank: usize,
    /// The virtual topology.
    pub topology: Option<Arc<Topology>>,
    /// The topology's claim on the shared-memory channel.
    pub claim: Option<Arc<ChannelClaim>>,
    /// Neighbours of this process, in the form that neighbourhood collectives use; computed at the
    /// first of them.
    pub neighbors: OnceLock<Neighbors>,
    /// The processes that rank arguments of point-to-point calls name: the remote group of an
    /// intercommunicator, else the local group.
    targets: Arc<[PeerIndex]>,
    /// Cached attributes.
    pub attributes: Attributes,
    settings: Mutex<Settings>,
    /// The selection of algorithms that a hint has asked for.
    selection: OnceLock<Selection>,
    /// What its collectives assume about links, if that is not what all communicators assume.
    placements: Mutex<Placements>,
    sequences: [AtomicU64; 3],
    /// Number of its blocking calls on the board.
    pub(crate) on_board: AtomicU64,
    /// The board of its blocking collectives.
    pub(crate) board: Mutex<BoardState>,
    /// The boards of collectives that are polled, by form: blocking ones over several hosts,
    /// nonblocking ones, persistent ones that all members start in the same order.
    queues: [Arc<Mutex<BoardQueue>>; 3],
    /// Blocking collectives that later ones may repeat. They hold this communicator.
    pub(crate) kept: Mutex<KeptCalls<Caller>>,
    /// The multicast group by which its blocking collectives reach all hosts at once.
    pub(crate) cast: Mutex<MulticastState>,
}

impl Comm {
    /// Creates a communicator of `group`, of which this process must be a member.
    pub(crate) fn new(
        context: ContextId,
        group: Arc<Group>,
        remote: Option<Remote>,
        errhandler: Arc<Errhandler>,
    ) -> Comm {
        let rank = group.rank.expect("only members hold a communicator");
        let (name, info) = (String::new(), Pairs::default());
        let settings = Settings { name, errhandler, errhandler_chosen: false, info, buffer: None };
        let targets = remote.as_ref().map_or(&group, |remote| &remote.group).peers.clone();
        Comm {
            handle: AtomicU32::new(0),
            context: AtomicU64::new(context.0),
            group,
            remote,
            rank,
            targets,
            topology: None,
            claim: None,
            neighbors: OnceLock::new(),
            attributes: Attributes::default(),
            settings: Mutex::new(settings),
            selection: OnceLock::new(),
            placements: Mutex::default(),
            sequences: Default::default(),
            on_board: AtomicU64::new(0),
            board: Mutex::default(),
            queues: Default::default(),
            kept: Mutex::default(),
            cast: Mutex::default(),
        }
    }

    /// Sets the virtual topology.
    pub(crate) fn with_topology(mut self, topology: Option<Arc<Topology>>) -> Comm {
        self.topology = topology;
        self
    }

    /// Sets the claim on the channel.
    pub(crate) fn with_claim(mut self, claim: Option<Arc<ChannelClaim>>) -> Comm {
        self.claim = claim;
        self
    }

    /// Takes over the rates of links on which the members of `parent`, of which all members are
    /// some, have agreed before the call of this form that makes the communicator.
    pub(crate) fn with_links_of(self, parent: &Comm, form: CallForm) -> Comm {
        let rates = parent.placements().rates(form, parent.calls_by_messages(form)).cloned();
        if let Some(rates) = rates {
            self.placements().inherit(Arc::new(self.group.placement_with(&rates)), rates);
        }
        self
    }

    /// Sets the attributes.
    pub(crate) fn with_attributes(mut self, attributes: Attributes) -> Comm {
        self.attributes = attributes;
        self
    }

    /// The program's handle of the communicator.
    pub(crate) fn handle(&self) -> Handle {
        Handle(self.handle.load(Ordering::Relaxed))
    }

    /// Sets the program's handle of the communicator.
    pub(crate) fn set_handle(&self, handle: Handle) {
        self.handle.store(handle.0, Ordering::Relaxed);
    }

    /// The context of point-to-point messages.
    #[inline]
    pub(crate) fn context(&self) -> ContextId {
        ContextId(self.context.load(Ordering::Relaxed))
    }

    /// True if this is the context of the communicator, or of the local group of an
    /// intercommunicator.
    pub(crate) fn has_context(&self, context: ContextId) -> bool {
        self.context() == context || self.remote.as_ref().is_some_and(|remote| remote.local_context() == context)
    }

    /// Sets the contexts once the members have agreed on them: the communicator's own, and that of
    /// the local group of an intercommunicator.
    pub(crate) fn set_contexts(&self, (context, local): (ContextId, ContextId)) {
        self.context.store(context.0, Ordering::Relaxed);
        if let Some(remote) = &self.remote {
            remote.local_context.store(local.0, Ordering::Relaxed);
        }
    }

    /// Selects algorithms for the collectives of this communicator. False if there is a selection
    /// already, or a collective has been called: calls under way, persistent ones and boards keep
    /// what they have been made with, and members must not mix the two.
    pub(crate) fn select(&self, selection: Selection) -> bool {
        self.is_unused() && self.selection.set(selection).is_ok()
    }

    /// Sets what joins the job's hosts for the collectives of this communicator. False where
    /// [`Comm::select`] is, and on an intercommunicator.
    pub(crate) fn describe(&self, network: HostNetwork) -> bool {
        let is_accepted = !self.is_inter() && self.is_unused();
        if is_accepted {
            self.placements().describe(Arc::new(self.group.placement_on(|| network)));
        }
        is_accepted
    }

    /// Sets the rates of the links of the job's hosts on which the members have agreed in a
    /// blocking call. `begun` are the calls of each form that some member has begun. False if
    /// earlier ones made the same hosts leaves: then nothing changes.
    pub(crate) fn adopt(&self, rates: AgreedRates, begun: [u64; 3]) -> bool {
        let placement = Arc::new(self.group.placement_with(&rates));
        let mut placements = self.placements();
        let known = placements.of(CallForm::Blocking, begun[0]);
        let is_news = known.is_none_or(|known| !known.has_same_leaves(&placement));
        if is_news {
            self.kept.lock().unwrap().clear();
            placements.adopt(placement, rates, begun);
        }
        is_news
    }

    /// Locks what is assumed about links.
    pub(crate) fn placements(&self) -> MutexGuard<'_, Placements> {
        self.placements.lock().unwrap()
    }

    fn is_unused(&self) -> bool {
        self.sequences.iter().all(|sequence| sequence.load(Ordering::Relaxed) == 0)
    }

    /// The selection of algorithms for the collectives of this communicator; `None` if it is that
    /// of the process.
    #[inline]
    pub(crate) fn selection(&self) -> Option<&Selection> {
        self.selection.get()
    }

    /// Locks the properties that the program may change.
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap()
    }

    /// Description for the user: the name that the program has set, else number and creator of the
    /// context. Does not wait for a thread that holds the settings.
    pub(crate) fn in_words(&self) -> String {
        let name = self.settings.try_lock().map_or_else(|_| String::new(), |settings| settings.name.clone());
        if name.is_empty() {
            let (number, rank) = process::maker_of(self.context());
            let creator = rank.map_or_else(|| "another job".to_owned(), |rank| format!("rank {rank}"));
            return format!("context {number} of {creator}");
        }
        match [COMM_WORLD, COMM_SELF].contains(&self.handle()) {
            true => name,
            false => format!("\"{name}\""),
        }
    }

    /// The error handler.
    pub(crate) fn errhandler(&self) -> Arc<Errhandler> {
        self.settings().errhandler.clone()
    }

    /// True if this is an intercommunicator.
    #[inline]
    pub(crate) fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The processes that rank arguments of point-to-point calls name: the remote group of an
    /// intercommunicator, else the local group.
    #[inline]
    pub(crate) fn targets(&self) -> &[PeerIndex] {
        &self.targets
    }

    /// The members of both groups, or of the only one.
    pub(crate) fn members(&self) -> impl Iterator<Item = &PeerIndex> {
        let remote = self.remote.iter().flat_map(|remote| remote.group.peers.iter());
        self.group.peers.iter().chain(remote)
    }

    /// The process for a rank argument; `None` for MPI_PROC_NULL.
    #[inline(always)]
    pub(crate) fn target(&self, rank: i32, argument: &str) -> Result<Option<PeerIndex>> {
        // A negative rank becomes an index beyond the end.
        match self.targets.get(rank as usize) {
            Some(&peer) => Ok(Some(peer)),
            None => self.nobody(rank, argument),
        }
    }

    #[cold]
    #[inline(never)]
    fn nobody(&self, rank: i32, argument: &str) -> Result<Option<PeerIndex>> {
        if rank == PROC_NULL {
            return Ok(None);
        }
        fail!(
            ERR_RANK,
            "argument {argument} is {rank}, but the communicator has ranks 0 to {}",
            self.targets().len() - 1
        )
    }

    /// The local group under the communicator's own context, which on an intercommunicator both
    /// groups share: as a team for a call before which this process has begun `begun` others of its
    /// form.
    pub(crate) fn common_team(&self, form: CallForm, begun: u64) -> Team {
        self.team_in(self.context().on(Plane::Collective), form, begun)
    }

    /// The local group as a team for a blocking collective call, on a plane.
    pub(crate) fn team(&self, plane: Plane) -> Team {
        let context = self.remote.as_ref().map_or(self.context(), Remote::local_context);
        self.team_in(context.on(plane), CallForm::Blocking, self.calls_by_messages(CallForm::Blocking))
    }

    fn team_in(&self, context: ContextId, form: CallForm, begun: u64) -> Team {
        let placement = self.placements().of(form, begun).unwrap_or_else(|| self.group.placement()).clone();
        Team { placement, ..self.group.team(context, self.rank) }
    }

    /// Takes the next sequence number of a form of collective call. Messages carry it; all members
    /// call in the same order, so all get the same number. Each form has its own range of numbers:
    /// the standard forbids starting a nonblocking operation before a blocking one on one process
    /// and after it on another (6.12), but programs do it, and other libraries accept it. Here it
    /// works as long as no two members wait for seconds in calls that the other has not begun.
    pub(crate) fn next_sequence(&self, form: CallForm) -> u64 {
        let number = self.coming_sequence(form);
        // No atomic read-modify-write: calls of one form on one communicator never run
        // concurrently.
        let counter = &self.sequences[form as usize];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        number
    }

    /// The queue of polled calls of a form on the board of this communicator, or of its members on
    /// this host. Each form has a queue of its own for the reason of [`Comm::next_sequence`].
    pub(crate) fn queue(&self, form: CallForm) -> &Arc<Mutex<BoardQueue>> {
        &self.queues[form as usize]
    }

    /// The number that [`Comm::next_sequence`] returns next.
    pub(crate) fn coming_sequence(&self, form: CallForm) -> u64 {
        numbers::sequence(form, self.calls_by_messages(form))
    }

    /// The place of the next call of a form among the calls on this communicator.
    pub(crate) fn order(&self, form: CallForm) -> CallOrder {
        let mut before = self.sequences.each_ref().map(|count| count.load(Ordering::Relaxed));
        before[CallForm::Blocking as usize] += self.on_board.load(Ordering::Relaxed);
        CallOrder { context: self.context().0, form, before }
    }

    /// The blocking call that has begun last, with its place.
    pub(crate) fn last_blocking(&self) -> Option<PlacedCall> {
        let mut order = self.order(CallForm::Blocking);
        let count = &mut order.before[CallForm::Blocking as usize];
        *count = count.checked_sub(1)?;
        Some(PlacedCall { order, signature: CallSignature::default() })
    }

    /// How many numbers [`Comm::next_sequence`] has given to this form.
    #[inline]
    pub(crate) fn calls_by_messages(&self, form: CallForm) -> u64 {
        self.sequences[form as usize].load(Ordering::Relaxed)
    }
}

/// Contexts of dropped communicators that the engine has not closed yet.
static CLOSED: Mutex<Vec<ContextId>> = Mutex::new(Vec::new());

impl Drop for Comm {
    /// Queues the context to be closed. Its point-to-point messages cannot be received any more,
    /// because no handle, persistent request or pending call refers to the communicator. Messages
    /// of collectives are kept, because a collective in flight may still wait for them.
    fn drop(&mut self) {
        if self.handle().0 != 0 {
            CLOSED.lock().unwrap().push(self.context().on(Plane::PointToPoint));
        }
    }
}

/// The contexts of communicators dropped since the last call. The last reference may be dropped
/// anywhere, so the engine is told at the next opportunity.
pub(crate) fn take_closed() -> Vec<ContextId> {
    std::mem::take(&mut *CLOSED.lock().unwrap())
}
