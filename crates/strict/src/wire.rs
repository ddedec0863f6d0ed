//! [`Strict`] as a wire: messages and regions from and to peers, which are named by their local
//! ranks.

use towpath_base::transfer::{Source, Target};
use towpath_transport::regions::Published;
use towpath_transport::{
    Cost, Header, MemoryWire, MessageWire, NoResource, RegionKey, RegionWire, Sink, Wire,
};

use crate::stream::{Kind, StreamFrame};
use crate::{COPIED_LIMIT, Strict};

impl Wire for Strict {
    type Peer = usize;

    fn cost(&self, to: usize) -> Cost {
        // Of the order of the chip's: half a round trip between neighbours, and its bandwidth.
        Cost { latency_ns: 2000, bandwidth: 500, eager_limit: self.copied_limit(to) }
    }

    fn mark_lost(&mut self, rank: usize) {
        if !self.outgoing[rank].lost {
            self.outgoing[rank].lost = true;
            self.dead.push_back(rank as u32);
        }
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = self.receive(sink);
        if self.pushes.running() > 0 {
            moved |= self.feed(sink);
        }
        if !self.waiting.is_empty() {
            moved |= self.write_all();
        }
        if self.closing.is_some() {
            moved |= self.try_to_grant();
        }
        moved |= !self.finished.is_empty();
        self.finished.drain(..).for_each(|token| sink.pulled(token));
        while let Some(rank) = self.dead.pop_front() {
            self.drop_peer(rank, sink);
            moved = true;
        }
        moved
    }

    fn busy(&self) -> bool {
        !(self.pushes.is_empty()
            && self.pulls.is_empty()
            && self.finished.is_empty()
            && self.waiting.is_empty()
            && self.closing.is_none())
    }
}

impl MessageWire for Strict {
    #[inline]
    fn copied_limit(&self, _to: usize) -> usize {
        COPIED_LIMIT
    }

    fn copied(
        &mut self,
        to: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT {
            return Err(NoResource);
        }
        self.send(to, header, length, fill)
    }
}

/// Offers none: the mode has no memory other than its buffers.
impl MemoryWire for Strict {}

impl RegionWire for Strict {
    unsafe fn publish(&mut self, to: usize, token: u64, source: Source) -> RegionKey {
        RegionKey([self.pushes.regions.publish(Published { to: to as u32, token, source }), 0])
    }

    fn withdraw(&mut self, _to: usize, key: RegionKey) -> bool {
        self.pushes.regions.take(key.0[0]).is_some()
    }

    unsafe fn pull(&mut self, from: usize, key: RegionKey, token: u64, target: Target) {
        if self.outgoing[from].lost {
            return;
        }
        let name = key.0[0];
        if target.length() == 0 {
            self.post(from, &StreamFrame::control(Kind::Release, [name, 0]), |_| {});
            self.finished.push(token);
            return;
        }
        let wanted = (target.length() as u64).to_ne_bytes();
        let number = self.pulls.begin(from as u32, token, target);
        let frame = StreamFrame {
            length: wanted.len(),
            ..StreamFrame::control(Kind::Pull, [name, number])
        };
        // SAFETY: the stream lends `frame.length` bytes, which are eight.
        self.post(from, &frame, |into| unsafe { into.cast::<[u8; 8]>().write_unaligned(wanted) });
    }
}
