//! The topology file of a job. One process reads it: `mpiexec`, or rank 0 under another launcher.
//! The others receive its text and the names of the job's hosts, so all processes have the same
//! description, wherever the file is.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use towpath_base::config;
use towpath_machine::memory::create_file;
use towpath_topology::{Error as FileError, LONGEST, NetworkTopology};

use crate::segment::{descriptors_of_process, open_of_process};

/// The setting that names the file.
pub(crate) const SETTING: &str = "TOWPATH_TOPOLOGY";

/// Key under which the topology is published.
pub(crate) const KEY: &str = "towpath-topology";

/// Label of the memory file in which `towpath info` finds the topology of a running job.
const LABEL: &str = "towpath-topology";

/// Maximum number of bytes of the job's hosts that `towpath info` reads.
const LONGEST_LIST: u64 = 16 << 20;

/// The topology of a job: what its file states, and the names of its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTopology {
    text: String,
    description: NetworkTopology,
    /// By number of the host.
    hosts: Vec<String>,
}

impl JobTopology {
    /// The topology that the text of a file describes, for a job on these hosts.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub(crate) fn new(text: String, hosts: Vec<String>) -> Result<JobTopology, FileError> {
        Ok(JobTopology { description: NetworkTopology::parse(&text)?, text, hosts })
    }

    /// Reads the topology file of a job on these hosts.
    ///
    /// # Errors
    /// An error message for the user.
    pub(crate) fn of_file(path: &Path, hosts: Vec<String>) -> Result<JobTopology, String> {
        let (text, description) = read(path)?;
        Ok(JobTopology { text, description, hosts })
    }

    /// What the file states.
    pub fn description(&self) -> &NetworkTopology {
        &self.description
    }

    /// The names of the job's hosts, as `mpiexec`, Slurm or the hosts themselves know them, in the
    /// order of their numbers.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Rate of the link of host `number` in bytes per second. A host of another job has the rate of
    /// those that the file does not name.
    pub fn link_rate(&self, number: u32) -> u64 {
        let name = self.hosts.get(number as usize);
        let link = name.map(|name| self.description.link(name));
        link.unwrap_or_else(|| self.description.usual_link()).rate.value
    }

    /// The hosts that the file names and that are not in the job.
    pub(crate) fn absent(&self) -> Vec<&str> {
        let jobs_own: HashSet<&str> =
            self.hosts.iter().filter_map(|name| self.description.known_name(name)).collect();
        self.description.hosts().filter(|name| !jobs_own.contains(name)).collect()
    }

    /// The hosts of the job that the file does not name.
    pub(crate) fn unnamed(&self) -> Vec<&str> {
        let names = self.hosts.iter().map(String::as_str);
        names.filter(|name| self.description.known_name(name).is_none()).collect()
    }

    /// Encodes the topology: a line with the hosts, and the text.
    pub(crate) fn to_text(&self) -> String {
        format!("{}\n{}", self.hosts.join(" "), self.text)
    }

    /// Parses the output of [`JobTopology::to_text`].
    pub(crate) fn parse(text: &str) -> Option<JobTopology> {
        let (hosts, text) = text.split_once('\n')?;
        JobTopology::new(text.to_owned(), hosts.split(' ').map(str::to_owned).collect()).ok()
    }

    /// Writes the topology to a memory file. While a process of the job holds the file, `towpath
    /// info --topology PID` shows it. `None` if the system offers no memory file, or no room.
    pub fn show(&self) -> Option<OwnedFd> {
        let mut file = File::from(create_file(LABEL).ok()?);
        file.write_all(self.to_text().as_bytes()).ok()?;
        Some(file.into())
    }

    /// The topology of the job that a process belongs to, if the process holds it.
    ///
    /// # Errors
    /// An error message for the user if the process may not be inspected.
    pub(crate) fn of_process(pid: u32) -> Result<Option<JobTopology>, String> {
        let numbers = descriptors_of_process(pid, LABEL)?;
        let read = |number| JobTopology::parse(&read_all(open_of_process(pid, number).ok()?)?);
        Ok(numbers.into_iter().find_map(read))
    }
}

/// Reads a file that [`JobTopology::show`] has written.
fn read_all(file: OwnedFd) -> Option<String> {
    let mut text = String::new();
    File::from(file).take(LONGEST_LIST + LONGEST as u64).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The file that the setting names.
pub(crate) fn file_of_setting() -> Option<PathBuf> {
    config::setting(SETTING).map(PathBuf::from)
}

/// Reads a topology file: its text, and what it states.
///
/// # Errors
/// An error message for the user.
pub(crate) fn read(path: &Path) -> Result<(String, NetworkTopology), String> {
    let refused = |error| format!("The topology file {} cannot be read ({error}).", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(refused)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(refused)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("The topology file {} is not a text in UTF-8.", path.display()))?;
    match NetworkTopology::parse(&text) {
        Ok(description) => Ok((text, description)),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "[[host]]\nhosts = \"a,b\"\nleads = false\n";

    fn topology() -> JobTopology {
        let hosts = ["c", "b.example"].map(str::to_owned).to_vec();
        JobTopology::new(TEXT.to_owned(), hosts).unwrap()
    }

    #[test]
    fn a_topology_is_read_back() {
        assert_eq!(JobTopology::parse(&topology().to_text()), Some(topology()));
        assert_eq!(JobTopology::parse("a b"), None);
        assert_eq!(JobTopology::parse("a b\n[link]"), None);
    }

    #[test]
    fn a_process_shows_it_while_it_holds_the_file() {
        let shown = topology().show().unwrap();
        assert_eq!(JobTopology::of_process(std::process::id()), Ok(Some(topology())));
        drop(shown);
        assert_eq!(JobTopology::of_process(std::process::id()), Ok(None));
        assert!(JobTopology::of_process(u32::MAX).unwrap_err().contains("cannot be inspected"));
    }

    #[test]
    fn hosts_of_the_file_and_of_the_job_are_compared() {
        assert_eq!(topology().absent(), ["a"]);
        assert_eq!(topology().unnamed(), ["c"]);
    }

    #[test]
    fn each_host_of_the_job_has_a_link() {
        let text = "[default]\nrate = \"8Gbit\"\n[[link]]\nhosts = \"b\"\nrate = \"800Mbit\"\n";
        let hosts = ["c", "b.example"].map(str::to_owned).to_vec();
        let topology = JobTopology::new(text.to_owned(), hosts).unwrap();
        let rates = [0, 1, 2].map(|number| topology.link_rate(number));
        assert_eq!(rates, [1_000_000_000, 100_000_000, 1_000_000_000]);
    }

    #[test]
    fn files_are_refused_with_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("topology.toml");
        assert!(read(&file).unwrap_err().contains("cannot be read"));
        fs::write(&file, TEXT).unwrap();
        assert_eq!(read(&file).unwrap().0, TEXT);
        fs::write(&file, b"\xff").unwrap();
        assert!(read(&file).unwrap_err().contains("UTF-8"));
        fs::write(&file, "\n[[hosts]]\n").unwrap();
        assert!(read(&file).unwrap_err().contains("topology.toml: topology file line 2: "));
        assert!(read(Path::new("/dev/zero")).unwrap_err().contains("bytes"));
    }
}
