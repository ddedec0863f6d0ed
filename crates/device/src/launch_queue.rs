//! Transfers by kernel that wait to be launched together: a launch takes 4.4 us of the processor's
//! time, which a halo exchange would otherwise pay for each face.
//!
//! They wait until the round of progress ends in which they became ready ([`crate::Gpus::launch`]),
//! their number is [`MOST`], or one of them is asked for a second time. One that waits alone gets
//! the kernel for its words. Several get one kernel that makes all of them, each with threads and a
//! completion of its own (`launch`).

use std::sync::{Arc, OnceLock};

use crate::abi::{FunctionHandle, StreamHandle};
use crate::driver::Result;
use crate::grid::{BLOCK_THREADS, Demand};
use crate::kernel::{KernelEnd, Move};

/// Transfers that are launched together at most: their arguments must fit in 4 KB.
const MOST: usize = 8;

/// A launch of the transfers that wait at a time.
#[derive(Debug, Default)]
pub(crate) struct Launch {
    /// In which stream, and whether it succeeded. Set once it has been tried.
    outcome: OnceLock<(StreamHandle, Result<()>)>,
}

impl Launch {
    /// In which stream the transfers were launched, and whether that succeeded; `None` while they
    /// wait.
    pub(crate) fn outcome(&self) -> Option<&(StreamHandle, Result<()>)> {
        self.outcome.get()
    }
}

/// A transfer that is ready to be launched.
#[derive(Clone, Copy)]
pub(crate) struct ReadyMove {
    /// The kernel that makes it alone.
    pub(crate) function: FunctionHandle,
    pub(crate) stream: StreamHandle,
    pub(crate) demand: Demand,
    pub(crate) arguments: Move,
}

/// The transfers of a context that wait.
#[derive(Default)]
pub(crate) struct LaunchQueue {
    moves: Vec<ReadyMove>,
    /// What they wait for.
    launch: Arc<Launch>,
}

/// Arguments of the kernel that makes several moves: threads `starts[i]..starts[i + 1]` make
/// `moves[i]`.
#[repr(C)]
pub(crate) struct Moves {
    count: u32,
    starts: [u32; MOST + 1],
    moves: [Move; MOST],
}

impl Moves {
    /// At least one, each with so many blocks of threads.
    pub(crate) fn new(ready: &[ReadyMove], blocks: &[u32]) -> Moves {
        let mut all = Moves {
            count: ready.len() as u32,
            starts: [0; MOST + 1],
            moves: [ready[0].arguments; MOST],
        };
        for (index, (one, blocks)) in ready.iter().zip(blocks).enumerate() {
            all.starts[index + 1] = all.starts[index] + blocks * BLOCK_THREADS;
            all.moves[index] = one.arguments;
        }
        all
    }
}

impl LaunchQueue {
    /// Adds a transfer. What it waits for.
    pub(crate) fn add(&mut self, ready: ReadyMove) -> Arc<Launch> {
        self.moves.push(ready);
        self.launch.clone()
    }

    /// True if no other transfer can be launched together with those that wait.
    pub(crate) fn is_full(&self) -> bool {
        self.moves.len() == MOST
    }

    /// Removes the transfer that announces its end so, if it still waits for `launch`. Otherwise
    /// the stream in which it has been launched.
    pub(crate) fn remove(&mut self, launch: &Launch, end: KernelEnd) -> Option<StreamHandle> {
        let launched = launch.outcome().map(|(stream, _)| *stream);
        if launched.is_none() {
            self.moves.retain(|waiting| waiting.arguments.end != end);
        }
        launched
    }

    /// Launches all that wait by `launch`, in the stream of the first.
    pub(crate) fn launch_all(
        &mut self,
        launch: impl FnOnce(StreamHandle, &[ReadyMove]) -> Result<()>,
    ) {
        let Some(first) = self.moves.first() else { return };
        let outcome = (first.stream, launch(first.stream, &self.moves));
        self.moves.clear();
        std::mem::take(&mut self.launch).outcome.get_or_init(|| outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::driver::DeviceError;
    use crate::kernel::{self, DevicePlacement};

    #[test]
    fn the_structure_has_the_size_of_the_source_and_fits_in_the_parameters() {
        assert_eq!(size_of::<Moves>(), 40 + MOST * size_of::<Move>());
        assert!(size_of::<Moves>() <= 4096);
    }

    fn ready(stream: usize, value: u32) -> ReadyMove {
        let placement = DevicePlacement::contiguous(0x1000, 512);
        let (_, mut arguments) = kernel::arguments(&placement, &placement, 0, 512);
        arguments.end = KernelEnd { value, ..KernelEnd::default() };
        let stream = StreamHandle(ptr::without_provenance_mut(stream));
        let demand = Demand { elements: arguments.words, all: false };
        let function = FunctionHandle(ptr::null_mut());
        ReadyMove { function, stream, demand, arguments }
    }

    #[test]
    fn those_that_wait_together_share_one_launch_and_its_outcome() {
        let (mut queue, failure) = (LaunchQueue::default(), DeviceError("it burns".to_owned()));
        queue.launch_all(|_, _| panic!("nothing waits"));
        let launches = [1, 2, 3].map(|value| queue.add(ready(value as usize, value)));
        assert!(launches.iter().all(|launch| launch.outcome().is_none()) && !queue.is_full());
        assert_eq!(queue.remove(&launches[1], ready(2, 2).arguments.end), None);
        queue.launch_all(|stream, moves| {
            let values: Vec<u32> = moves.iter().map(|one| one.arguments.end.value).collect();
            assert_eq!((stream, &values[..]), (ready(1, 1).stream, &[1, 3][..]));
            Err(failure.clone())
        });
        let expected = Some(&(ready(1, 1).stream, Err(failure)));
        assert!(launches.iter().all(|launch| launch.outcome() == expected));
        assert_eq!(queue.remove(&launches[2], ready(3, 3).arguments.end), Some(ready(1, 1).stream));
        assert!(queue.add(ready(4, 4)).outcome().is_none());
    }

    #[test]
    fn as_many_wait_as_one_launch_takes() {
        let mut queue = LaunchQueue::default();
        let added: Vec<bool> =
            (0..MOST).map(|_| (queue.add(ready(1, 1)), queue.is_full()).1).collect();
        assert_eq!(added.iter().position(|&full| full), Some(MOST - 1));
        queue.launch_all(|_, moves| {
            let blocks: Vec<u32> = (1..=MOST as u32).collect();
            let all = Moves::new(moves, &blocks);
            let sums = std::array::from_fn(|index| (index * (index + 1) / 2 * 256) as u32);
            assert_eq!((all.count as usize, all.starts), (MOST, sums));
            Ok(())
        });
        assert!(!queue.is_full());
    }
}
