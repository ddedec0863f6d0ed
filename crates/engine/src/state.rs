//! The state of the engine, except for the wire.

use towpath_base::events::Subscriber;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::Target;
use towpath_transport::{Header, RegionKey};

use crate::Limits;
use crate::active::Active;
use crate::closed::Closed;
use crate::credit::{Fetchable, Flow};
use crate::direct::DirectReceive;
use crate::matching::FRONT;
use crate::peers::Peers;
use crate::posted::PostedReceives;
use crate::requests::{RequestId, RequestSlab};
use crate::unexpected::Unexpected;

/// Token of a pull without a request.
pub(crate) const NO_REQUEST: u64 = u64::MAX;

/// A call to the wire that is deferred until the wire has finished reporting.
pub(crate) enum DeferredCall {
    /// Send a control message.
    Control { to: PeerIndex, header: Header },
    /// Send an active message.
    Active { to: PeerIndex, header: Header, payload: Box<[u8]> },
    /// Pull a region.
    Pull { from: PeerIndex, key: RegionKey, token: u64, target: Target },
    /// Withdraw a published region.
    Withdraw { to: PeerIndex, key: RegionKey },
}

/// What each round of progress looks at, as a device wakes nobody.
pub(crate) enum DeviceWait {
    /// A request whose data a device packs or unpacks.
    Request(RequestId),
    /// An unexpected message in the memory of its sender's device. It is fetched unless a receive
    /// matches it within so many more rounds.
    Message { message: Fetchable, rounds: u32 },
}

/// Tells whether a process may send messages in a context.
pub type IsMember = fn(ContextId, PeerIndex) -> bool;

/// The state of the engine, except for the wire.
pub(crate) struct State<S> {
    /// Index of this process.
    pub(crate) own: PeerIndex,
    pub(crate) limits: Limits,
    pub(crate) peers: Peers,
    pub(crate) posted: PostedReceives,
    /// The receive of a blocking call that is making progress right now.
    pub(crate) direct: DirectReceive,
    pub(crate) unexpected: Unexpected,
    /// Credit beyond the initial amount.
    pub(crate) flow: Flow,
    /// Contexts of freed communicators.
    pub(crate) closed: Closed,
    pub(crate) requests: RequestSlab,
    pub(crate) active: Active,
    pub(crate) actions: Vec<DeferredCall>,
    /// What waits for a device. A round of progress removes what no longer does.
    pub(crate) on_device: Vec<DeviceWait>,
    /// Launches what devices have been given in a round of progress.
    pub(crate) launch: fn(),
    /// Incomplete sends and pulls.
    pub(crate) under_way: usize,
    /// Number of [exchanges](crate::Exchange) so far. A fixed number of them triggers a round of
    /// progress.
    pub(crate) exchanges: u32,
    /// Tells which peers may send in a context.
    pub(crate) is_member: IsMember,
    /// Receives the engine's events.
    pub(crate) subscriber: S,
}

impl<S: Subscriber> State<S> {
    pub(crate) fn new(own: PeerIndex, limits: Limits, peers: usize, subscriber: S) -> State<S> {
        State {
            own,
            limits,
            peers: Peers::new(peers, limits.unexpected_bytes),
            posted: PostedReceives::new(FRONT),
            direct: DirectReceive::new(),
            unexpected: Unexpected::new(FRONT),
            flow: Flow::default(),
            closed: Closed::default(),
            requests: RequestSlab::default(),
            active: Active::default(),
            actions: Vec::new(),
            on_device: Vec::new(),
            launch: || (),
            under_way: 0,
            exchanges: 0,
            is_member: |_, _| false,
            subscriber,
        }
    }
}
