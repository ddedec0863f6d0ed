//! Topologies in the strict mode: who gets how much of the own buffer, and when it is divided.

use towpath_base::sync::Words;

use super::division::{self, Division};
use super::outgoing::Outgoing;
use super::{COPIED_LIMIT, Strict};
use towpath_transport::Section;

/// A division that is to come: which senders were seen out behind the closed gate.
pub(super) struct Closing {
    out: Vec<bool>,
}

impl Strict {
    /// A topology named `key` declares that these local ranks send to this one, each with a weight.
    /// The buffer is divided anew, which [`Strict::has_granted`] tells.
    pub fn declare(&mut self, key: u64, sources: &[(usize, u64)]) {
        self.declared.insert(key, sources.to_vec());
        self.divide();
    }

    /// The topology named `key` is gone.
    pub fn undeclare(&mut self, key: u64) {
        if self.declared.remove(&key).is_some() {
            self.divide();
        }
    }

    /// True when the buffer is divided as the declared topologies ask; needs progress until then.
    pub fn has_granted(&self) -> bool {
        self.closing.is_none()
    }

    /// How the own buffer is divided: the sections of all other ranks.
    pub fn sections(&self) -> Vec<Section> {
        let weights = self.weights();
        let section = |from: usize| Section {
            from: self.peers[from],
            bytes: self.chunk_bytes(from),
            largest_message: COPIED_LIMIT,
            weight: (weights[from] > 0).then_some(weights[from]),
        };
        (0..self.shape.ranks).filter(|from| *from != self.own).map(section).collect()
    }

    /// The sum of the weights over all topologies, for each rank; 0 for a stranger. An edge without
    /// weight counts too.
    fn weights(&self) -> Vec<u64> {
        let mut weights = vec![0u64; self.shape.ranks];
        for &(rank, weight) in self.declared.values().flatten().filter(|(rank, _)| *rank != self.own) {
            weights[rank] = weights[rank].saturating_add(weight.max(1));
        }
        weights
    }

    /// How the buffer should be divided.
    fn wanted(&self) -> Division {
        division::shaped(&self.shape, &self.weights())
    }

    /// Closes the gate if the division must change. While it is closed already, the newest wish
    /// will count.
    fn divide(&mut self) {
        if self.closing.is_none() && self.wanted() != self.division {
            self.gate.close();
            let mut out = vec![false; self.shape.ranks];
            out[self.own] = true;
            self.closing = Some(Closing { out });
            self.try_to_grant();
        }
    }

    /// Looks which senders are out; divides the buffer when all are.
    pub(super) fn try_to_grant(&mut self) -> bool {
        let Some(closing) = &mut self.closing else { return false };
        for (rank, out) in closing.out.iter_mut().enumerate() {
            *out |= self.outgoing[rank].lost || self.incoming[rank].is_out();
        }
        if closing.out.contains(&false) {
            return false;
        }
        self.closing = None;
        self.division = self.wanted();
        self.grant();
        true
    }

    /// Writes where everybody's payload lies and opens the gate. Whoever waits before it may sleep.
    pub(super) fn grant(&mut self) {
        for (sender, place) in self.division.iter().enumerate() {
            self.table.store_release(2 * sender, place.offset);
            self.table.store_release(2 * sender + 1, place.bytes);
        }
        self.gate.open();
        self.outgoing.iter().for_each(Outgoing::notify);
    }
}
