//! The command `towpath`: see `towpath_launch::command`.

fn main() {
    std::process::exit(towpath_launch::command::main());
}
