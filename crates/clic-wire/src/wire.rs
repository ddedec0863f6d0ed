//! [`Clic`] as a wire: messages and regions from and to peers, which are named by their indices in
//! this wire.

use towpath_base::slab::SlabKey;
use towpath_base::transfer::{Source, Target};
use towpath_clic::{SendError, Time};
use towpath_transport::{
    Cost, Header, MemoryWire, MessageWire, NoResource, RegionKey, RegionWire, Sink, Wire,
};

use crate::bulk::BulkReader;
use crate::driver::{Driver, HEAD_BYTES, head};
use crate::memory::{FetchTarget, Origin};
use crate::{BULKS, Clic, FRAMES, Nobody, SELDOM, key_of, rail_of};

/// Bandwidth in MB/s of rails whose speed is unknown: that of 10 Gbit/s Ethernet.
const UNKNOWN_SPEED: u32 = 1250;

impl Wire for Clic {
    type Peer = usize;

    fn cost(&self, index: usize) -> Cost {
        let bandwidth = match self.speeds[self.ranks[index] as usize] {
            0 => UNKNOWN_SPEED,
            known => known,
        };
        Cost { latency_ns: 2000, bandwidth, eager_limit: self.copied_limit(index) }
    }

    fn mark_lost(&mut self, index: usize) {
        let rank = self.ranks[index];
        self.call(|endpoint, now, driver| endpoint.give_up(now, rank, driver));
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        self.lines.flush();
        let (began, mut clock) = (self.began, None);
        let mut now = || *clock.get_or_insert_with(|| began.elapsed().as_nanos() as Time);
        self.looks = self.looks.wrapping_add(1);
        let mut is_due = self.asleep || self.drowsy || self.looks.is_multiple_of(SELDOM);
        // A sleeping process may have been woken up by frames to a group.
        let groups = self.asleep || self.holdings.groups.awaited;
        if self.asleep {
            self.asleep = false;
            self.look_everywhere();
            if !self.drowsy {
                self.call(|endpoint, now, driver| endpoint.set_asleep(now, false, driver));
            }
        }
        let mut moved = self.lines.is_busy() && self.lines.retry();
        let Clic { endpoint, inputs, lines, holdings, rails, bulk_from, .. } = self;
        for (interface, input) in inputs.iter_mut().enumerate() {
            let mut driver =
                Driver { lines: &mut *lines, holdings: &mut *holdings, sink: &mut *sink };
            let mut take = |frame: &[u8]| {
                endpoint.arrived(now(), rail_of(rails, frame, interface), frame, &mut driver);
                driver.lines.flush();
            };
            moved |= input.receive(FRAMES, &mut take);
            if groups {
                moved |= input.receive_groups(FRAMES, &mut take);
            }
            if !driver.holdings.destinations.is_empty() {
                let from = &mut *bulk_from;
                let mut bulk =
                    BulkReader { endpoint, driver, rails, from, interface, began, in_place: true };
                moved |= input.receive_bulk(BULKS, &mut bulk);
            }
        }
        is_due |= moved;
        if is_due && self.periodic.may_be_due() {
            self.do_periodic_work();
        }
        if is_due && self.endpoint.deadline().is_some_and(|at| at <= now()) {
            let now = now();
            let mut driver =
                Driver { lines: &mut self.lines, holdings: &mut self.holdings, sink: &mut *sink };
            self.endpoint.tick(now, &mut driver);
            self.lines.flush();
            self.mind_outages(now);
        }
        if !self.holdings.awaiting_device.is_empty() {
            self.holdings.poll_devices();
        }
        moved | self.report(sink)
    }

    fn busy(&self) -> bool {
        self.endpoint.is_busy()
            || self.lines.is_busy()
            || !self.holdings.ends.is_empty()
            || !self.holdings.destinations.is_empty()
    }
}

impl MessageWire for Clic {
    #[inline]
    fn copied_limit(&self, index: usize) -> usize {
        self.limits[self.ranks[index] as usize]
    }

    #[inline]
    fn copied(
        &mut self,
        index: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        let rank = self.ranks[index];
        if length > self.limits[rank as usize] {
            return Err(NoResource);
        }
        let whole = (HEAD_BYTES + length) as u32;
        let Some(peer) = self.endpoint.peer(rank) else { return Ok(()) };
        // `fill` must not run if the message is rejected: it may be unable to produce the bytes a
        // second time.
        match peer.takes(whole) {
            Ok(()) => {}
            Err(SendError::Lost) => return Ok(()),
            Err(SendError::Full | SendError::Long) => return Err(NoResource),
        }
        let under_way = peer.under_way();
        let (name, bytes) = self.holdings.messages.begin(rank, HEAD_BYTES + length);
        // SAFETY: `begin` reserved `HEAD_BYTES + length` bytes at `bytes`.
        unsafe { bytes.cast::<[u8; HEAD_BYTES]>().write_unaligned(head(header)) };
        fill(bytes.wrapping_add(HEAD_BYTES));
        let now = self.now();
        let mut driver =
            Driver { lines: &mut self.lines, holdings: &mut self.holdings, sink: &mut Nobody };
        let sent = self.endpoint.send(now, rank, name, whole, &mut driver);
        debug_assert_eq!(sent, Ok(()), "the peer takes it");
        if !self.lines.may_wait(under_way) {
            self.lines.flush();
        }
        Ok(())
    }
}

/// Offers none: memory of other hosts is reached by messages.
impl MemoryWire for Clic {}

impl RegionWire for Clic {
    unsafe fn publish(&mut self, index: usize, token: u64, source: Source) -> RegionKey {
        let rank = self.ranks[index];
        let length = source.length() as u64;
        let name = self.holdings.origins.insert(Origin::new(rank, token, source)).0;
        let Some(key) = self.endpoint.publish(rank, name, length) else { return RegionKey([0; 2]) };
        RegionKey([u64::from(key.slot) | u64::from(key.generation) << 32, name])
    }

    fn withdraw(&mut self, index: usize, key: RegionKey) -> bool {
        let [region, name] = key.0;
        let withdrawn = self.endpoint.withdraw(self.ranks[index], key_of(region, 0));
        if withdrawn {
            self.holdings.origins.remove(SlabKey(name));
        }
        withdrawn
    }

    unsafe fn pull(&mut self, index: usize, key: RegionKey, token: u64, target: Target) {
        if self.is_lost(index) {
            return;
        }
        let rank = self.ranks[index];
        let wanted = target.length() as u64;
        let name = self.holdings.destinations.insert(FetchTarget::new(rank, token, target)).0;
        let key = key_of(key.0[0], wanted);
        self.call(|endpoint, now, driver| endpoint.pull(now, rank, key, name, wanted, driver));
    }
}
