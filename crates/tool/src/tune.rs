//! `towpath tune`: measures the links between hosts once and stores the result as the topology file
//! of this user's later jobs. It starts one rank per host by `mpiexec`, each of which is this
//! program again ([`measure`]), and reads a line about each pair of hosts.

mod links;
mod measure;
mod mpi;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, access};
use towpath_topology::NetworkTopology;
use towpath_topology::names::agree;
use towpath_topology::tournament::rounds;

use super::{AS_TOOL, info};
use towpath_launch::mpiexec::names_of_hosts;
use towpath_launch::topology::stored_path;

pub(super) const HELP: &str = "\
Usage: towpath tune [--hosts LIST | --hostfile FILE] [--launcher COMMAND] [--output FILE]

Measures the links between hosts: with each pair of them the time of a short message, and the rate
in one direction and in both. The result is a topology file, which later jobs on these hosts use by
themselves. Without hosts, those of Slurm's allocation are measured. Nothing else should run there
meanwhile. A pair takes about a second; pairs of different hosts are measured at the same time.

  --hosts LIST, --hostfile FILE, --launcher COMMAND
               the hosts, and how to reach them, as for mpiexec
  --output FILE
               where the result is stored (when not given: towpath/topology.toml in
               $XDG_CONFIG_HOME or ~/.config, where jobs look for it; mpiexec --topology FILE uses
               another one)
  -h, --help   print this
";

/// The option by which `mpiexec` starts this program as a rank that measures.
const MEASURE: &str = "--measure";

/// The library with which ranks measure, which is installed together with this program.
const LIBRARY: &str = "lib/libmpi_abi.so.1";

/// Maximum number of rounds, and so of partners of a host.
const MOST_ROUNDS: usize = 32;

/// Width of the progress bar in columns.
const BAR: usize = 30;

/// What was measured between two hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PairFigures {
    /// Numbers of the hosts.
    one: usize,
    other: usize,
    /// Time of a short message in nanoseconds.
    latency: u64,
    /// Bytes per second in one direction, the slower one.
    rate: u64,
    /// Bytes per second in both directions together.
    both: u64,
}

impl PairFigures {
    /// Encodes the figures as a line for the process that started the measurement.
    fn to_line(self) -> String {
        let PairFigures { one, other, latency, rate, both } = self;
        format!("pair {one} {other} {latency} {rate} {both}")
    }

    fn parse(line: &str) -> Option<PairFigures> {
        let numbers: Result<Vec<u64>, _> =
            line.strip_prefix("pair ")?.split(' ').map(str::parse).collect();
        let [one, other, latency, rate, both]: [u64; 5] = numbers.ok()?.try_into().ok()?;
        let rate = rate.max(1);
        Some(PairFigures { one: one as usize, other: other as usize, latency, rate, both })
    }
}

/// The options of the command line.
#[derive(Debug, Default, PartialEq)]
struct TuneRequest {
    /// Options for `mpiexec`.
    passed: Vec<String>,
    output: Option<PathBuf>,
}

impl TuneRequest {
    fn read(arguments: &[String]) -> Result<TuneRequest, String> {
        let mut request = TuneRequest::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, attached) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let known = ["--hosts", "--hostfile", "--launcher", "--output"];
            if !known.contains(&name) {
                return Err(format!(
                    "towpath tune has no option {argument}; it has {} and --help.",
                    known.join(", ")
                ));
            }
            let value = attached.or_else(|| rest.next().cloned()).filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| format!("The option {name} needs a value."))?;
            match name {
                "--output" => request.output = Some(PathBuf::from(value)),
                _ => request.passed.extend([name.to_owned(), value]),
            }
        }
        Ok(request)
    }

    /// The arguments with which `mpiexec` starts `program` once on each host.
    fn for_mpiexec(&self, program: &Path) -> Vec<OsString> {
        let one_each = ["-ppn", "1", "--topology", "none"].map(OsString::from);
        let measure = [program.into(), AS_TOOL.into(), "tune".into(), MEASURE.into()];
        let passed = self.passed.iter().map(OsString::from);
        one_each.into_iter().chain(passed).chain(measure).collect()
    }
}

