//! The attribute macro `chares`, which `towpath-actors-rust` gives to programs.
//!
//! ```text
//!  block   the impl block: its constructor, its entry methods, their parameters; what is refused
//!  output  what is written: the trait ChareType, and the trait of the proxies
//! ```

#![forbid(unsafe_code)]

mod block;
mod output;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes the methods of an `impl` block entry methods of chares.
///
/// One function has the attribute `#[constructor]`. It takes the context, `&ChareContext<Self>`,
/// and its parameters, and returns the value. Methods with the attribute `#[entry]` take `&mut
/// self`, the context and their parameters; they return nothing, or a `Result`. Other functions
/// stay as they are.
///
/// A parameter is of a type that serde can write and read, or a slice `&[T]` of plain elements. For
/// a type `Cell`, the trait `CellProxy` has the entry methods for proxies, and a callback for each
/// one that has no parameters or a slice alone: `done_callback` of `done`. The trait is as visible
/// as the constructor.
///
/// `#[chares(migrate)]` says that chares of this type migrate; the type implements serde's traits.
#[proc_macro_attribute]
pub fn chares(options: TokenStream, item: TokenStream) -> TokenStream {
    let written = block::read(options.into(), item.into()).map(|block| output::write(&block));
    written.unwrap_or_else(|error| error.to_compile_error()).into()
}
