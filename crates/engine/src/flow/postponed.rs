//! Messages whose senders have no credit: fetched into the unexpected queue when there is room, or
//! received while they are on their way.

use std::collections::VecDeque;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::Target;
use towpath_transport::{Here, RegionKey};

use super::{LEAST_GRANT, MOST_FETCHES};
use crate::arrivals::{Action, State, deliver};
use crate::buffers::Buffer;
use crate::protocol::MESSAGE_OVERHEAD;
use crate::requests::{Completion, Work};

/// A message that is on its way before it is matched.
pub(crate) struct Fetch {
    buffer: Buffer,
    length: usize,
    /// Where it waits in the unexpected queue, until it is taken.
    at: Option<u32>,
    /// The receive that took it.
    receive: Option<(u32, Target)>,
}

/// A sender that has postponed messages: their nodes and numbers, as far as they are not stale.
#[derive(Debug)]
pub(super) struct Hungry {
    pub(super) peer: PeerIndex,
    postponed: VecDeque<(u32, u32)>,
}

impl State {
    /// A sender has postponed the message in `at`: it gets room now or when there is some.
    pub(crate) fn wants_room(&mut self, from: PeerIndex, at: u32, sequence: u32) {
        if self.flow.headroom.is_none() {
            return;
        }
        let queue = &self.unexpected;
        if let Some(hungry) = self.flow.hungry.iter_mut().find(|hungry| hungry.peer == from) {
            // What was matched meanwhile goes, so that the list is no longer than what waits.
            while let Some((at, sequence)) = hungry.postponed.front()
                && queue.postponed(*at, from, *sequence).is_none()
            {
                hungry.postponed.pop_front();
            }
            hungry.postponed.push_back((at, sequence));
            return;
        }
        let is_first = self.flow.hungry.is_empty();
        self.flow.hungry.push_back(Hungry { peer: from, postponed: VecDeque::from([(at, sequence)]) });
        // While others wait there was no room when it was last looked for.
        if is_first {
            self.feed();
        }
    }

    /// Fetches messages of senders that wait, and grants them credit, as far as there is memory.
    /// What is left over comes when one of these is here, after another look at the memory.
    #[cold]
    pub(crate) fn feed(&mut self) {
        while !self.flow.hungry.is_empty() && self.flow.fetches < MOST_FETCHES && self.feed_once() {}
    }

    /// True when a sender got room.
    fn feed_once(&mut self) -> bool {
        let mut room = self.room();
        let mut fed = false;
        for _ in 0..self.flow.hungry.len() {
            if self.flow.fetches == MOST_FETCHES {
                break;
            }
            let Some(mut hungry) = self.flow.hungry.pop_front() else { break };
            let mut bytes = self.part_of(room, hungry.peer);
            room -= bytes;
            let fetched = self.fetch_within(&mut hungry, &mut bytes);
            let peer = self.peers.at(hungry.peer);
            let left = peer.granted.saturating_sub(peer.kept) as u64;
            if hungry.postponed.is_empty() && (bytes > 0 || left >= LEAST_GRANT) {
                self.grant(hungry.peer, bytes.saturating_sub(left));
                self.ask_again_at_half(hungry.peer);
                fed = true;
            } else if fetched {
                self.flow.hungry.push_back(hungry);
                fed = true;
            } else {
                // Whoever has waited longest stays the first.
                self.flow.hungry.push_front(hungry);
                self.recall();
                break;
            }
        }
        fed
    }

    /// Fetches postponed messages, the oldest first, and takes what they cost from `bytes`. True
    /// when there was one.
    fn fetch_within(&mut self, hungry: &mut Hungry, bytes: &mut u64) -> bool {
        let from = hungry.peer;
        let mut fetched = false;
        while self.flow.fetches < MOST_FETCHES
            && let Some(&(at, sequence)) = hungry.postponed.front()
        {
            if let Some((key, length)) = self.unexpected.postponed(at, from, sequence) {
                let cost = (length + MESSAGE_OVERHEAD) as u64;
                if cost > *bytes {
                    break;
                }
                *bytes -= cost;
                self.count_grant(from, cost);
                self.peers.at(from).kept += cost as usize;
                self.fetch(from, at, key, length);
                fetched = true;
            }
            hungry.postponed.pop_front();
        }
        fetched
    }