/// Measures, stores the result and reports it.
pub(super) fn answer(arguments: &[String]) -> Result<String, String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("towpath does not know its own path ({error})."))?;
    let directory = program.parent().unwrap_or(Path::new("."));
    if arguments == [MEASURE] {
        let prefix = directory.parent().unwrap_or(Path::new("."));
        return measure::run(&prefix.join(LIBRARY)).map(|()| String::new());
    }
    let request = TuneRequest::read(arguments)?;
    let to_start = request.for_mpiexec(&program);
    let names = names_of_hosts(&to_start)?;
    if names.len() < 2 {
        return Ok(format!(
            "{} is the only host, so there is no link to measure, and nothing is stored. \
             --hosts a,b,c names hosts; what is known of this one:\n\n{}",
            names.first().map_or("This one", String::as_str),
            info::answer(&["--levels".to_owned()])?
        ));
    }
    if let Some((one, other)) = twins(&names) {
        return Err(format!(
            "The hosts {one} and {other} are one machine; name it once, because a path inside it \
             tells nothing of its link."
        ));
    }
    let output = request.output.clone().or_else(stored_path).ok_or_else(|| {
        "Neither XDG_CONFIG_HOME nor HOME names a directory; name a file by --output.".to_owned()
    })?;
    // A symbolic link stays one.
    let output = output.canonicalize().unwrap_or(output);
    let refused = |error: std::io::Error| {
        format!("The result cannot be stored in {} ({error}).", output.display())
    };
    prepare(&output).map_err(refused)?;
    let pairs = measured(&directory.join("mpiexec"), &to_start, names.len())?;
    let words = ["towpath", "tune"].into_iter().chain(arguments.iter().map(String::as_str));
    let words: Vec<String> = words.map(|word| word.escape_debug().to_string()).collect();
    let comment = format!("Measured by {} on {}.", words.join(" "), today());
    let processors = links::MeasuredProcessors::of_pairs(&pairs, names.len());
    let measured = links::of_pairs(&pairs, &processors, names.len());
    let text = links::to_toml(&comment, &names, &processors, &measured);
    if let Err(error) = NetworkTopology::parse(&text) {
        return Err(format!("The result cannot be stored as a topology file: {error}"));
    }
    store(&output, &text).map_err(|error| format!("{} It is:\n\n{text}", refused(error)))?;
    let counted = format!("{} hosts, {} pairs", names.len(), pairs.len());
    Ok(format!("{counted}, stored in {}:\n\n{text}", output.display()))
}

/// Runs the measurement, with a progress bar if someone watches.
fn measured(
    mpiexec: &Path,
    arguments: &[OsString],
    hosts: usize,
) -> Result<Vec<PairFigures>, String> {
    let expected = rounds(hosts, MOST_ROUNDS).iter().map(Vec::len).sum();
    let not_started = |error| format!("{} cannot be started ({error}).", mpiexec.display());
    let mut job = Command::new(mpiexec)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(not_started)?;
    let bar = ProgressBar::new(expected);
    let mut pairs = Vec::new();
    for line in BufReader::new(job.stdout.take().expect("a pipe")).lines().map_while(Result::ok) {
        let pair = PairFigures::parse(&line);
        let is_expected = |pair: &PairFigures| pair.one < hosts && pair.other < hosts;
        pairs.extend(pair.filter(is_expected));
        bar.draw(pairs.len());
    }
    let status = job.wait().map_err(not_started)?;
    drop(bar);
    if !status.success() || pairs.len() != expected {
        return Err(format!(
            "The measurement failed ({status}) after {} of {expected} pairs of hosts; nothing is \
             stored.",
            pairs.len()
        ));
    }
    Ok(pairs)
}

/// A line on a terminal that shows how far the measurement is. It is erased at the end.
struct ProgressBar {
    total: usize,
    is_shown: bool,
}

