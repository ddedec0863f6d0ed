//! `libtowpath_actors.so`: the C functions of message-driven objects, which
//! `include/towpath/actors.h` declares and describes.
//!
//! ```text
//!  job             start, run and end
//!  current         the runtime of this thread
//!  calls           collections, chares, callbacks
//!  sections        multicasts and reductions of subsets
//!  lists           values of reductions that have parts
//!  balancing       load balancing; checkpoint: checkpoints and restarts
//!  messages        messages as C sees them
//!    priorities    priorities that are strings of bits
//!    held          arrays of messages that the program writes to
//!    placing       arrays that arrive in memory of the program
//!    strided       arrays that an MPI datatype describes
//!    streams       streams of devices
//!  program         what the runtime asks of the program's functions
//!    registry      types, entry methods and reducers, and their numbers
//!    value         values of reductions that the program's functions combine
//!  threads         methods on user-level threads
//!    exceptions    exceptions of C++ while threads are exchanged
//!  writer          who writes to an array that it was lent
//!  failure         sentences for the program, and the program's own
//!  types           structures of the header
//! ```

pub mod balancing;
pub mod calls;
pub mod checkpoint;
mod current;
mod exceptions;
pub mod failure;
pub mod held;
pub mod job;
pub mod lists;
pub mod messages;
pub mod placing;
pub mod priorities;
pub mod program;
pub mod registry;
pub mod sections;
pub mod streams;
pub mod strided;
pub mod threads;
pub mod types;
pub mod value;
mod writer;
