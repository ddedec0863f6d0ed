//! How many blocks of threads kernels get.

/// Threads of a block of the kernels.
pub(crate) const BLOCK_THREADS: u32 = 256;
/// Blocks of threads for each multiprocessor: as many as it can run at a time.
const BLOCKS_PER_PROCESSOR: u64 = 8;
/// Most blocks of a grid: the number of its threads fits in 32 bits with room for a step.
const MOST_BLOCKS: u64 = 1 << 22;

/// What a kernel has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Number of elements.
    pub(crate) elements: u64,
    /// True for a thread for each element, false for as many threads as the device can run at a
    /// time, which go through the elements with strides.
    pub(crate) all: bool,
}

/// The grids of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Blocks that it can run at a time.
    at_a_time: u64,
}

impl Grid {
    /// Those of a device with so many multiprocessors.
    pub(crate) fn new(processors: u64) -> Grid {
        Grid { at_a_time: processors.max(1) * BLOCKS_PER_PROCESSOR }
    }

    /// The blocks of a kernel.
    pub(crate) fn blocks(&self, demand: Demand) -> u32 {
        let blocks = demand.elements.div_ceil(BLOCK_THREADS.into()).max(1);
        let most = if demand.all { MOST_BLOCKS } else { self.at_a_time };
        blocks.min(most) as u32
    }

    /// The blocks of each part of a kernel: as many as it would get alone. If those that go through
    /// their elements with strides would get more than the device can run at a time, they share
    /// that in proportion.
    pub(crate) fn divided(&self, demands: &[Demand]) -> Vec<u32> {
        let strided = demands.iter().filter(|demand| !demand.all);
        let wanted = strided.map(|&demand| u64::from(self.blocks(demand))).sum::<u64>();
        let share = |&demand: &Demand| match (self.blocks(demand), demand.all) {
            (alone, true) => alone,
            (alone, false) => {
                let share = u64::from(alone) * self.at_a_time / wanted.max(self.at_a_time);
                share.max(1) as u32
            }
        };
        demands.iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(elements: u64, all: bool) -> Demand {
        Demand { elements, all }
    }

    #[test]
    fn a_kernel_gets_what_it_needs_up_to_what_runs_at_a_time() {
        let grid = Grid::new(2);
        let blocks = |elements, all| grid.blocks(demand(elements, all));
        assert_eq!([0, 1, 256, 257].map(|elements| blocks(elements, false)), [1, 1, 1, 2]);
        assert_eq!((blocks(1 << 20, false), blocks(1 << 20, true)), (16, 4096));
        assert_eq!(blocks(1 << 40, true), 1 << 22);
    }

    #[test]
    fn parts_share_what_runs_at_a_time_in_proportion() {
        let grid = Grid::new(2);
        let few = [demand(300, false), demand(1, false), demand(1 << 16, true)];
        assert_eq!(grid.divided(&few), [2, 1, 256]);
        let many = [demand(1 << 20, false), demand(1 << 20, false), demand(1, false)];
        assert_eq!(grid.divided(&many), [7, 7, 1]);
    }
}
