//! Message-driven objects (chares), as in Charm++: the runtime of one rank.
//!
//! A chare is an object that belongs to a collection and is named by its index there. Invoking one
//! of its entry methods sends a message; the scheduler of the rank where the chare is invokes the
//! method. Methods of a chare run one at a time, and messages have no order.
//!
//! ```text
//!  runtime         what programs call, and the scheduler's loop
//!    dispatch      what is done with each message
//!    creation      collections and chares that are made
//!    migration     elements that come, go and end
//!    delivery      broadcasts, from the request to the methods
//!    multicast     the same to sections, and who belongs to them
//!    results       what reductions give, and who is told
//!    idle          quiescence, and jobs that do not end themselves
//!      wave_pauses between waves that find nothing new
//!      stall       when rank 0 looks whether anything is left to do
//!    timers        callbacks that are told after some time
//!    ending        the end of the job, errors; closed: the layer afterwards
//!    undelivered   messages for which there is no chare
//!    starting      what ranks keep until they have the read-only data
//!    suspended     methods that wait: user-level threads and coroutines
//!    synchronization  elements that are ready for load balancing
//!    balancing     from measured loads to migrations; leading: what leaders of groups do
//!    measuring     how long methods run; clocks: by which clocks
//!    observing     samples of all ranks for an observer; sample: what is in one; observation: what
//!                  a rank keeps for them
//!    checkpoint    elements are written to disk; restart: and read, on any number of ranks
//!    queue         messages that wait, by priority
//!  collection      one rank's part of an array or group
//!    places        which elements are here
//!    location      where elements are: homes, and what ranks have heard
//!    broadcast     every broadcast reaches every element once
//!    section       subsets, multicasts to them and reductions over them
//!    reduction     contributions of elements that migrate, begin and end meanwhile
//!      reducers    how contributions are combined in every program
//!  quiescence      when nothing is left to do
//!  balance         which elements migrate: pure algorithms
//!  message         header and payload as they are sent
//!    header        what a message asks, and of whom
//!    memory        of one message
//!    priority      strings of bits
//!    pool          memory of messages that is used again
//!    arrays        large arrays beside the payload
//!      posted      those whose receiver says where they are to be
//!      persistent  memory into which others put arrays again and again; putting: how
//!  control         what runtimes tell each other
//! ```
//!
//! The runtime knows no MPI and no language: a [`MachineLayer`] carries its messages, and
//! [`Chares`] makes and invokes the objects of a program. It has no unsafe code, and several can
//! exist in one process. The semantics are those of the Charm++ manual; location management follows
//! O. Lawlor and L. Kale, "Supporting dynamic parallel object arrays" (2003).

#![forbid(unsafe_code)]

pub mod arrays;
pub mod balance;
pub mod balancing;
pub mod broadcast;
pub mod callback;
pub mod chares;
pub mod checkpoint;
mod clocks;
mod closed;
pub mod collection;
pub mod control;
mod creation;
mod delivery;
mod dispatch;
mod ending;
pub mod error;
mod header;
mod idle;
pub mod index;
pub mod layer;
mod leading;
pub mod location;
mod measuring;
mod memory;
pub mod message;
mod migration;
mod multicast;
mod observation;
mod observing;
pub mod persistent;
mod places;
mod pool;
pub mod posted;
pub mod priority;
mod putting;
pub mod queue;
pub mod quiescence;
pub mod reducers;
pub mod reduction;
mod restart;
mod results;
pub mod runtime;
pub mod sample;
pub mod section;
mod stall;
mod starting;
mod state;
mod suspended;
mod sync_rounds;
mod synchronization;
mod timers;
pub mod tree;
mod undelivered;
mod wave_pauses;

pub use arrays::{ArrayMemory, MessageArray, WritableArray};
pub use balance::{Balancer, BalancerOptions};
pub use callback::ChareCallback;
pub use chares::{ChareId, Chares};
pub use collection::{CollectionId, CollectionOptions, ObjectId};
pub use error::ActorError;
pub use index::Index;
pub use layer::MachineLayer;
pub use location::HomeMap;
pub use message::{ActorHeader, ActorMessage, MessageHandle};
pub use priority::BitPriority;
pub use queue::QueueOrder;
pub use reduction::Contribution;
pub use runtime::Runtime;
pub use section::SectionId;
