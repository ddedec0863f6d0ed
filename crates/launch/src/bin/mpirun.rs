//! The command `mpirun`: see `towpath_launch::mpiexec`.

fn main() {
    std::process::exit(towpath_launch::mpiexec::main());
}
