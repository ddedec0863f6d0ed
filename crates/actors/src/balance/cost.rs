//! What migrations cost, and whether they pay.

use serde::{Deserialize, Serialize};

use super::Loads;

/// Nanoseconds that a migration takes besides its bytes: messages and bookkeeping.
const PER_ELEMENT: u64 = 5_000;

/// How long ranks have packed, sent and unpacked elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationCost {
    /// How many bytes.
    pub bytes: u64,
    /// How long that took, in nanoseconds.
    pub time: u64,
}

impl MigrationCost {
    /// The cost that several ranks have measured.
    #[must_use]
    pub fn plus(self, other: MigrationCost) -> MigrationCost {
        let (bytes, time) = (self.bytes + other.bytes, self.time + other.time);
        MigrationCost { bytes, time }
    }

    /// How long a rank packs, sends and unpacks so many elements, by what has been measured, or a
    /// nanosecond per byte before anything was.
    #[must_use]
    pub fn of(&self, elements: u64, bytes: u64) -> u64 {
        let (time, measured) = if self.bytes == 0 { (1, 1) } else { (self.time, self.bytes) };
        let transfer = u128::from(bytes) * u128::from(time) / u128::from(measured);
        u64::try_from(transfer).unwrap_or(u64::MAX).saturating_add(elements * PER_ELEMENT)
    }

    /// Whether a plan saves more than it costs, if elements work as much until the next balancing
    /// as they have since the last.
    #[must_use]
    pub fn pays(&self, loads: &Loads, placement: &[u32]) -> bool {
        let gain = loads.longest(&loads.placement()).saturating_sub(loads.longest(placement));
        gain > self.of_plan(loads, placement)
    }

    /// How long the rank is busy that has most to do with the migrations of a plan.
    fn of_plan(&self, loads: &Loads, placement: &[u32]) -> u64 {
        let mut moved = vec![(0, 0); loads.ranks.len()];
        for (element, to) in loads.elements.iter().zip(placement) {
            if element.rank != *to {
                for rank in [element.rank, *to] {
                    let (elements, bytes) = &mut moved[rank as usize];
                    *elements += 1;
                    *bytes += element.bytes;
                }
            }
        }
        moved.into_iter().map(|(elements, bytes)| self.of(elements, bytes)).max().unwrap_or(0)
    }
}
