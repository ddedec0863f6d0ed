//! The launcher.

/// Runs it.
pub fn main() -> i32 {
    0
}
