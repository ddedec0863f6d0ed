//! [`Tcp`] as a wire: messages and regions from and to peers, which are named by their indices in
//! this wire.

use std::time::Instant;

use towpath_base::transfer::{Source, Target};
use towpath_transport::regions::Published;
use towpath_transport::ticks::ticks;
use towpath_transport::{
    Cost, Header, MemoryWire, MessageWire, NoResource, RegionKey, RegionWire, Sink, Wire,
};

use crate::frame::Frame;
use crate::socket::Moved;
use crate::{COPIED_LIMIT, FEW, LONG, LOOKS, Link, Tcp, TcpPeer};

impl Wire for Tcp {
    type Peer = usize;

    fn cost(&self, to: usize) -> Cost {
        // The order of magnitude of 10 Gbit/s Ethernet; the speed of the link is not known here.
        Cost { latency_ns: 10_000, bandwidth: 1250, eager_limit: self.copied_limit(to) }
    }

    fn mark_lost(&mut self, index: usize) {
        if let Link::Open(_) = self.peers[index].link
            && let Link::Open(connection) =
                std::mem::replace(&mut self.peers[index].link, Link::None)
        {
            self.poll.forget(&connection.socket);
            self.lingering.push((Instant::now(), connection.socket));
        }
        let reason = format!("{} has ended", self.name_of(index));
        self.lose(index, &reason);
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let few = self.open.len() <= FEW;
        let mut moved = !self.stalled.is_empty() && self.read_stalled(sink);
        if few {
            for index in (0..self.open.len()).rev() {
                moved |= self.read(self.open[index], sink);
            }
        }
        self.looks = self.looks.wrapping_add(1);
        let now = ticks();
        self.late = now.wrapping_sub(self.looked) > LONG;
        if !few || !self.opening.is_empty() || self.looks.is_multiple_of(LOOKS) || self.late {
            self.looked = now;
            moved |= self.look(few, sink);
        }
        if !self.requests.is_empty() {
            self.answer_requests();
        }
        for index in (0..self.writing.len()).rev() {
            moved |= self.write(self.writing[index] as usize);
        }
        moved | self.report(sink)
    }

    fn busy(&self) -> bool {
        let waits = |peer: &TcpPeer| match &peer.link {
            Link::Open(connection) => connection.farewell,
            _ => false,
        };
        !(self.regions.is_empty()
            && self.pulls.is_empty()
            && self.writing.is_empty()
            && self.released.is_empty()
            && self.finished.is_empty()
            && self.dead.is_empty())
            || self.open.iter().any(|index| waits(&self.peers[*index as usize]))
    }
}

impl MessageWire for Tcp {
    #[inline]
    fn copied_limit(&self, _to: usize) -> usize {
        COPIED_LIMIT
    }

    fn copied(
        &mut self,
        index: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT {
            return Err(NoResource);
        }
        let frame = Frame::message(header, length);
        self.wait(index, &frame, length, fill)?;
        self.write(index);
        Ok(())
    }

    unsafe fn copied_contiguous(
        &mut self,
        index: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT {
            return Err(NoResource);
        }
        let frame = Frame::message(header, length);
        let peer = &mut self.peers[index];
        if let Link::Open(connection) = &peer.link
            && peer.output.lets_pass()
        {
            // SAFETY: `payload` is readable for `length` bytes (this function's contract).
            let moved =
                unsafe { peer.output.write(&connection.socket, &frame.encode(), payload, length) };
            if let Moved::Broken(error) = moved {
                self.broke(index, &error.to_string());
            } else {
                self.list(index);
            }
            return Ok(());
        }
        // SAFETY: `payload` is readable for `length` bytes (this function's contract), and the
        // output lends `length` bytes of its own queue.
        self.wait(index, &frame, length, |into| unsafe {
            std::ptr::copy_nonoverlapping(payload, into, length)
        })
    }
}

/// Offers none: memory of other hosts is reached by messages.
impl MemoryWire for Tcp {}

impl RegionWire for Tcp {
    unsafe fn publish(&mut self, index: usize, token: u64, source: Source) -> RegionKey {
        RegionKey([self.regions.publish(Published { to: index as u32, token, source }), 0])
    }

    fn withdraw(&mut self, _to: usize, key: RegionKey) -> bool {
        self.regions.take(key.0[0]).is_some()
    }

    unsafe fn pull(&mut self, index: usize, key: RegionKey, token: u64, target: Target) {
        // SAFETY: the memory behind `target` lives until `pulled` (this function's contract).
        unsafe { self.pull_asking(index, key, token, target, |_| false) }
    }
}
