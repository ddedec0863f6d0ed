//! Topologies in strict mode: how much of a rank's buffer each sender gets, and when the buffer is
//! divided.

use towpath_base::sync::Words;

use super::division::{self, Division};
use super::outgoing::Outgoing;
use super::{COPIED_LIMIT, Strict};
use towpath_transport::Section;

/// A pending division: the senders that were seen to be out since the gate was closed.
pub(super) struct Closing {
    out: Vec<bool>,
}

impl Strict {
    /// Declares that these local ranks send to this one in the topology `key`, each with a weight.
    /// The buffer is divided again; [`Strict::has_granted`] tells when that is done.
    pub fn declare(&mut self, key: u64, sources: &[(usize, u64)]) {
        self.declared.insert(key, sources.to_vec());
        self.divide();
    }

    /// Removes the topology `key`.
    pub fn undeclare(&mut self, key: u64) {
        if self.declared.remove(&key).is_some() {
            self.divide();
        }
    }

    /// True if the buffer is divided as the declared topologies require; progress is needed until
    /// then.
    pub fn has_granted(&self) -> bool {
        self.closing.is_none()
    }

    /// The division of this rank's buffer: the sections of all other ranks.
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

    /// The sum of each rank's weights over all topologies; 0 if it is a neighbour in none of them.
    /// An edge of weight 0 counts as 1.
    fn weights(&self) -> Vec<u64> {
        let mut weights = vec![0u64; self.shape.ranks];
        for &(rank, weight) in
            self.declared.values().flatten().filter(|(rank, _)| *rank != self.own)
        {
            weights[rank] = weights[rank].saturating_add(weight.max(1));
        }
        weights
    }

    /// The division that the declared topologies require.
    fn wanted(&self) -> Division {
        division::shaped(&self.shape, &self.weights())
    }

    /// Closes the gate if the division must change. If it is closed already, the division that
    /// follows uses the latest topologies.
    fn divide(&mut self) {
        if self.closing.is_none() && self.wanted() != self.division {
            self.gate.close();
            let mut out = vec![false; self.shape.ranks];
            out[self.own] = true;
            self.closing = Some(Closing { out });
            self.try_to_grant();
        }
    }

    /// Checks which senders are out, and divides the buffer when all are.
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

    /// Writes all payload areas to the table, opens the gate, and wakes up the senders that may be
    /// sleeping.
    pub(super) fn grant(&mut self) {
        for (sender, place) in self.division.iter().enumerate() {
            self.table.store_release(2 * sender, place.offset);
            self.table.store_release(2 * sender + 1, place.bytes);
        }
        self.gate.open();
        self.outgoing.iter().for_each(Outgoing::notify);
    }
}
