//! The commands `towpath` and `mpiexec` in one program: see `towpath_tool::main`.

fn main() {
    std::process::exit(towpath_tool::main());
}
