//! What `towpath info --topology PID` shows of a running job on several hosts. Its processes write
//! it to a memory file and hold that open.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;

use towpath_machine::memory::create_file;
use towpath_topology::LONGEST;

use crate::resources::HostResources;
use crate::segment::{descriptors_of_process, open_of_process};
use crate::topology::JobTopology;
use crate::wire::{escape, unescape};

/// Label of the memory file.
const LABEL: &str = "towpath-topology";

/// Maximum number of bytes of the job's hosts that `towpath info` reads.
const LONGEST_LIST: u64 = 16 << 20;

/// The hosts of a job and its topology.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownJob {
    /// `None` without a topology file.
    pub topology: Option<JobTopology>,
    /// The hosts by number.
    pub hosts: Vec<ShownHost>,
}

/// A host of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownHost {
    /// As the topology, `mpiexec` or the host itself calls it.
    pub name: String,
    /// Its resources and the number of its ranks; `None` as long as they are not known.
    pub resources: Option<(HostResources, usize)>,
    /// The rate of its link in bytes per second that the job's processes have measured.
    pub measured: Option<u64>,
}

impl ShownJob {
    /// A job of which the topology is known.
    pub fn named(topology: JobTopology) -> ShownJob {
        let names = topology.hosts().to_vec();
        ShownJob::with_names(Some(topology), names)
    }

    /// A job on hosts with these names.
    pub fn with_names(topology: Option<JobTopology>, names: Vec<String>) -> ShownJob {
        let host = |name| ShownHost { name, resources: None, measured: None };
        ShownJob { topology, hosts: names.into_iter().map(host).collect() }
    }

    /// A job on hosts with these resources, each with the number of its ranks. They have the names
    /// of the topology, or else their own ones.
    pub fn of(topology: Option<JobTopology>, hosts: Vec<(HostResources, usize)>) -> ShownJob {
        let names = match &topology {
            Some(topology) => topology.hosts().to_vec(),
            None => hosts.iter().map(|(resources, _)| resources.name.clone()).collect(),
        };
        let mut job = ShownJob::with_names(topology, names);
        job.add(hosts);
        job
    }

    /// Adds the resources of all hosts in order, each with the number of its ranks.
    pub fn add(&mut self, hosts: Vec<(HostResources, usize)>) {
        for (host, resources) in self.hosts.iter_mut().zip(hosts) {
            host.resources = Some(resources);
        }
    }

    /// The same with measured rates of the links of some hosts in bytes per second, by number of
    /// the host; `None` if another figure counts.
    pub fn with_measured(mut self, rates: impl Iterator<Item = (u32, Option<u64>)>) -> ShownJob {
        for (number, rate) in rates {
            if let Some(host) = self.hosts.get_mut(number as usize) {
                host.measured = rate;
            }
        }
        self
    }

    /// The job in a file of [`ShownJob::show`].
    pub fn of_file(file: &OwnedFd) -> Option<ShownJob> {
        let mut file = File::from(file.try_clone().ok()?);
        file.rewind().ok()?;
        ShownJob::parse(&read_all(file)?)
    }

    /// Writes the job to a memory file. `towpath info --topology PID` shows it while that process
    /// holds the file. `None` if the system offers no memory file, or no room.
    pub fn show(&self) -> Option<OwnedFd> {
        let mut file = File::from(create_file(LABEL).ok()?);
        file.write_all(self.to_text().as_bytes()).ok()?;
        Some(file.into())
    }

    /// The job that a process belongs to, if the process holds such a file.
    ///
    /// # Errors
    /// An error message for the user if the process may not be inspected.
    pub fn of_process(pid: u32) -> Result<Option<ShownJob>, String> {
        let numbers = descriptors_of_process(pid, LABEL)?;
        let read = |number| ShownJob::parse(&read_all(open_of_process(pid, number).ok()?.into())?);
        Ok(numbers.into_iter().find_map(read))
    }

    /// Encodes the job: a line with the hosts (`name`, `name=ranks=resources`, or that and
    /// `=rate`), and the topology if there is one.
    fn to_text(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(ShownHost::to_text).collect();
        let topology = self.topology.as_ref().map(JobTopology::to_text).unwrap_or_default();
        format!("{}\n{topology}", hosts.join(" "))
    }

    fn parse(text: &str) -> Option<ShownJob> {
        let (hosts, topology) = text.split_once('\n')?;
        let hosts = hosts.split(' ').map(ShownHost::parse).collect::<Option<Vec<_>>>()?;
        let topology = match topology {
            "" => None,
            text => Some(JobTopology::parse(text)?),
        };
        Some(ShownJob { topology, hosts })
    }
}

impl ShownHost {
    fn to_text(&self) -> String {
        let name = escape(self.name.as_bytes());
        let Some((resources, ranks)) = &self.resources else { return name };
        let measured = self.measured.map(|rate| format!("={rate}")).unwrap_or_default();
        format!("{name}={ranks}={}{measured}", resources.to_text())
    }

    fn parse(text: &str) -> Option<ShownHost> {
        let mut parts = text.splitn(4, '=');
        let name = String::from_utf8(unescape(parts.next()?)).ok()?;
        let resources = match (parts.next(), parts.next()) {
            (Some(ranks), Some(text)) => Some((HostResources::parse(text)?, ranks.parse().ok()?)),
            _ => None,
        };
        let measured = parts.next().map(str::parse).transpose().ok()?;
        Some(ShownHost { name, resources, measured })
    }
}

/// Reads a file that [`ShownJob::show`] has written.
fn read_all(file: File) -> Option<String> {
    let mut text = String::new();
    file.take(LONGEST_LIST + LONGEST as u64).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use towpath_machine::cores;

    use super::*;
    use crate::topology::TopologyFile;

    fn topology() -> JobTopology {
        let file = TopologyFile::parse("file x\n[[host]]\nhosts = \"a\"\nleads = false\n");
        JobTopology::new(file.unwrap().unwrap(), vec!["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn a_process_shows_a_job_while_it_holds_the_file() {
        let own = HostResources::own(cores::mask_of(&[0, 5]), None);
        let named = ShownJob::named(topology());
        let whole = ShownJob::of(Some(topology()), vec![(own.clone(), 2), (own.clone(), 1)]);
        let without = ShownJob::of(None, vec![(own.clone(), 3)]);
        assert_eq!((whole.hosts[1].name.as_str(), &without.hosts[0].name), ("b", &own.name));
        let measured = whole.clone().with_measured([(1, Some(7)), (9, Some(7))].into_iter());
        assert_eq!(
            measured.hosts.iter().map(|host| host.measured).collect::<Vec<_>>(),
            [None, Some(7)]
        );
        for job in [named, whole, measured, without] {
            let shown = job.show().unwrap();
            assert_eq!(ShownJob::of_file(&shown), Some(job.clone()));
            assert_eq!(ShownJob::of_process(std::process::id()), Ok(Some(job)));
            drop(shown);
            assert_eq!(ShownJob::of_process(std::process::id()), Ok(None));
        }
        assert!(ShownJob::of_process(u32::MAX).unwrap_err().contains("cannot be inspected"));
    }
}
