//! Translates interface files of Charm++ (`.ci`) to C++.
//!
//! ```text
//!  lexer, cpp      tokens, and the ends of C++ that is passed through
//!  parser          by recursive descent
//!    ast           what a file declares
//!    triggers      which entry methods steps wait for
//!  emit            writes the headers of a module
//!  libraries       modules of libraries that come with Charm++
//!  driver          what command lines of the compiler driver and the launcher ask for
//!  diagnostic      what is wrong, and where
//! ```

#![forbid(unsafe_code)]

pub mod ast;
mod cpp;
mod diagnostic;
pub mod driver;
pub mod emit;
mod lexer;
mod libraries;
mod parser;
mod triggers;

pub use diagnostic::{Diagnostic, SourceFile};
pub use parser::parse;

/// The headers of all modules of an interface file.
///
/// # Errors
/// It is not one, or it uses what does not exist here.
pub fn translate(source: SourceFile<'_>) -> Result<Vec<emit::Headers>, Diagnostic> {
    let file = parse(source)?;
    Ok(file.modules.iter().map(|module| emit::emit(module, source.name)).collect())
}
