//! Building the lane: cores, waiting policy, wires and engine.

use towpath_engine::{Engine, Limits};
use towpath_machine::wait::Waiter;
use towpath_transport::Wires;
use towpath_transport::shm::Segment;

use crate::error::Result;
use crate::lane::{Lane, State};
use crate::request_table::Requests;
use crate::runs::Runs;
use crate::waiting::Waiting;
use crate::world::failed_start;

/// The lane of this process.
pub(crate) fn lane(segment: &Segment, local_ranks: usize) -> Result<Lane> {
    let waiter = Waiter::new(local_ranks, segment.head(), segment.own_control());
    let waiting = Waiting::new(waiter, segment.clone());
    let mut wires = Wires::chosen(segment.clone()).map_err(failed_start)?;
    wires.set_across(towpath_datatype::copy_across);
    let engine = Engine::new(wires, Limits::from_settings(), local_ranks);
    Ok(Lane::new(State { engine, requests: Requests::default(), runs: Runs::default(), watches: Vec::new() }, waiting))
}
