//! Communicators as objects (MPI 5.0, chapter 7): a context, a group (or two), and what the program
//! attached.
//!
//! The C functions are in `communicators`, `intercommunicators` and `attributes`.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_base::sync::{AtomicU32, AtomicU64, Ordering};
use towpath_collective::neighborhood::Neighbors;
use towpath_engine::messages::Team;

use crate::attributes::Attributes;
use crate::boards::Place;
use crate::buffered::Buffer;
use crate::constants::{COMM_SELF, COMM_WORLD, PROC_NULL};
use crate::error::{Result, fail};
use crate::errors::Errhandler;
use crate::face::Handle;
use crate::group::Group;
use crate::info::Pairs;
use crate::lane::Lane;
use crate::multicast;
use crate::topologies::declaration::Claim;
use crate::topology::Topology;
use crate::world;

/// The other side of an intercommunicator.
#[derive(Debug)]
pub struct Remote {
    /// The remote group.
    pub group: Arc<Group>,
    /// Context of an intracommunicator of the local group alone, for collectives that need one.
    local_context: AtomicU64,
}

impl Remote {
    /// The remote group, and a context of the local group alone.
    pub fn new(group: Arc<Group>, local_context: ContextId) -> Remote {
        Remote { group, local_context: AtomicU64::new(local_context.0) }
    }

    fn local_context(&self) -> ContextId {
        ContextId(self.local_context.load(Ordering::Relaxed))
    }
}

/// What the program may change at any time.
#[derive(Debug)]
pub struct Settings {
    /// MPI_Comm_set_name.
    pub name: String,
    /// MPI_Comm_set_errhandler.
    pub errhandler: Arc<Errhandler>,
    /// Whether the program has chosen the error handler of this very communicator.
    pub errhandler_chosen: bool,
    /// Hints that Towpath knows and the program has set.
    pub info: Pairs,
    /// The buffer of MPI_Comm_attach_buffer.
    pub buffer: Option<Buffer>,
}

/// A communicator.
#[derive(Debug)]
pub struct Comm {
    handle: AtomicU32,
    context: AtomicU64,
    /// My group.
    pub group: Arc<Group>,
    /// The remote group, if this is an intercommunicator.
    pub remote: Option<Remote>,
    /// My rank in my group.
    pub rank: usize,
    /// The virtual topology.
    pub topology: Option<Arc<Topology>>,
    /// What the topology claims of the channel.
    pub claim: Option<Arc<Claim>>,
    /// My neighbours in the topology, as neighbourhood collectives see them: listed at the first of
    /// them.
    pub neighbors: OnceLock<Neighbors>,
    /// The processes that ranks in point-to-point calls name: the remote group of an
    /// intercommunicator, else the group.
    targets: Arc<[PeerIndex]>,
    /// Cached attributes.
    pub attributes: Attributes,
    settings: Mutex<Settings>,
    sequences: [AtomicU32; 3],
    /// The board of its blocking collectives.
    pub(crate) board: Mutex<Place>,
    /// The group by which its blocking collectives reach all hosts at once.
    pub(crate) cast: Mutex<multicast::Place>,
}

