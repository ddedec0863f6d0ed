//! Writes the headers of a module.

mod creation;
mod index;
mod messages;
mod module;
mod names;
mod parameters;
mod posts;
mod proxies;
mod steps;
mod text;

use crate::ast::Module;

/// The two headers of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The module's name: they are `NAME.decl.h` and `NAME.def.h`.
    pub module: String,
    /// What stands in the first.
    pub declarations: String,
    /// What stands in the second.
    pub definitions: String,
}

/// Writes the headers of a module of this file.
#[must_use]
pub fn emit(module: &Module, file: &str) -> Headers {
    Headers {
        module: module.name.clone(),
        declarations: module::declarations(module),
        definitions: module::definitions(module, file),
    }
}
