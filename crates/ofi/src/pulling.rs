//! Large messages: grants of the publisher and reads of the receiver. Not on the fast path.

use towpath_base::transfer::{Source, Step, Target};

use super::abi::cap;
use super::endpoint::{MemoryRegion, PostOutcome};
use super::frame::FabricFrame;
use super::transfers::{FabricRead, OfiPush};
use super::{BOUNCE_BYTES, Ofi, OfiLink};
use towpath_transport::regions::Published;

/// Maximum number of reads of one pull in flight.
const READS_AT_ONCE: usize = 4;
/// Maximum number of outstanding grants of one region.
const PIECES_AT_ONCE: usize = 2;

/// Where the bytes of a read go: the address, its descriptor for local operations, and the bounce
/// buffer if it is one.
type Destination = (*mut u8, *mut std::ffi::c_void, Option<u32>);

impl Ofi {
    /// Removes a region that this peer may pull; `None` if it is published to another one.
    pub(super) fn published(&mut self, index: usize, name: u64) -> Option<Published> {
        if self.regions.is_for(name, index as u32) { self.regions.take(name) } else { None }
    }

    /// Handles a peer's request for a region.
    pub(super) fn asked(&mut self, index: usize, number: u32, name: u64, wanted: u64) {
        let Some(Published { token, source, .. }) = self.published(index, name) else {
            return self.control(
                index,
                FabricFrame::Grant { number, last: true, address: 0, key: 0, length: 0 },
            );
        };
        let left = source.length().min(usize::try_from(wanted).unwrap_or(usize::MAX));
        let in_pieces = !matches!(source, Source::Bytes { .. });
        let (to, granted) = (index as u32, std::collections::VecDeque::new());
        let push = OfiPush {
            to,
            number,
            token,
            source,
            left,
            in_pieces,
            region: None,
            granted,
            over: false,
        };
        self.pushes.insert(name, push);
        self.filling.push(name);
        self.fill(name);
    }

    /// Grants as much of a region as possible; true if anything was granted.
    pub(super) fn fill(&mut self, name: u64) -> bool {
        let mut moved = false;
        while let Some(grant) = self.next_grant(name) {
            let Some(push) = self.pushes.get_mut(&name) else { return moved };
            moved = true;
            push.over = matches!(grant, FabricFrame::Grant { last: true, .. });
            let to = push.to as usize;
            self.control(to, grant);
            self.end_push(name);
        }
        let Some(push) = self.pushes.get(&name) else { return moved };
        if push.over || push.granted.len() >= PIECES_AT_ONCE {
            self.filling.retain(|other| *other != name);
        }
        moved
    }

    /// The next grant of a region, if it is possible now.
    fn next_grant(&mut self, name: u64) -> Option<FabricFrame> {
        let push = self.pushes.get_mut(&name).filter(|push| !push.over)?;
        let number = push.number;
        if let Source::Bytes { pointer, .. } = push.source
            && !push.in_pieces
            && push.left > 0
        {
            // SAFETY: `pointer` is valid for `push.left` bytes until the region is released
            // (contract of `Ofi::publish`), and the registration ends with the push, before that.
            match unsafe { self.endpoint.register(pointer, push.left, cap::REMOTE_READ) } {
                Ok(region) => {
                    let (address, key) =
                        (self.endpoint.remote_address(pointer, pointer), region.key());
                    push.region = Some(region);
                    push.granted.push_back(None);
                    return Some(FabricFrame::Grant {
                        number,
                        last: true,
                        address,
                        key,
                        length: push.left as u64,
                    });
                }
                // The device cannot register all of it at once.
                Err(_) => push.in_pieces = true,
            }
        }
        let none = FabricFrame::Grant { number, last: true, address: 0, key: 0, length: 0 };
        if push.left == 0 {
            return Some(none);
        }
        if push.granted.len() >= PIECES_AT_ONCE {
            return None;
        }
        let slot = self.outgoing.take(&mut self.endpoint)?;
        // SAFETY: the buffer has `BOUNCE_BYTES` bytes, and the memory behind `push.source` lives
        // until the region is released (contract of `Ofi::publish`).
        let filled = match unsafe {
            push.source.fill(self.outgoing.at(slot), BOUNCE_BYTES.min(push.left))
        } {
            Step::Done(filled) if filled > 0 => filled,
            other => {
                self.outgoing.give_back(slot);
                // A source that yields nothing has reached its end, before its stated length.
                return if other == Step::Pending { None } else { Some(none) };
            }
        };
        push.left -= filled;
        push.granted.push_back(Some(slot));
        let (address, key) = self.outgoing.remote(slot, &self.endpoint);
        Some(FabricFrame::Grant {
            number,
            last: push.left == 0,
            address,
            key,
            length: filled as u64,
        })
    }