impl ProgressBar {
    fn new(total: usize) -> ProgressBar {
        let bar = ProgressBar { total, is_shown: std::io::stderr().is_terminal() };
        bar.draw(0);
        bar
    }

    fn draw(&self, done: usize) {
        if self.is_shown {
            eprint!("\r{}", bar(done, self.total));
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }
}

fn bar(done: usize, total: usize) -> String {
    let full = BAR * done.min(total) / total.max(1);
    format!("[{:-<BAR$}] {done} of {total} pairs of hosts", "#".repeat(full))
}

/// Two of these names that can belong to one host.
fn twins(names: &[String]) -> Option<(&str, &str)> {
    let pairs = (0..names.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    let mut pairs = pairs.map(|(one, other)| (names[one].as_str(), names[other].as_str()));
    pairs.find(|(one, other)| agree(one, other))
}

/// Creates the directory of a file that is to be written, and checks that it may be.
fn prepare(path: &Path) -> std::io::Result<()> {
    if path.exists() && !path.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let parent = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    Ok(access(directory, Access::WRITE_OK)?)
}

/// Writes a file whole or not at all.
fn store(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(name);
    let written = std::fs::File::create(&fresh)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// The date in UTC, such as 2026-11-27.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The date so many days after 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> String {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut rest) = (1970, days);
    while rest >= 365 + u64::from(is_leap(year)) {
        rest -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<TuneRequest, String> {
        TuneRequest::read(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_machine_is_measured_under_one_name() {
        let twins_of = |words: &str| {
            let names: Vec<String> = words.split(' ').map(str::to_owned).collect();
            twins(&names).map(|(one, other)| format!("{one} {other}"))
        };
        assert_eq!(twins_of("a b a.example c"), Some("a a.example".to_owned()));
        assert_eq!(twins_of("a.one a.two 10.0.0.1 10.0.0.2"), None);
    }

    #[test]
    fn options_are_those_of_mpiexec_and_a_file() {
        let request = read("--hosts a,b --output=x").unwrap();
        assert_eq!(request.output, Some(PathBuf::from("x")));
        let words = request.for_mpiexec(Path::new("/bin/towpath"));
        let wanted = "-ppn 1 --topology none --hosts a,b /bin/towpath --towpath tune --measure";
        assert_eq!(words, wanted.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(names_of_hosts(&words), Ok(vec!["a".to_owned(), "b".to_owned()]));
        for (words, part) in [
            ("--host a", "no option --host; it has --hosts"),
            ("--output", "needs a value"),
            ("--hosts=", "needs a value"),
        ] {
            let said = read(words).unwrap_err();
            assert!(said.contains(part) && said.ends_with('.'), "{said}");
        }
    }

    #[test]
    fn figures_are_read_back() {
        let pair = PairFigures { one: 1, other: 3, latency: 7, rate: 8, both: 9 };
        assert_eq!(PairFigures::parse(&pair.to_line()), Some(pair));
        for line in ["", "pair 1 2 3 4", "pair 1 2 3 4 x", "pair 1 2 3 4 5 6", "1 2 3 4 5"] {
            assert_eq!(PairFigures::parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_bar_grows() {
        assert_eq!(bar(0, 6), format!("[{}] 0 of 6 pairs of hosts", "-".repeat(BAR)));
        assert_eq!(bar(6, 6), format!("[{}] 6 of 6 pairs of hosts", "#".repeat(BAR)));
        assert!(bar(3, 6).starts_with("[###############-"));
    }

    #[test]
    fn dates_follow_the_calendar() {
        for (days, text) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_783, "2026-11-26"),
            (20_818, "2026-12-31"),
        ] {
            assert_eq!(date(days), text);
        }
    }

    #[test]
    fn a_file_is_stored_with_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/topology.toml");
        prepare(&path).unwrap();
        for text in ["one", "two"] {
            store(&path, text).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(prepare(Path::new("/proc/x/y")).is_err());
        assert!(prepare(Path::new("y")).is_ok());
    }
}
