//! Tasks of the project: `cargo run -p xtask -- codegen [--check]`, `arrows`, `dist`.

// This is a program without a library, so `pub` means "used by other modules".
#![allow(unreachable_pub)]

mod api;
mod arrows;
mod codegen;
mod constants;
mod dist;
mod kinds;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Chores of Towpath")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Write the bindings, headers, constants and tables that are generated from api/.
    Codegen {
        /// Write nothing; fail if a checked-in file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Compare the dependencies between the crates with ARCHITECTURE.md.
    Arrows,
    /// Build the libraries and programs and install them below a prefix.
    Dist {
        /// The directory below which lib/, include/ and bin/ are created.
        #[arg(long)]
        prefix: PathBuf,
        /// Cargo profile: release, quick or dev.
        #[arg(long, default_value = "release")]
        profile: String,
        /// Link for this glibc version and newer ones, with cargo-zigbuild (for a wheel that other
        /// machines can use).
        #[arg(long, value_name = "2.28")]
        glibc: Option<String>,
    },
}

fn main() -> ExitCode {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf();
    let done = match Arguments::parse().chore {
        Chore::Codegen { check } => codegen::run(&root, check),
        Chore::Arrows => arrows::run(&root),
        Chore::Dist { prefix, profile, glibc } => {
            dist::run(&root, &prefix, &profile, glibc.as_deref())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}
