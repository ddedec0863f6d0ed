//! `mpiexec` for the tests of this crate, because cargo builds no programs of other crates for
//! them.

fn main() {
    std::process::exit(towpath_launch::mpiexec::main());
}
