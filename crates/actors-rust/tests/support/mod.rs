//! Ranks that are threads of the test: a job runs without MPI.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use towpath_actors::arrays::PooledArray;
use towpath_actors::{ActorMessage, MachineLayer, MessageHandle};

/// No job of a test takes so long; a rank that waits longer fails.
const LIMIT: Duration = Duration::from_secs(30);

/// A message between threads: the sender, header and payload, arrays.
struct Parcel {
    from: u32,
    bytes: Vec<u8>,
    arrays: Vec<Vec<u8>>,
}

/// One rank's end of the channels between all.
struct ThreadLayer {
    rank: u32,
    others: Vec<Sender<Parcel>>,
    arrives: Receiver<Parcel>,
    /// What has arrived while the rank waited.
    early: RefCell<Option<Parcel>>,
    began: Instant,
    is_closed: bool,
}

impl MachineLayer for ThreadLayer {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.others.len() as u32
    }

    fn ordered_bytes(&self) -> usize {
        usize::MAX
    }

    fn send(&mut self, to: u32, message: MessageHandle) {
        assert!(!self.is_closed, "rank {} sends after the end", self.rank);
        let arrays = message.arrays().iter().map(|array| array.bytes().to_vec()).collect();
        let parcel = Parcel { from: self.rank, bytes: message.bytes().to_vec(), arrays };
        // A rank that has ended gets no more.
        let _ = self.others[to as usize].send(parcel);
    }

    fn receive(&mut self) -> Option<(u32, ActorMessage)> {
        let parcel = self.early.take().or_else(|| self.arrives.try_recv().ok())?;
        let mut message = ActorMessage::with_bytes(parcel.bytes.len());
        message.bytes_mut().copy_from_slice(&parcel.bytes);
        let arrays = parcel.arrays.iter().map(|array| Rc::new(PooledArray::of(array)) as _);
        Some((parcel.from, message.with_arrays(arrays.collect())))
    }

    fn time(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn processor_time(&self) -> u64 {
        self.time()
    }

    fn wait(&mut self, limit: Option<Duration>) -> bool {
        match self.arrives.recv_timeout(limit.unwrap_or(LIMIT)) {
            Ok(parcel) => *self.early.borrow_mut() = Some(parcel),
            Err(RecvTimeoutError::Timeout) if limit.is_some() => return true,
            Err(error) => panic!("rank {} waits for nothing: {error}", self.rank),
        }
        false
    }

    fn close(&mut self) {
        self.is_closed = true;
    }
}

/// Runs the ranks of a job, and gives what each returns.
pub(crate) fn on_ranks<R: Send>(
    ranks: u32,
    run: impl Fn(Box<dyn MachineLayer>) -> R + Sync,
) -> Vec<R> {
    let (ends, arrivals): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
    let began = Instant::now();
    thread::scope(|scope| {
        let start = |(rank, arrives)| {
            let (others, run) = (ends.clone(), &run);
            scope.spawn(move || {
                let early = RefCell::default();
                let is_closed = false;
                run(Box::new(ThreadLayer { rank, others, arrives, early, began, is_closed }))
            })
        };
        let threads: Vec<_> = (0..ranks).zip(arrivals).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}
