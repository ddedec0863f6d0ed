//! The topology file of a job. One process reads it: `mpiexec`, or rank 0 under another launcher.
//! The others receive its text and the names of the job's hosts, so all processes have the same
//! description, wherever the file is.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use towpath_base::config;
use towpath_topology::{Error as FileError, FigureOrigin, HostLink, LONGEST};
pub use towpath_topology::{HostNetwork, NetworkTopology};

use crate::wire::{escape, unescape};

/// The setting that names the file.
pub const SETTING: &str = "TOWPATH_TOPOLOGY";

/// Key under which the topology is published.
pub const KEY: &str = "towpath-topology";

/// The value of the setting and of the option `--topology` for which no file is used.
const NO_FILE: &str = "none";

/// The topology of a job: what its file states, and the names of its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTopology {
    /// Name of the file, for messages.
    file: String,
    text: String,
    description: NetworkTopology,
    /// By number of the host.
    hosts: Vec<String>,
}

impl JobTopology {
    /// The topology that a file describes, for a job on these hosts.
    pub fn new(file: TopologyFile, hosts: Vec<String>) -> JobTopology {
        let TopologyFile { name, text, description } = file;
        JobTopology { file: name, text, description, hosts }
    }

    /// Name of the file, for messages.
    pub fn file(&self) -> &str {
        &self.file
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

    /// The link of host `number`. A host of another job has the link of those that the file does
    /// not name.
    pub fn link(&self, number: u32) -> HostLink {
        let name = self.hosts.get(number as usize);
        let link = name.map(|name| self.description.link(name));
        link.unwrap_or_else(|| self.description.usual_link())
    }

    /// The hosts that the file names and that are not in the job.
    pub fn absent(&self) -> Vec<&str> {
        let jobs_own: HashSet<&str> =
            self.hosts.iter().filter_map(|name| self.description.known_name(name)).collect();
        self.description.hosts().filter(|name| !jobs_own.contains(name)).collect()
    }

    /// The hosts of the job that the file does not name.
    pub fn unnamed(&self) -> Vec<&str> {
        let names = self.hosts.iter().map(String::as_str);
        names.filter(|name| self.description.known_name(name).is_none()).collect()
    }

    /// Encodes the topology: a line with the hosts, and the file.
    pub fn to_text(&self) -> String {
        let names: Vec<String> = self.hosts.iter().map(|name| escape(name.as_bytes())).collect();
        let origin = self.description.origin();
        format!("{}\n{}", names.join(" "), encoded(&self.file, origin, &self.text))
    }

    /// Parses the output of [`JobTopology::to_text`].
    pub fn parse(text: &str) -> Option<JobTopology> {
        let (hosts, file) = text.split_once('\n')?;
        let hosts: Result<_, _> =
            hosts.split(' ').map(|name| String::from_utf8(unescape(name))).collect();
        Some(JobTopology::new(TopologyFile::parse(file)?.ok()?, hosts.ok()?))
    }
}

/// A topology file that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyFile {
    name: String,
    text: String,
    /// What the file states.
    pub description: NetworkTopology,
}

impl TopologyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// An error message for the user.
    pub fn read(path: &Path) -> Result<TopologyFile, String> {
        let refused =
            |error| format!("The topology file {} cannot be read ({error}).", path.display());
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(refused)?;
        file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(refused)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("The topology file {} is not a text in UTF-8.", path.display()))?;
        match NetworkTopology::parse(&text) {
            Ok(description) => {
                Ok(TopologyFile { name: path.display().to_string(), text, description })
            }
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Name of the file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This file, which is the result of a measurement.
    pub fn measured(self) -> TopologyFile {
        TopologyFile { description: self.description.measured(), ..self }
    }

    /// Encodes the file: a line with origin and name, and its text.
    pub fn to_text(&self) -> String {
        encoded(&self.name, self.description.origin(), &self.text)
    }

    /// Parses the output of [`TopologyFile::to_text`]; `None` if it has another form.
    pub fn parse(text: &str) -> Option<Result<TopologyFile, FileError>> {
        let (head, text) = text.split_once('\n')?;
        let (origin, name) = head.split_once(' ')?;
        let name = String::from_utf8(unescape(name)).ok()?;
        let file = |description| TopologyFile { name, text: text.to_owned(), description };
        let read = NetworkTopology::parse(text).map(file);
        match origin == FigureOrigin::Measured.word() {
            true => Some(read.map(TopologyFile::measured)),
            false => Some(read),
        }
    }

    /// Whether the file names all of these hosts.
    pub fn names_all(&self, hosts: &[String]) -> bool {
        hosts.iter().all(|host| self.description.known_name(host).is_some())
    }
}

fn encoded(name: &str, origin: FigureOrigin, text: &str) -> String {
    format!("{} {}\n{text}", origin.word(), escape(name.as_bytes()))
}

/// What joins hosts with these names, as the text of a topology file states it, or else as their
/// systems report the rates; `None` if the text has a mistake.
pub fn described(text: &str, names: &[String], reported: &[u64]) -> Option<HostNetwork> {
    let description = NetworkTopology::parse(text).ok()?;
    Some(description.network(names.iter().map(|name| Some(&name[..])), reported))
}

