//! Names of the MPI calls whose numbers control pages contain.
#![forbid(unsafe_code)]

use towpath_base::calls::NAMES;

/// The name of a call; `None` for 0 (no call yet) and for numbers that this build does not know.
pub(crate) fn name(number: u32) -> Option<&'static str> {
    NAMES.get(number as usize).copied().filter(|name| number != 0 && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_call_have_no_name() {
        assert_eq!(name(0), None);
        assert_eq!(name(u32::MAX), None);
        assert!(name(1).is_some());
    }
}