impl Comm {
    /// A communicator of `group`, of which this process must be a member.
    pub fn new(context: ContextId, group: Arc<Group>, remote: Option<Remote>, errhandler: Arc<Errhandler>) -> Comm {
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
            sequences: Default::default(),
            board: Mutex::default(),
            cast: Mutex::default(),
        }
    }

    /// With a virtual topology.
    pub fn with_topology(mut self, topology: Option<Arc<Topology>>) -> Comm {
        self.topology = topology;
        self
    }

    /// With a claim on the channel.
    pub fn with_claim(mut self, claim: Option<Arc<Claim>>) -> Comm {
        self.claim = claim;
        self
    }

    /// With these attributes.
    pub fn with_attributes(mut self, attributes: Attributes) -> Comm {
        self.attributes = attributes;
        self
    }

    /// The handle that the program knows.
    pub fn handle(&self) -> Handle {
        Handle(self.handle.load(Ordering::Relaxed))
    }

    /// Says under which handle the program knows the communicator.
    pub fn set_handle(&self, handle: Handle) {
        self.handle.store(handle.0, Ordering::Relaxed);
    }

    /// The context of point-to-point messages.
    #[inline]
    pub fn context(&self) -> ContextId {
        ContextId(self.context.load(Ordering::Relaxed))
    }

    /// Whether the communicator has this context for itself or for the local group of an
    /// intercommunicator.
    pub(crate) fn has_context(&self, context: ContextId) -> bool {
        self.context() == context || self.remote.as_ref().is_some_and(|remote| remote.local_context() == context)
    }

    /// Gives the contexts when MPI_Comm_idup learns them: the communicator's own, and that of the
    /// local group of an intercommunicator.
    pub fn set_contexts(&self, (context, local): (ContextId, ContextId)) {
        self.context.store(context.0, Ordering::Relaxed);
        if let Some(remote) = &self.remote {
            remote.local_context.store(local.0, Ordering::Relaxed);
        }
    }

    /// What the program may change.
    pub fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap()
    }

    /// For a person: the name that the program has given, else who made the context. Does not wait
    /// for a thread that changes the name.
    pub fn in_words(&self) -> String {
        let name = self.settings.try_lock().map_or_else(|_| String::new(), |settings| settings.name.clone());
        if name.is_empty() {
            let (number, rank) = world::maker_of(self.context());
            return format!("context {number} of rank {rank}");
        }
        match [COMM_WORLD, COMM_SELF].contains(&self.handle()) {
            true => name,
            false => format!("\"{name}\""),
        }
    }

    /// The error handler.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.settings().errhandler.clone()
    }

    /// Is this an intercommunicator?
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The processes that ranks in point-to-point calls name: the remote group of an
    /// intercommunicator, else the group.
    #[inline]
    pub fn targets(&self) -> &[PeerIndex] {
        &self.targets
    }

    /// The process behind a rank argument; `None` for MPI_PROC_NULL.
    #[inline(always)]
    pub fn target(&self, rank: i32, argument: &str) -> Result<Option<PeerIndex>> {
        // A negative rank is no index: it becomes too large a one.
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

    /// My group under the communicator's own context, which on an intercommunicator is that of both
    /// groups.
    pub fn common_team(&self, plane: Plane) -> Team {
        Team { context: self.context().on(plane), rank: self.rank, peers: self.group.peers.clone() }
    }

    /// My group as collectives see it, on a plane.
    pub fn team(&self, plane: Plane) -> Team {
        let context = self.remote.as_ref().map_or(self.context(), Remote::local_context);
        Team { context: context.on(plane), rank: self.rank, peers: self.group.peers.clone() }
    }

    /// The remote group as collectives see it: its peers under the communicator's own context, and
    /// my rank in my group.
    pub fn remote_team(&self, plane: Plane) -> Option<Team> {
        let remote = self.remote.as_ref()?;
        Some(Team { context: self.context().on(plane), rank: self.rank, peers: remote.group.peers.clone() })
    }

    /// The number of the next collective operation of a form, which its messages carry; all members
    /// call in the same order, so all get the same. Each form has numbers of its own: the standard
    /// forbids to start a nonblocking operation before a blocking one on one process and after it
    /// on another (6.12), but programs do, and other libraries let them.
    pub fn next_sequence(&self, form: Form) -> u32 {
        let number = self.coming_sequence(form);
        // No locked instruction: calls of one form on one communicator are never concurrent.
        let counter = &self.sequences[form as usize];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        number
    }

    /// The number that [`Comm::next_sequence`] gives next.
    pub fn coming_sequence(&self, form: Form) -> u32 {
        let number = self.sequences[form as usize].load(Ordering::Relaxed);
        match form {
            Form::Blocking => number % (1 << 14),
            Form::Nonblocking => (1 << 14) + number % (1 << 14),
            Form::Persistent => (1 << 15) + number % (1 << 15),
        }
    }
}

/// Contexts of communicators that are gone and that the engine does not know of yet.
static CLOSED: Mutex<Vec<ContextId>> = Mutex::new(Vec::new());

impl Drop for Comm {
    /// Nobody can receive a point-to-point message in this context any more: neither the handle nor
    /// a persistent request refers to the communicator. Messages of collective operations are left
    /// alone, because one that is under way may still wait for them.
    fn drop(&mut self) {
        if self.handle().0 != 0 {
            CLOSED.lock().unwrap().push(self.context().on(Plane::PointToPoint));
        }
    }
}

/// Tells the engine of contexts whose communicators are gone. The last reference may go anywhere,
/// so this is done at the next occasion.
pub(crate) fn close_contexts(lane: &Lane) {
    let contexts = std::mem::take(&mut *CLOSED.lock().unwrap());
    if !contexts.is_empty() {
        lane.with(|state| contexts.into_iter().for_each(|context| state.engine.close_context(context)));
    }
}

/// How a collective operation was called.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// It returns when it is complete.
    Blocking = 0,
    /// It gives a request.
    Nonblocking = 1,
    /// It gives a request that can be started again.
    Persistent = 2,
}