/// What decides about the topology file of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyChoice {
    /// This file.
    File(PathBuf),
    /// The result of `towpath tune` under this name, if there is one and it names all hosts of the
    /// job.
    Stored(PathBuf),
    /// No file.
    Nothing,
}

impl TopologyChoice {
    /// The choice of an option or setting; `None` if it is empty.
    pub fn of_value(value: &OsStr) -> Option<TopologyChoice> {
        if value.is_empty() {
            None
        } else if value == NO_FILE {
            Some(TopologyChoice::Nothing)
        } else {
            Some(TopologyChoice::File(PathBuf::from(value)))
        }
    }

    /// The choice of the setting in this process's environment.
    pub fn of_setting() -> TopologyChoice {
        let value = config::setting(SETTING).map(OsString::from);
        let by_default = || stored_path().map_or(TopologyChoice::Nothing, TopologyChoice::Stored);
        value.and_then(|value| Self::of_value(&value)).unwrap_or_else(by_default)
    }
}

/// Where `towpath tune` stores its result for this user, and jobs look for it; `None` if the
/// environment names no home.
pub fn stored_path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        config::environment(name).map(PathBuf::from).filter(|directory| directory.is_absolute())
    };
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    directory.map(|directory| directory.join("towpath/topology.toml"))
}

/// A stored result of `towpath tune`; `None` if there is none.
///
/// # Errors
/// A warning for the user if it cannot be used.
pub fn stored(path: &Path) -> Result<Option<TopologyFile>, String> {
    if !path.exists() {
        return Ok(None);
    }
    match TopologyFile::read(path) {
        Ok(file) => Ok(Some(file.measured())),
        Err(sentence) => Err(format!(
            "{sentence} This result of towpath tune is not used; measure again, or remove the file."
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "[[host]]\nhosts = \"a,b\"\nleads = false\n";

    fn file(text: &str) -> TopologyFile {
        let description = NetworkTopology::parse(text).unwrap();
        TopologyFile { name: "my links".to_owned(), text: text.to_owned(), description }
    }

    fn topology(text: &str) -> JobTopology {
        JobTopology::new(file(text), ["c", "b.example"].map(str::to_owned).to_vec())
    }

    #[test]
    fn a_topology_is_read_back() {
        for one in [topology(TEXT), JobTopology::new(file(TEXT).measured(), vec!["a b".into()])] {
            assert_eq!(JobTopology::parse(&one.to_text()), Some(one));
        }
        assert_eq!(JobTopology::parse("a b"), None);
        assert_eq!(JobTopology::parse("a b\nfile x"), None);
        assert_eq!(JobTopology::parse("a b\nfile x\n[link]"), None);
    }

    #[test]
    fn hosts_of_the_file_and_of_the_job_are_compared() {
        assert_eq!(topology(TEXT).absent(), ["a"]);
        assert_eq!(topology(TEXT).unnamed(), ["c"]);
        let names = |hosts: &[&str]| {
            file(TEXT).names_all(&hosts.iter().map(|&host| host.to_owned()).collect::<Vec<_>>())
        };
        assert!(names(&["a", "b.example"]) && !names(&["a", "c"]));
    }

    #[test]
    fn each_host_of_the_job_has_a_link() {
        let text = "[default]\nrate = \"8Gbit\"\n[[link]]\nhosts = \"b\"\nrate = \"800Mbit\"\n";
        let rates = [0, 1, 2].map(|number| topology(text).link(number).rate.value);
        assert_eq!(rates, [1_000_000_000, 100_000_000, 1_000_000_000]);
    }

    #[test]
    fn files_are_refused_with_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("topology.toml");
        let read = || TopologyFile::read(&path);
        assert!(read().unwrap_err().contains("cannot be read"));
        fs::write(&path, TEXT).unwrap();
        assert_eq!(read().unwrap().text, TEXT);
        fs::write(&path, b"\xff").unwrap();
        assert!(read().unwrap_err().contains("UTF-8"));
        fs::write(&path, "\n[[hosts]]\n").unwrap();
        assert!(read().unwrap_err().contains("topology.toml: topology file line 2: "));
        assert!(TopologyFile::read(Path::new("/dev/zero")).unwrap_err().contains("bytes"));
    }

    #[test]
    fn a_text_describes_hosts_by_name() {
        let names = ["a", "b", "c.example"].map(str::to_owned);
        let text = r#"link=[{hosts="a",rate="1Gbit"},{hosts="c",rate="8Mbit",half_duplex=true}]"#;
        let rates = |reported: &[u64]| {
            let hosts = described(text, &names, reported).unwrap().hosts;
            hosts.iter().map(|host| host.link.rate).collect::<Vec<_>>()
        };
        assert_eq!(rates(&[1, 2, 3]), [125_000_000, 2, 1_000_000]);
        assert_eq!(rates(&[]), [125_000_000, towpath_topology::DEFAULT_RATE, 1_000_000]);
        assert_eq!(described("link=1", &names, &[]), None);
    }

    #[test]
    fn an_option_names_a_file_or_none() {
        let of = |text: &str| TopologyChoice::of_value(OsStr::new(text));
        assert_eq!((of(""), of("none")), (None, Some(TopologyChoice::Nothing)));
        assert_eq!(of("./none"), Some(TopologyChoice::File("./none".into())));
    }
}
