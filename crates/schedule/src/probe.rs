//! The messages by which two ranks measure the link between them.

use crate::Team;
use crate::buffers::Piece;
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};

/// Builds a plan in which this rank and `partner` send each other so many bytes at the same time:
/// those at `from`; the others arrive at `to`.
pub fn swap(
    team: &Team,
    partner: usize,
    bytes: i64,
    (from, to): (*mut u8, *mut u8),
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(team);
    builder.receive(partner, 0, Piece::raw(to, bytes));
    builder.send(partner, 0, Piece::raw(from, bytes));
    builder.finish()
}
