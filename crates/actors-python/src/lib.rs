//! `libtowpath_actors_python.so`: the path of small messages between chares of Python.
//!
//! ```text
//!  opening         what Python calls to begin
//!    send          arguments to a message
//!  invoke          a message to a call of an entry method
//!  arguments       values as bytes
//!    arrays        arrays as they are sent
//!      lending     arrays that are sent without a copy
//!    received      arrays as they arrive
//!      memory      memory of messages as objects
//!        dropped   messages that other threads have dropped
//!  failure         exceptions that methods have raised
//!  module          what Python has given
//!  message         messages of the library for C
//!  object          references to Python's objects
//!    interpreter   declarations of the interpreter's stable interface
//! ```
//!
//! Python makes the messages that this cannot: of other types than numbers, texts, bytes, arrays,
//! tuples and lists of these. One library serves all versions of the interpreter: it calls only
//! what is stable in it. The interpreter's lock is held whenever code of this library runs.

mod arguments;
mod arrays;
mod dropped;
mod failure;
mod interpreter;
mod invoke;
mod lending;
mod memory;
mod message;
mod module;
mod object;
mod opening;
mod received;
mod send;
