//! Bulk on its way in: the places where its frames go are told to whoever receives them, so that as
//! a rule nothing is copied.

use std::time::Instant;

use crate::port::{Arrivals, Places};
use towpath_clic::Time;
use towpath_clic::endpoint::Endpoint;
use towpath_clic::frame::HEADER_BYTES;
use towpath_clic::rails::MOST_RAILS;
use towpath_transport::Sink;

use super::desk::Desk;
use super::rail_of;

/// One look at an interface for bulk.
pub(super) struct Bulk<'a, 'b, S> {
    pub(super) endpoint: &'a mut Endpoint,
    pub(super) desk: Desk<'b, S>,
    pub(super) rails: &'a [[u8; MOST_RAILS]],
    /// The peer from which bulk came last.
    pub(super) from: &'a mut u32,
    pub(super) interface: usize,
    /// What the clock of the wire began with: many frames may be taken in one look, and each is
    /// timed.
    pub(super) began: Instant,
    /// It is received where it goes; else elsewhere, and copied.
    pub(super) in_place: bool,
}

impl<S: Sink> Arrivals for Bulk<'_, '_, S> {
    fn predict(&mut self, places: &mut Places) {
        let rail = self.rails.get(*self.from as usize).map(|rails| rails[self.interface]);
        let (Some(rail), Some(peer)) = (rail.filter(|_| self.in_place), self.endpoint.peer(*self.from)) else { return };
        let destinations = &mut self.desk.holdings.destinations;
        peer.expected(rail, |chunk| {
            let length = chunk.length as usize;
            let place = destinations.of(chunk.token).and_then(|destination| destination.row(chunk.offset, length));
            // SAFETY: whoever started the pull keeps its target alive until its end is reported,
            // and what is missing may contain anything.
            place.is_some_and(|place| unsafe { places.expect(place, length, [chunk.request, chunk.index]) })
        });
    }

    fn take(&mut self, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) {
        let rail = rail_of(self.rails, header, self.interface);
        let source = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        // SAFETY: the port lends the body, and nothing else writes to it during the call.
        let body = if length == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(body, length) } };
        let now = self.began.elapsed().as_nanos() as Time;
        self.endpoint.arrived_apart(now, rail, header, body, &mut self.desk);
        self.desk.lines.flush();
        if rail != super::NO_RAIL {
            *self.from = source;
        }
    }
}