    /// Handles a peer's notice that it has read the oldest grant of a region; false if there is
    /// none.
    pub(super) fn has_been_read(&mut self, index: usize, name: u64) -> bool {
        let Some(push) = self.pushes.get_mut(&name).filter(|push| push.to as usize == index) else {
            return false;
        };
        match push.granted.pop_front() {
            None => return false,
            Some(None) => {}
            Some(Some(slot)) => self.outgoing.give_back(slot),
        }
        if !push.over && !self.filling.contains(&name) {
            self.filling.push(name);
        }
        self.end_push(name);
        true
    }

    /// Releases a region that has been granted and read completely.
    fn end_push(&mut self, name: u64) {
        if self.pushes.get(&name).is_some_and(|push| push.over && push.granted.is_empty()) {
            self.filling.retain(|other| *other != name);
            self.released.extend(self.pushes.remove(&name).map(|push| push.token));
        }
    }

    /// Lists a pull that can continue.
    pub(super) fn go_on(&mut self, number: u32) {
        if let Some(pull) = self.pulls.at(number)
            && !pull.listed
        {
            pull.listed = true;
            self.working.push(number);
        }
    }

    /// Continues a pull as far as possible; true if it moved.
    pub(super) fn work(&mut self, number: u32) -> bool {
        let mut moved = false;
        loop {
            let (asked, blocked) = self.ask(number);
            let (drained, waits) = self.drain(number);
            moved |= asked | drained;
            let Some(pull) = self.pulls.at(number) else { break };
            if pull.is_complete() {
                self.finished.extend(self.pulls.end(number).map(|pull| pull.token));
                break;
            }
            if !asked && !drained {
                if blocked || waits {
                    return moved;
                }
                pull.listed = false;
                break;
            }
        }
        self.working.retain(|other| *other != number);
        moved
    }

    /// Starts reads for a pull. Returns whether it has started any, and whether a resource is
    /// short.
    fn ask(&mut self, number: u32) -> (bool, bool) {
        let mut moved = false;
        loop {
            let Some(pull) = self.pulls.at(number) else { return (moved, false) };
            if pull.reads.len() >= READS_AT_ONCE {
                return (moved, false);
            }
            let index = pull.from as usize;
            // A read of a lost peer's memory may never end.
            if self.peers[index].link == OfiLink::Lost {
                return (moved, false);
            }
            let Some(grant) = pull.grants.iter().find(|grant| grant.asked < grant.length).copied()
            else {
                return (moved, false);
            };
            let Some(address) = self.peers[index].address else { return (moved, false) };
            let Some((memory, local, bounce)) = self.destination(number) else {
                return (moved, true);
            };
            let most = if bounce.is_some() {
                BOUNCE_BYTES.min(self.longest_read)
            } else {
                self.longest_read
            };
            let length = (grant.length - grant.asked).min(most as u64) as usize;
            let Some(slot) = self.read_contexts.take(&mut self.endpoint) else {
                self.give_bounce_back(bounce);
                return (moved, true);
            };
            let context = self.read_contexts.context(slot, index as u32);
            let remote = (grant.address.wrapping_add(grant.asked), grant.key);
            // SAFETY: until the completion, a bounce buffer belongs to this read only, and the
            // target's memory is live (contract of `Ofi::pull`; a lost peer is reported only when
            // no read can write to it any more).
            match unsafe { self.endpoint.read(address, remote, memory, length, local, context) } {
                PostOutcome::Done => self.began(
                    number,
                    slot,
                    FabricRead { pull: Some(number), length, bounce, ..FabricRead::default() },
                ),
                refused => {
                    self.read_contexts.give_back(slot);
                    self.give_bounce_back(bounce);
                    if let PostOutcome::Failed(code) = refused {
                        self.fail(index, code);
                        return (moved, false);
                    }
                    return (moved, true);
                }
            }
            moved = true;
        }
    }

