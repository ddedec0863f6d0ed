//! Message-driven objects (chares) in Rust.
//!
//! A chare is a value of a type whose methods other chares invoke by messages. Towpath places
//! chares on the ranks of a job, and methods of one run one at a time. The attribute
//! [`macro@chares`] makes the methods of an `impl` block entry methods, and writes a trait with the
//! same methods for proxies: [`CollectionProxy`] names all chares of an array or group,
//! [`ElementProxy`] one.
//!
//! ```no_run
//! use towpath_actors_rust::{TypedCallback, ChareContext, ChareJob, MethodResult, Sum, callback,
//! chares, exit};
//!
//! struct Greeter;
//!
//! #[chares]
//! impl Greeter {
//!     #[constructor]
//!     fn new(_: &ChareContext<Greeter>) -> Greeter {
//!         Greeter
//!     }
//!
//!     #[entry]
//!     fn greet(
//!         &mut self,
//!         context: &ChareContext<Greeter>,
//!         whom: String,
//!         all: TypedCallback<i32>,
//!     ) {
//!         println!("chare {}: hello, {whom}", context.index());
//!         context.contribute(Sum, &[1], &all);
//!     }
//! }
//!
//! let code = ChareJob::new().chare::<Greeter>().run(|| {
//!     let greeters = towpath_actors_rust::create_array::<Greeter>(&[8], ())?;
//!     let counted = callback(|count: Vec<i32>| exit(if count == [8] { 0 } else { 1 }));
//!     greeters.greet("world".into(), counted);
//!     Ok::<(), towpath_actors_rust::ChareError>(())
//! });
//! std::process::exit(code.unwrap_or(1));
//! ```
//!
//! Parameters are of any type that serde can write and read. A parameter `&[T]` is an array: the
//! method reads it where it is in the message. The caller passes a slice or a vector, which are
//! copied, or a buffer that it lends.
//!
//! **A buffer belongs to its transfer until completion.** [`ChareContext::lend`] takes a vector, so
//! the chare cannot touch it while it is sent without a copy, and gives it to a function of the
//! chare when no receiver reads it any more:
//!
//! ```
//! use towpath_actors_rust::{ChareContext, chares};
//!
//! struct Cell {
//!     forces: Vec<f64>,
//! }
//!
//! #[chares]
//! impl Cell {
//!     #[constructor]
//!     fn new(_: &ChareContext<Cell>) -> Cell {
//!         Cell { forces: vec![0.5; 1 << 20] }
//!     }
//!
//!     #[entry]
//!     fn send(&mut self, context: &ChareContext<Cell>) {
//!         let forces = std::mem::take(&mut self.forces);
//!         let lent = context.lend(forces, |cell, _, forces| cell.forces = forces);
//!         context.all().element([8]).receive(4.0, lent);
//!     }
//!
//!     #[entry]
//!     fn receive(&mut self, _: &ChareContext<Cell>, factor: f64, forces: &[f64]) {
//!         self.forces.iter_mut().zip(forces).for_each(|(own, other)| *own += factor * other);
//!     }
//! }
//! ```
//!
//! Only chares of a type that serde can write and read migrate, by `#[chares(migrate)]`; without it
//! [`ChareContext::migrate`] does not compile:
//!
//! ```compile_fail
//! use towpath_actors_rust::{ChareContext, chares};
//!
//! struct Fixed;
//!
//! #[chares]
//! impl Fixed {
//!     #[constructor]
//!     fn new(_: &ChareContext<Fixed>) -> Fixed {
//!         Fixed
//!     }
//!
//!     #[entry]
//!     fn go(&mut self, context: &ChareContext<Fixed>) {
//!         context.migrate(1);
//!     }
//! }
//! ```
//!
//! An entry method may return a `Result`: an error ends the job on all ranks with a sentence that
//! names the chare and the method. Functions of this crate are called by the thread that runs the
//! job, and panic elsewhere.
//!
//! ```text
//!  job        types of chares, the main function
//!    program  what the runtime asks of the program
//!  context    what a chare does about itself
//!  proxy      names of chares, by which messages are sent; creation
//!  outgoing   messages that are sent
//!  callback   who is told of a result
//!  array      slices in messages, and buffers that are lent
//!  current    the job of this thread
//!    registry its types, objects, and functions that wait
//!    any_type types of chares, whichever they are
//!  chare      traits that the macro implements
//!  received   messages that methods get
//!  codec      values as bytes
//! ```

#![forbid(unsafe_code)]

mod any_type;
mod array;
mod callback;
mod chare;
mod codec;
mod context;
mod current;
mod error;
mod job;
mod outgoing;
mod program;
mod proxy;
mod received;
mod registry;

pub use array::{Lent, SentSlice};
pub use callback::{ReducedNumber, TypedCallback, callback, quiescence};
pub use chare::{ChareContext, ChareType, MethodResult, Migratable, Migration};
pub use error::{ChareError, JobError};
pub use job::{ChareJob, exit, rank, ranks};
pub use outgoing::OutgoingMessage;
pub use proxy::{
    CollectionProxy, ElementProxy, MessageTarget, create_array, create_chare, create_group,
    create_sparse_array,
};
pub use received::MethodMessage;
pub use towpath_actors::reducers::NumberOperation::{
    self, BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Product, Sum,
};
pub use towpath_actors::{ActorError, Index, MachineLayer};
pub use towpath_actors_derive::chares;
