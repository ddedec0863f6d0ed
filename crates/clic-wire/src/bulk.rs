//! Reception of bulk: tells the ports where the bodies of expected frames belong, so that usually
//! nothing is copied.

use std::time::Instant;

use crate::port::{Arrivals, Places};
use towpath_base::slab::SlabKey;
use towpath_clic::Time;
use towpath_clic::endpoint::Endpoint;
use towpath_clic::frame::HeaderBytes;
use towpath_clic::rails::MOST_RAILS;
use towpath_transport::Sink;

use super::driver::Driver;
use super::rail_of;

/// One poll of an interface for bulk data.
pub(super) struct BulkReader<'a, 'b, S> {
    pub(super) endpoint: &'a mut Endpoint,
    pub(super) driver: Driver<'b, S>,
    pub(super) rails: &'a [[u8; MOST_RAILS]],
    /// The peer that most recently sent bulk.
    pub(super) from: &'a mut u32,
    pub(super) interface: usize,
    /// Start of the wire's clock: one poll may receive many frames, and each gets its own
    /// timestamp.
    pub(super) began: Instant,
    /// True to receive bodies directly at their destination; false to receive them elsewhere and
    /// copy.
    pub(super) in_place: bool,
}

impl<S: Sink> Arrivals for BulkReader<'_, '_, S> {
    fn predict(&mut self, places: &mut Places) {
        let rail = self.rails.get(*self.from as usize).map(|rails| rails[self.interface]);
        let (Some(rail), Some(peer)) =
            (rail.filter(|_| self.in_place), self.endpoint.peer(*self.from))
        else {
            return;
        };
        let destinations = &self.driver.holdings.destinations;
        peer.expected(rail, |chunk| {
            let length = chunk.length as usize;
            let place = destinations
                .get(SlabKey(chunk.token))
                .and_then(|destination| destination.contiguous(chunk.offset, length));
            // SAFETY: `place` is inside the target of a pull that has not been reported as ended,
            // so it is writable (contract of `Clic::pull`), and bytes that have not arrived may
            // have any value.
            place.is_some_and(|place| unsafe {
                places.expect(place, length, [chunk.request, chunk.index])
            })
        });
    }

    fn take(&mut self, header: &HeaderBytes, body: *const u8, length: usize) {
        let rail = rail_of(self.rails, header, self.interface);
        let source = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let body = match length {
            0 => &[],
            // SAFETY: `body` is readable for `length` bytes during this call (contract of
            // `Arrivals::take`), and nothing writes to it meanwhile.
            _ => unsafe { std::slice::from_raw_parts(body, length) },
        };
        let now = self.began.elapsed().as_nanos() as Time;
        self.endpoint.arrived_apart(now, rail, header, body, &mut self.driver);
        self.driver.lines.flush();
        if rail != super::NO_RAIL {
            *self.from = source;
        }
    }
}