    /// Accounts for a read that has started.
    fn began(&mut self, number: u32, slot: u32, read: FabricRead) {
        self.reads[slot as usize] = read;
        let Some(pull) = self.pulls.at(number) else { return };
        pull.reads.push_back(slot);
        pull.asked += read.length;
        if let Some(grant) = pull.grants.iter_mut().find(|grant| grant.asked < grant.length) {
            grant.asked += read.length as u64;
        }
        let index = pull.from as usize;
        self.waits_for_read(index);
    }

    fn give_bounce_back(&mut self, bounce: Option<u32>) {
        if let Some(slot) = bounce {
            self.incoming.give_back(slot);
        }
    }

    /// Where the next bytes of a pull go.
    fn destination(&mut self, number: u32) -> Option<Destination> {
        let pull = self.pulls.at(number)?;
        if let Target::Bytes { pointer, length } = pull.target
            && !pull.bounces
        {
            if pull.region.is_none() && self.endpoint.registers_local() {
                // SAFETY: `pointer` is valid for `length` bytes until the pull is reported
                // (contract of `Ofi::pull`), and the registration ends with the pull, before that.
                match unsafe { self.endpoint.register(pointer, length, cap::READ) } {
                    Ok(region) => pull.region = Some(region),
                    Err(_) => pull.bounces = true,
                }
            }
            if !pull.bounces {
                let local = pull.region.as_ref().map_or(std::ptr::null_mut(), MemoryRegion::local);
                return Some((pointer.wrapping_add(pull.asked), local, None));
            }
        }
        let slot = self.incoming.take(&mut self.endpoint)?;
        Some((self.incoming.at(slot), self.incoming.local(slot), Some(slot)))
    }

    /// Handles a completed read. A pull stops at a read that has failed, until its peer is dropped.
    pub(super) fn has_read(&mut self, slot: u32, index: u32, failed: bool) {
        self.read_has_ended(index as usize);
        let read = &mut self.reads[slot as usize];
        (read.complete, read.failed) = (true, failed);
        match read.pull {
            Some(number) => self.go_on(number),
            None => self.end_read(slot),
        }
    }

    fn end_read(&mut self, slot: u32) {
        let FabricRead { bounce, .. } = std::mem::take(&mut self.reads[slot as usize]);
        self.read_contexts.give_back(slot);
        self.give_bounce_back(bounce);
    }

    /// Processes completed reads in order. Returns whether any was processed, and whether the
    /// target waits for a device.
    fn drain(&mut self, number: u32) -> (bool, bool) {
        let mut moved = false;
        loop {
            let Some(pull) = self.pulls.at(number) else { return (moved, false) };
            let Some(&slot) = pull.reads.front() else { return (moved, false) };
            let FabricRead { length, bounce, complete, failed, .. } = self.reads[slot as usize];
            if !complete || failed {
                return (moved, false);
            }
            if let Some(bounce) = bounce {
                // SAFETY: the read has put `length` bytes into the bounce buffer, and the memory
                // behind the target lives until the pull is reported (contract of `Ofi::pull`).
                if unsafe { pull.target.drain(self.incoming.at(bounce), length) } == Step::Pending {
                    return (moved, true);
                }
            }
            moved = true;
            pull.reads.pop_front();
            let (index, name) = (pull.from as usize, pull.name);
            let first = pull.grants.front_mut().expect("a read belongs to a grant");
            first.finished += length as u64;
            let done = first.finished == first.length;
            if done {
                pull.grants.pop_front();
            }
            self.end_read(slot);
            if done {
                self.control(index, FabricFrame::Done { name });
            }
        }
    }

    /// Ends all grants to a peer and all reads from it without a report.
    pub(super) fn drop_transfers(&mut self, index: u32) {
        self.regions.take_all_of(index);
        let names: Vec<u64> = self
            .pushes
            .iter()
            .filter(|(_, push)| push.to == index)
            .map(|(name, _)| *name)
            .collect();
        for name in names {
            let pieces = self.pushes.remove(&name).map(|push| push.granted).unwrap_or_default();
            pieces.into_iter().flatten().for_each(|slot| self.outgoing.give_back(slot));
            self.filling.retain(|other| *other != name);
        }
        for number in self.pulls.of_peer(index) {
            self.working.retain(|other| *other != number);
            for slot in self.pulls.end(number).map(|pull| pull.reads).unwrap_or_default() {
                self.reads[slot as usize].pull = None;
                if self.reads[slot as usize].complete {
                    self.end_read(slot);
                }
            }
        }
    }
}
