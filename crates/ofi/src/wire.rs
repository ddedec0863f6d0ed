//! [`Ofi`] as a wire: messages and regions from and to peers, which are named by their indices in
//! this wire.

use towpath_base::transfer::{Source, Target};
use towpath_transport::regions::Published;
use towpath_transport::{
    Cost, Header, MemoryWire, MessageWire, NoResource, RegionKey, RegionWire, Sink, Wire,
};

use crate::frame::FabricFrame;
use crate::transfers::OfiPull;
use crate::{BATCH, COPIED_LIMIT, Ofi, OfiLink, UNDER_WAY};

impl Wire for Ofi {
    type Peer = usize;

    fn cost(&self, to: usize) -> Cost {
        // The order of magnitude of a fabric of 100 Gbit/s; the provider does not report its speed.
        Cost { latency_ns: 2000, bandwidth: 10_000, eager_limit: self.copied_limit(to) }
    }

    fn mark_lost(&mut self, index: usize) {
        let reason = format!("rank {} has ended", self.peers[index].contact.peer.0);
        self.lose(index, &reason);
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        if self.closed {
            return false;
        }
        if self.endpoint.is_closed() {
            return self.report(sink);
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.endpoint.completions(&mut completions, BATCH);
        let mut moved = !completions.is_empty();
        for completion in completions.drain(..) {
            self.complete(completion, sink);
        }
        self.completions = completions;
        if !self.unlent.is_empty() {
            self.lend();
        }
        for index in (0..self.filling.len()).rev() {
            moved |= self.fill(self.filling[index]);
        }
        for index in (0..self.working.len()).rev() {
            moved |= self.work(self.working[index]);
        }
        for index in (0..self.writing.len()).rev() {
            moved |= self.flush(self.writing[index] as usize);
        }
        if !self.awaited.is_empty() {
            self.watch_reads();
        }
        moved |= self.report(sink);
        if moved {
            self.quiet = None;
        }
        moved
    }

    fn busy(&self) -> bool {
        let done = self.regions.is_empty()
            && self.pushes.is_empty()
            && self.pulls.is_empty()
            && self.writing.is_empty()
            && self.sending == 0
            && self.released.is_empty()
            && self.finished.is_empty()
            && self.dead.is_empty();
        !done || self.waits_for_farewells()
    }
}

impl MessageWire for Ofi {
    #[inline]
    fn copied_limit(&self, _to: usize) -> usize {
        COPIED_LIMIT
    }

    #[inline]
    fn copied(
        &mut self,
        index: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT || self.peers[index].under_way >= UNDER_WAY {
            return Err(NoResource);
        }
        if self.peers[index].link == OfiLink::Lost {
            return Ok(());
        }
        let frame = FabricFrame::Message {
            protocol: header.protocol,
            length: length as u32,
            words: header.words,
        };
        if self.send(index, &frame, length, fill) { Ok(()) } else { Err(NoResource) }
    }
}

/// Offers none: memory of other hosts is reached by messages.
impl MemoryWire for Ofi {}

impl RegionWire for Ofi {
    unsafe fn publish(&mut self, index: usize, token: u64, source: Source) -> RegionKey {
        RegionKey([self.regions.publish(Published { to: index as u32, token, source }), 0])
    }

    fn withdraw(&mut self, _to: usize, key: RegionKey) -> bool {
        self.regions.take(key.0[0]).is_some()
    }

    unsafe fn pull(&mut self, index: usize, key: RegionKey, token: u64, target: Target) {
        if self.peers[index].link != OfiLink::Known {
            return;
        }
        let (name, wanted) = (key.0[0], target.length() as u64);
        let frame = if wanted == 0 {
            self.finished.push(token);
            FabricFrame::Release { name }
        } else {
            let number = self.pulls.begin(OfiPull::new(index as u32, name, token, target));
            FabricFrame::Pull { number, name, wanted }
        };
        self.control(index, frame);
    }
}
