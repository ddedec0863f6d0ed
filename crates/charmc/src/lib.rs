//! Translates interface files of Charm++ (`.ci`) to C++.
//!
//! ```text
//!  lexer, cpp      tokens, and the ends of C++ that is passed through
//!  parser          by recursive descent
//!    ast           what a file declares
//!  diagnostic      what is wrong, and where
//! ```

#![forbid(unsafe_code)]

pub mod ast;
mod cpp;
mod diagnostic;
mod lexer;
mod parser;

pub use diagnostic::{Diagnostic, Source};
pub use parser::parse;
