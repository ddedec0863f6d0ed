//! Messages that the receiver fetches into the unexpected queue when there is room: those that are
//! postponed, as their senders lack credit, and short ones in the memory of a device. A receive can
//! match one while its fetch is in flight.

use std::collections::VecDeque;

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::Target;
use towpath_transport::RegionKey;

use super::{LEAST_GRANT, MOST_FETCHES};
use crate::credit::{Fetchable, Hungry};
use crate::protocol::MESSAGE_OVERHEAD;
use crate::requests::{Completion, Fetch, PendingWork};
use crate::state::{DeferredCall, DeviceWait, State};

/// Rounds of progress for which a message in the memory of a device waits for a receive: longer
/// than a rank needs from one call to the next, and short for one that waits for its send.
const ROUNDS: u32 = 256;

impl<S: Subscriber> State<S> {
    /// Handles a message in the memory of a device: fetches it unless a receive matches it soon.
    pub(crate) fn fetch_if_late(&mut self, message: Fetchable) {
        self.on_device.push(DeviceWait::Message { message, rounds: ROUNDS });
    }

    /// True if such a message goes on waiting for a receive, for one round of progress less.
    pub(crate) fn waits_for_receive(&mut self, message: Fetchable, rounds: &mut u32) -> bool {
        let Fetchable { from, at, sequence } = message;
        if self.peers.is_lost(from) || self.unexpected.fetchable(at, from, sequence).is_none() {
            return false;
        }
        *rounds -= 1;
        if *rounds > 0 {
            return true;
        }
        self.wants_room(message);
        false
    }

    /// Handles a postponed message: fetches it now, or once there is room.
    pub(crate) fn wants_room(&mut self, message: Fetchable) {
        if self.flow.headroom.is_none() {
            return;
        }
        let Fetchable { from, at, sequence } = message;
        let queue = &self.unexpected;
        if let Some(hungry) = self.flow.hungry.iter_mut().find(|hungry| hungry.peer == from) {
            // Drop the messages that were matched in the meantime, to keep the list short.
            while let Some((at, sequence)) = hungry.postponed.front()
                && queue.fetchable(*at, from, *sequence).is_none()
            {
                hungry.postponed.pop_front();
            }
            hungry.postponed.push_back((at, sequence));
            return;
        }
        let is_first = self.flow.hungry.is_empty();
        self.flow
            .hungry
            .push_back(Hungry { peer: from, postponed: VecDeque::from([(at, sequence)]) });
        // If other peers are already waiting, the last query found no room.
        if is_first {
            self.feed();
        }
    }

    /// Fetches messages of waiting senders and grants them credit, as memory permits. The
    /// completion of a fetch calls this again, with a fresh memory query.
    #[cold]
    pub(crate) fn feed(&mut self) {
        while !self.flow.hungry.is_empty() && self.flow.fetches < MOST_FETCHES && self.feed_once() {
        }
    }

    /// True if any sender was given room.
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
                // The longest-waiting sender stays first.
                self.flow.hungry.push_front(hungry);
                self.recall();
                break;
            }
        }
        fed
    }

    /// Fetches postponed messages, oldest first, and deducts their cost from `bytes`. True if any
    /// was fetched.
    fn fetch_within(&mut self, hungry: &mut Hungry, bytes: &mut u64) -> bool {
        let from = hungry.peer;
        let mut fetched = false;
        while self.flow.fetches < MOST_FETCHES
            && let Some(&(at, sequence)) = hungry.postponed.front()
        {
            if let Some((key, length)) = self.unexpected.fetchable(at, from, sequence) {
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

    /// Starts to fetch the postponed message in node `at`.
    fn fetch(&mut self, from: PeerIndex, at: u32, key: RegionKey, length: usize) {
        let (_, rank, tag, _) = self.unexpected.see(at);
        let index =
            self.requests.add(Completion::of(from, rank, tag, length as u64), PendingWork::None);
        let buffer = self.unexpected.begin_fetch(at, index, length);
        if length == 0 {
            self.unexpected.end_fetch(at, buffer);
            self.requests.complete(index);
            self.requests.detach(self.requests.id(index));
            return self.release_sender(from, key);
        }
        let fetch = Fetch { buffer, length, at: Some(at), receive: None };
        self.requests.slot(index).work = PendingWork::Fetching(Box::new(fetch));
        self.under_way += 1;
        self.flow.fetches += 1;
        self.flow.fetching += length as u64;
        let id = self.requests.id(index);
        self.requests.detach(id);
        let target = Target::Bytes { pointer: buffer.pointer, length };
        self.actions.push(DeferredCall::Pull { from, key, token: id.0, target });
    }

    /// Handles completion of the fetch by request `index`.
    pub(crate) fn fetched(&mut self, index: u32) {
        let slot = self.requests.slot(index);
        let message = slot.completion;
        let PendingWork::Fetching(fetch) = std::mem::replace(&mut slot.work, PendingWork::None)
        else {
            return;
        };
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

    /// Delivers a fetched message to the receive that matched it during the fetch; drops it if
    /// there is none.
    fn deliver_fetched(&mut self, fetch: Fetch, message: Completion) {
        if let Some((receive, target)) = fetch.receive {
            self.under_way -= 1;
            // SAFETY: the buffer holds `fetch.length` bytes. The receive is incomplete, so its
            // target is still valid (contract of `irecv`).
            unsafe {
                self.deliver(receive, target, message, fetch.buffer.pointer, fetch.length);
            }
        }
        self.unexpected.buffers.remove(fetch.buffer);
        self.consumed(message.peer, Some(fetch.length));
    }

    /// Records that the receive at `index` has matched the message that request `fetch` is still
    /// fetching.
    pub(crate) fn receive_fetched(&mut self, index: u32, target: Target, fetch: u32) {
        let slot = self.requests.slot(fetch);
        let message = slot.completion;
        if let PendingWork::Fetching(fetch) = &mut slot.work {
            fetch.at = None;
            fetch.receive = Some((index, target));
            let slot = self.requests.slot(index);
            slot.completion = message;
            slot.work = PendingWork::Pulling;
            self.under_way += 1;
        }
    }

    /// Drops the message that request `fetch` is fetching, once the fetch is complete.
    pub(crate) fn abandon_fetch(&mut self, fetch: u32) {
        if let PendingWork::Fetching(fetch) = &mut self.requests.slot(fetch).work {
            fetch.at = None;
        }
    }

    /// Reclaims the credit granted to a lost sender.
    pub(crate) fn forget_grants(&mut self, peer: PeerIndex) {
        let first = self.limits.unexpected_bytes;
        self.flow.hungry.retain(|hungry| hungry.peer != peer);
        self.flow.extended.retain(|other| *other != peer);
        let granted = std::mem::replace(&mut self.peers.at(peer).granted, first);
        self.flow.extra -= (granted - first) as u64;
    }

    /// Ends a fetch from a lost sender.
    pub(crate) fn drop_fetch(&mut self, fetch: Fetch) {
        self.flow.fetches -= 1;
        self.flow.fetching -= fetch.length as u64;
        match fetch.at {
            Some(at) => self.unexpected.lose_fetch(at, fetch.buffer),
            None => self.unexpected.buffers.remove(fetch.buffer),
        }
    }
}
