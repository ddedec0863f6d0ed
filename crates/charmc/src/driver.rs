//! The compiler driver and the launcher: what their command lines ask for. Nothing is run here.

mod compile;
mod launch;

pub use compile::{Compilation, compilation};
pub use launch::{CharmrunCommand, launch};

use std::path::{Path, PathBuf};

/// Where Towpath is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The directory with bin, include and lib.
    pub prefix: PathBuf,
}

impl Installation {
    /// That of a program in its directory bin.
    #[must_use]
    pub fn of(program: &Path) -> Installation {
        let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        Installation { prefix: prefix.to_owned() }
    }

    fn include(&self) -> PathBuf {
        self.prefix.join("include/towpath/charm++")
    }

    fn lib(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    fn mpiexec(&self) -> PathBuf {
        self.prefix.join("bin/mpiexec")
    }
}
