//! [`Shm`] as a wire: messages and regions from and to peers, which are named by their local ranks.

use towpath_base::ids::PeerIndex;
use towpath_base::sync::{Ordering, fence};
use towpath_base::transfer::{Source, Target};
use towpath_transport::{
    AccessError, AccessResult, Choice, Cost, Header, MemoryKey, MemoryWire, MessageWire,
    NoResource, RegionKey, RegionWire, RemoteRange, Sink, Wire,
};

use crate::Shm;
use crate::arriving::IN_PARTS;
use crate::entry::{Control, Kind};
use crate::push::RegionDescriptor;
use crate::remote::{LocalSide, access};

impl Wire for Shm {
    type Peer = usize;

    fn cost(&self, to: usize) -> Cost {
        // Two cores that share an L3 cache (docs/speed.md).
        Cost { latency_ns: 250, bandwidth: 10_000, eager_limit: self.copied_limit(to) }
    }

    fn mark_lost(&mut self, rank: usize) {
        if !self.outgoing[rank].lost {
            self.outgoing[rank].lost = true;
            self.outgoing[rank].detour = true;
            self.dead.push_back(rank as u32);
        }
    }

    #[inline]
    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = self.receive(sink);
        if !self.pulls.is_idle() {
            moved |= self.step_pulls(sink);
        }
        if !self.pushes.is_idle() {
            moved |= self.step_pushes(sink);
        }
        if !(self.attention.is_empty() && self.finished.is_empty() && self.dead.is_empty()) {
            moved |= self.handle_rare_events(sink);
        }
        moved
    }

    fn busy(&self) -> bool {
        !(self.pushes.is_empty()
            && self.pulls.is_empty()
            && self.finished.is_empty()
            && !self.outgoing.iter().any(|out| out.keeps_busy()))
    }
}

impl MessageWire for Shm {
    #[inline(always)]
    unsafe fn short(
        &mut self,
        to: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        let out = &mut self.outgoing[to];
        if out.detour {
            // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (this
            // function's contract).
            return unsafe { self.short_by_detour(to, header, payload, length) };
        }
        // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (this function's
        // contract).
        unsafe { out.short(self.own, header, payload, length) }
    }

    #[inline]
    fn copied_limit(&self, to: usize) -> usize {
        self.outgoing[to].limit as usize
    }

    #[inline]
    fn copied(
        &mut self,
        to: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        self.stored(to, header, length, |slot, stores| {
            // SAFETY: `slot` has room for `length` bytes, and `fill` writes no more than that
            // ([`towpath_transport::MessageWire::copied`]).
            unsafe { stores.fill_contiguous(to, slot, length, fill) }
        })
    }

    #[inline]
    fn copied_contiguous_limit(&self, to: usize) -> usize {
        let out = &self.outgoing[to];
        let limit = out.limit as usize;
        if out.ring.is_some() { limit.max(self.staging.largest()) } else { limit }
    }

    #[inline]
    unsafe fn copied_contiguous(
        &mut self,
        to: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if length >= IN_PARTS && self.outgoing[to].has_lines(length) {
            let staged = self.stage(length);
            let out = &mut self.outgoing[to];
            if staged.is_none() && length > out.limit as usize {
                return Err(NoResource);
            }
            // The payload is read when the first entry is consumed. The progress of the other ones,
            // which carry no payload, may wake nobody.
            let first = out.next_entry(to);
            // SAFETY: `payload` is readable for `length` bytes (this function's contract), and the
            // ring has enough free lines (`has_lines`).
            unsafe {
                out.in_parts(&self.segment, &mut self.stores, to, header, payload, length, staged)?
            };
            if let Some(staged) = staged {
                staged.commit(&mut self.staging, first);
            }
            return Ok(());
        }
        // SAFETY: `payload` is readable for `length` bytes (this function's contract), and `slot`
        // has room for `length` bytes.
        self.stored(to, header, length, |slot, stores| unsafe {
            stores.copy(to, payload, slot, length)
        })
    }

    #[inline(always)]
    fn poll_front(
        &mut self,
        mut take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice,
    ) -> bool {
        // SAFETY: the doorbell of this rank's control page has `doorbell_words` words, and the wire
        // holds the segment that the page is in.
        let rung = |word: usize| unsafe { (*self.doorbell.add(word)).load(Ordering::Relaxed) != 0 };
        let mut beyond = (0..self.doorbell_words).any(rung);
        let mut index = 0;
        while index < self.hot.len() {
            match self.poll_front_of(index, &mut take) {
                Some(Choice::Done) => return beyond,
                Some(_) => {}
                None => beyond = true,
            }
            index += 1;
        }
        beyond
    }
}

impl RegionWire for Shm {
    unsafe fn publish(&mut self, to: usize, token: u64, source: Source) -> RegionKey {
        let is_near = self.stores.is_near(to);
        self.pushes.publish(&self.segment, to as u32, token, source, is_near)
    }

    fn withdraw(&mut self, _to: usize, key: RegionKey) -> bool {
        self.pushes.withdraw(key.0[0])
    }

    unsafe fn pull(&mut self, from: usize, key: RegionKey, token: u64, target: Target) {
        if self.outgoing[from].lost {
            return;
        }
        let [name, place] = key.0;
        if target.length() == 0 {
            self.post_control(from, Control { kind: Kind::Release, words: [name, 0], extra: 0 });
            self.finished.push(token);
        } else {
            let place = RegionDescriptor::decode(place);
            if !self.pulls.start(&self.segment, from as u32, token, target, place, name) {
                self.begin_pulls();
            }
        }
    }
}

impl Shm {
    /// Refuses accesses to memory of a lost peer.
    fn check_alive(&self, owner: usize) -> AccessResult {
        if self.outgoing[owner].lost { Err(AccessError::Lost) } else { Ok(()) }
    }
}

impl MemoryWire for Shm {
    fn offers_memory(&self, _owner: usize) -> bool {
        true
    }

    unsafe fn register(&mut self, memory: *mut u8, length: usize) -> Option<MemoryKey> {
        self.registered.register(&self.segment, memory, length)
    }

    fn deregister(&mut self, key: MemoryKey) -> bool {
        self.registered.deregister(&self.segment, key, |rank| !self.outgoing[rank as usize].lost)
    }

    unsafe fn put(&mut self, to: usize, range: RemoteRange, from: *const u8) -> AccessResult {
        self.check_alive(to)?;
        // SAFETY: `from` is readable for `range.length` bytes and does not overlap the range (this
        // function's contract).
        unsafe { access(&self.segment, to as u32, range, LocalSide::Put(from)) }
    }

    unsafe fn get(&mut self, from: usize, range: RemoteRange, to: *mut u8) -> AccessResult {
        self.check_alive(from)?;
        // SAFETY: `to` is writable for `range.length` bytes and does not overlap the range (this
        // function's contract).
        unsafe { access(&self.segment, from as u32, range, LocalSide::Get(to)) }
    }

    fn flush(&mut self, owner: usize) -> AccessResult<bool> {
        // The accesses are complete. The fence orders the puts before later gets, and before what
        // the caller reads or writes by other means.
        fence(Ordering::SeqCst);
        self.check_alive(owner).map(|()| true)
    }
}
