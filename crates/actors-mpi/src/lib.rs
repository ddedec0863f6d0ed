//! Carries the messages of chares over MPI: a [`MachineLayer`](towpath_actors::MachineLayer) on the
//! public C functions of whichever MPI library the process has.
//!
//! ```text
//!  library     finds the MPI library, and its functions
//!    abi       handles and statuses of the standard ABI and of MPICH's
//!  layer       what the layer has, and how it begins and ends
//!    caller    the thread that calls MPI
//!    sending   messages and arrays
//!      batch   messages that are sent together
//!    receiving messages and arrays
//!      slots   receives that wait for messages of any rank
//!      posted  arrays that are received where the program says; announced: before that
//!    requests  of MPI, and what they read or write
//!    waiting   until something arrives
//!    arrays    arrays beside the payload, and how they travel
//!    shared    memory that ranks of a host share
//!      spare   blocks of it that nobody uses
//!    datatype  arrays that a datatype describes
//!    device    arrays in the memory of devices
//!    pauses    how rank 0 waits for a limited time
//!  start       a program begins and ends, with the settings of its user
//!    watch     when rank 0 asks all ranks for samples
//!    report    what is written of them
//!  progress    how far a checkpoint is
//! ```
//!
//! A rank has a ring of receives from any source, which match messages in the order in which they
//! are posted, so the layer tests the oldest only. A message longer than a slot is announced by a
//! short one, and travels on a communicator of its own into memory of its size. All functions are
//! called by the thread that made the layer, which is the same for all layers of a process:
//! `MPI_THREAD_FUNNELED` suffices.

mod abi;
mod announced;
mod arrays;
mod batch;
mod caller;
pub mod datatype;
mod device;
#[cfg(test)]
mod fake;
mod layer;
mod library;
mod pauses;
mod posted;
pub mod progress;
mod receiving;
mod report;
mod requests;
mod sending;
mod shared;
mod slots;
mod spare;
mod start;
mod waiting;
mod watch;

pub use layer::open;
pub use library::LibraryError;
pub use start::{start, stop};
