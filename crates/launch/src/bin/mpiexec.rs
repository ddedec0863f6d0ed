//! The command `mpiexec`: see `towpath_launch::mpiexec`.

fn main() {
    std::process::exit(towpath_launch::mpiexec::main());
}
