//! The command `towpath`: see `towpath_tool`.

fn main() {
    std::process::exit(towpath_tool::main());
}
