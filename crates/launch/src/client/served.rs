//! The [`Launcher`] for all launchers but Towpath's own, on top of a [`Store`]; the same for PMI-1,
//! PMI-2 and PMIx.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::handover::{self, HandedOver};
use super::store::Store;
use super::{Job, LONGEST_END, Launcher, duplicate};
use crate::error::Error;
use crate::key::JobKey;
use crate::topology::{JobTopology, TopologyChoice};

/// A server, and what the ranks have set up with it: the job, the host's segment, the secret.
pub(super) struct Served<S> {
    store: S,
    job: Job,
    segment: OwnedFd,
    key: JobKey,
    topology: Option<JobTopology>,
}

impl<S: Store> Served<S> {
    /// Sets up the identifier, the secret, the segment and the topology. Collective over the job.
    /// Rank 0 reads the topology file that it chooses.
    pub(super) fn share(
        mut store: S,
        mut job: Job,
        choice: &TopologyChoice,
    ) -> Result<Served<S>, Error> {
        let HandedOver { segment, key, topology } = handover::share(&mut store, &mut job, choice)?;
        Ok(Served { store, job, segment, key, topology })
    }
}

impl<S: Store + Send> Launcher for Served<S> {
    fn job(&self) -> &Job {
        &self.job
    }

    fn segment(&mut self) -> Result<OwnedFd, Error> {
        duplicate(&self.segment)
    }

    fn key(&mut self) -> Result<JobKey, Error> {
        Ok(self.key.clone())
    }

    fn topology(&mut self) -> Result<Option<JobTopology>, Error> {
        Ok(self.topology.clone())
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.store.put(key, value)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        self.store.get(None, key)
    }

    fn get_from(&mut self, rank: u32, key: &str) -> Result<Option<String>, Error> {
        self.store.get(Some(rank), key)
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.store.fence()
    }

    fn abort(&mut self, code: i32, sentence: &str) -> Result<(), Error> {
        eprintln!("{sentence}");
        wait_for_readers(std::io::stderr().as_fd());
        self.store.abort(code, None)
    }

    fn await_end(&self) {
        if self.store.ends_ranks() {
            std::thread::sleep(LONGEST_END);
        }
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.store.finalize()
    }
}

/// Waits until `stream` has been read, for half a second at most because it may have no reader.
/// Hydra kills a job at once and drops output that it has not read, so the message must be read
/// before the abort request.
fn wait_for_readers(stream: BorrowedFd<'_>) {
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        if !matches!(rustix::io::ioctl_fionread(stream), Ok(waiting) if waiting > 0) {
            return;
        }
    }
}