    /// Starts bringing the postponed message in `at`.
    fn fetch(&mut self, from: PeerIndex, at: u32, key: RegionKey, length: usize) {
        let (_, rank, tag, _) = self.unexpected.see(at);
        let index = self.requests.add(Completion::of(from, rank, tag, length as u64), Work::None);
        let buffer = self.unexpected.begin_fetch(at, index, length);
        if length == 0 {
            self.unexpected.end_fetch(at, buffer);
            self.requests.complete(index);
            self.requests.detach(self.requests.id(index));
            return self.release_sender(from, key);
        }
        let fetch = Fetch { buffer, length, at: Some(at), receive: None };
        self.requests.slot(index).work = Work::Fetching(Box::new(fetch));
        self.under_way += 1;
        self.flow.fetches += 1;
        self.flow.fetching += length as u64;
        let id = self.requests.id(index);
        self.requests.detach(id);
        let target = Target::Bytes { pointer: buffer.pointer, length };
        self.actions.push(Action::Pull { from, key, token: id.0, target });
    }

    /// The bytes of a message that the request `index` fetches are here.
    pub(crate) fn fetched(&mut self, index: u32) {
        let slot = self.requests.slot(index);
        let message = slot.completion;
        let Work::Fetching(fetch) = std::mem::replace(&mut slot.work, Work::None) else { return };
        self.finish(index);
        self.flow.fetches -= 1;
        self.flow.fetching -= fetch.length as u64;
        if let Some(at) = fetch.at {
            self.unexpected.end_fetch(at, fetch.buffer);
        } else {
            self.deliver_fetched(*fetch, message);
        }
        self.feed();
    }

    /// Gives a fetched message to the receive that took it while it was on its way, or to nobody.
    fn deliver_fetched(&mut self, fetch: Fetch, message: Completion) {
        if let Some((receive, mut target)) = fetch.receive {
            // SAFETY: the buffer holds the message; the owner of the receive keeps its target alive
            // until completion.
            let (bytes, truncated) = unsafe { deliver(&mut target, Here(fetch.buffer.pointer, fetch.length)) };
            self.requests.slot(receive).completion = Completion { bytes, truncated, ..message };
            self.finish(receive);
        }
        self.unexpected.buffers.remove(fetch.buffer);
        self.consumed(message.peer, Some(fetch.length));
    }

    /// The receive at `index` has taken a message that the request `fetch` is bringing.
    pub(crate) fn receive_fetched(&mut self, index: u32, target: Target, fetch: u32) {
        let slot = self.requests.slot(fetch);
        let message = slot.completion;
        if let Work::Fetching(fetch) = &mut slot.work {
            fetch.at = None;
            fetch.receive = Some((index, target));
            let slot = self.requests.slot(index);
            slot.completion = message;
            slot.work = Work::Pulling;
            self.under_way += 1;
        }
    }

    /// Nobody will receive the message that the request `fetch` is bringing.
    pub(crate) fn abandon_fetch(&mut self, fetch: u32) {
        if let Work::Fetching(fetch) = &mut self.requests.slot(fetch).work {
            fetch.at = None;
        }
    }

    /// A sender is lost: what it has been granted will not be used.
    pub(crate) fn forget_grants(&mut self, peer: PeerIndex) {
        let first = self.limits.unexpected_bytes;
        self.flow.hungry.retain(|hungry| hungry.peer != peer);
        self.flow.extended.retain(|other| *other != peer);
        let granted = std::mem::replace(&mut self.peers.at(peer).granted, first);
        self.flow.extra -= (granted - first) as u64;
    }

    /// The sender of a message that was being fetched is lost.
    pub(crate) fn drop_fetch(&mut self, fetch: Fetch) {
        self.flow.fetches -= 1;
        self.flow.fetching -= fetch.length as u64;
        match fetch.at {
            Some(at) => self.unexpected.lose_fetch(at, fetch.buffer),
            None => self.unexpected.buffers.remove(fetch.buffer),
        }
    }
}
