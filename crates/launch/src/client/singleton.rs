//! A process without a launcher: rank 0 of 1, with a local key-value store and a private segment
//! that is created on demand.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use super::{Job, Launcher, duplicate};
use crate::error::Error;
use crate::key::JobKey;
use crate::segment;
use crate::topology::JobTopology;

/// The launcher interface of a singleton.
pub(super) struct Singleton {
    job: Job,
    values: HashMap<String, String>,
    segment: Option<OwnedFd>,
    key: Option<JobKey>,
}

impl Singleton {
    pub(super) fn new() -> Singleton {
        let mut job = Job::new(0, vec![0], "no launcher (a process started alone)");
        job.id = segment::new_job();
        Singleton { job, values: HashMap::new(), segment: None, key: None }
    }
}

impl Launcher for Singleton {
    fn job(&self) -> &Job {
        &self.job
    }

    fn segment(&mut self) -> Result<OwnedFd, Error> {
        let own = match self.segment.take() {
            Some(own) => own,
            None => segment::make(segment::nonce_of_host(self.job.id, 0), 1)?,
        };
        duplicate(self.segment.insert(own))
    }

    fn key(&mut self) -> Result<JobKey, Error> {
        let key = match self.key.take() {
            Some(key) => key,
            None => JobKey::random()
                .map_err(|error| Error::Segment { action: "created", detail: error.to_string() })?,
        };
        Ok(self.key.insert(key).clone())
    }

    fn topology(&mut self) -> Result<Option<JobTopology>, Error> {
        Ok(None)
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.values.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        Ok(self.values.get(key).cloned())
    }

    fn fence(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn abort(&mut self, _code: i32, sentence: &str) -> Result<(), Error> {
        eprintln!("{sentence}");
        Ok(())
    }

    fn finalize(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_has_everything() {
        let mut alone = Singleton::new();
        assert_eq!((alone.job().rank, alone.job().size), (0, 1));
        alone.put("k", "v").unwrap();
        alone.fence().unwrap();
        assert_eq!(alone.get("k").unwrap().as_deref(), Some("v"));
        let nonce = segment::nonce_of_host(alone.job.id, 0);
        assert!(segment::belongs_to(std::os::fd::AsFd::as_fd(&alone.segment().unwrap()), nonce));
        assert!(matches!(alone.spawn(&[]), Err(Error::Unsupported { .. })));
    }
}
