//! The command line of `mpiexec`. One table of options drives both parsing and `--help`.
//!
//! The options are those that scripts for MPICH, Intel MPI and Open MPI use. An option may be
//! written with one or two dashes, and `--name=value` is `--name value`. Options without any effect
//! here are accepted and ignored; any other option is an error with a message for the user.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use super::foreign;
use super::host_list::HostListSource;
use super::table::{OptionMeaning, OptionRow, ROWS};

/// The setting by which a program learns which memory allocation kinds were requested.
const MEMORY_KINDS: &str = "TOWPATH_MEMORY_ALLOC_KINDS";

/// What the command line requests.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// Run a job.
    Run(Box<JobRequest>),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Run as the proxy of an `mpiexec` on another host.
    Proxy,
}

/// A job as the command line describes it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JobRequest {
    pub(crate) programs: Vec<Program>,
    /// `None`: the default rule; `Some(true)`: bind to cores; `Some(false)`: do not bind.
    pub(crate) bind: Option<bool>,
    /// Assign cores from each socket in turn.
    pub(crate) spread_over_sockets: bool,
    /// 0 if not given.
    pub(crate) cores_per_rank: usize,
    pub(crate) report_bindings: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) tag_lines: bool,
    pub(crate) merge_errors: bool,
    pub(crate) output_directory: Option<PathBuf>,
    /// File for each rank's stdout, with %r for its number and %h for its host.
    pub(crate) output_pattern: Option<String>,
    /// File for each rank's stderr, likewise.
    pub(crate) errors_pattern: Option<String>,
    /// Rank 0 gets no input either.
    pub(crate) no_input: bool,
    /// Ranks per host; 0 if not given.
    pub(crate) ranks_per_host: usize,
    /// Distribute ranks round-robin over the hosts instead of filling one after the other.
    pub(crate) round_hosts: bool,
    /// An option that cannot be honoured on several hosts, as the user wrote it.
    pub(crate) for_one_host: Option<String>,
    /// Where the hosts are given.
    pub(crate) hosts: Option<HostListSource>,
    /// Command that starts a proxy on a host, as the user wrote it.
    pub(crate) launcher: Option<String>,
    /// File that describes the links between hosts.
    pub(crate) topology: Option<PathBuf>,
    /// Print notes about what is valid, but perhaps not meant.
    pub(crate) verbose: bool,
    pub(crate) everywhere: Variables,
}

impl JobRequest {
    /// Number of ranks in the job; saturates at `usize::MAX`.
    pub(crate) fn size(&self) -> usize {
        self.programs.iter().fold(0, |size, program| size.saturating_add(program.ranks))
    }

    /// Sets the number of ranks of each program for which none was given.
    pub(crate) fn fill_up(&mut self, ranks: usize) {
        self.programs
            .iter_mut()
            .filter(|program| program.ranks == 0)
            .for_each(|program| program.ranks = ranks);
    }

    /// Number of the program of each rank.
    pub(crate) fn appnums(&self) -> Vec<i32> {
        (0..)
            .zip(&self.programs)
            .flat_map(|(number, program)| std::iter::repeat_n(number, program.ranks))
            .collect()
    }

    /// The program of each rank, as the command line names it.
    pub(crate) fn command_names(&self) -> Vec<String> {
        let name = |program: &Program| program.command[0].to_string_lossy().into_owned();
        self.programs
            .iter()
            .flat_map(|program| std::iter::repeat_n(name(program), program.ranks))
            .collect()
    }
}

/// A program and the number of ranks that run it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Program {
    /// 0 if not given, until the hosts are known.
    pub(crate) ranks: usize,
    pub(crate) command: Vec<OsString>,
    pub(crate) directory: Option<PathBuf>,
    /// Directories in which to search for the program before those of PATH.
    pub(crate) path: Option<OsString>,
    pub(crate) variables: Variables,
}

/// Environment variables that the command line requests.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Variables {
    /// Variables and their values, in the order of the command line.
    pub(crate) set: Vec<(OsString, OsString)>,
    /// `Some`: of `mpiexec`'s own variables, only these are passed on.
    pub(crate) only: Option<Vec<OsString>>,
}

/// Parses a command line (without the program's own name).
///
/// # Errors
/// An error message for the user.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    parse_beside(arguments, &|name| {
        towpath_base::config::whole_environment().find(|(n, _)| n == name)
    })
}

/// Looks up a variable and its value by name.
pub(crate) type Lookup<'a> = &'a dyn Fn(&OsString) -> Option<(OsString, OsString)>;

/// Like [`parse`], but looks up `mpiexec`'s own variables with `own`.
///
/// # Errors
/// An error message for the user.
pub(crate) fn parse_beside(
    arguments: impl IntoIterator<Item = OsString>,
    own: Lookup<'_>,
) -> Result<Command, String> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut request = JobRequest::default();
    for part in arguments.split(|argument| argument == ":") {
        let mut program = Program::default();
        let mut rest = part.iter();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                program.command = rest.by_ref().cloned().collect();
            } else if !is_option(argument) {
                program.command = std::iter::once(argument).chain(rest.by_ref()).cloned().collect();
            } else {
                match option(argument, &mut rest, &mut program, &mut request, own)? {
                    Some(command) => return Ok(command),
                    None => continue,
                }
            }
        }
        if program.command.is_empty() {
            return Err(match arguments.len() {
                0 => "No program was given. Try: mpiexec -n 4 ./program (mpiexec --help lists the options).".to_owned(),
                _ => "A program is missing after the options (several programs are separated by ':').".to_owned(),
            });
        }
        request.programs.push(program);
    }
    Ok(Command::Run(Box::new(request)))
}

/// True if a word is an option, provided that no program has been named yet.
pub(super) fn is_option(word: &OsString) -> bool {
    word.as_bytes().starts_with(b"-") && word != "-" && word != "--"
}

/// The row of an option, and the value attached to it with `=`.
///
/// # Errors
/// An error message for the user if there is no such option.
pub(super) fn find(argument: &OsString) -> Result<(&'static OptionRow, Option<OsString>), String> {
    let bytes = argument.as_bytes();
    let name_and_value =
        bytes.strip_prefix(b"--").or_else(|| bytes.strip_prefix(b"-")).unwrap_or(bytes);
    let equals = name_and_value.iter().position(|&byte| byte == b'=');
    let (name, attached) = match equals {
        Some(at) => {
            (&name_and_value[..at], Some(OsString::from_vec(name_and_value[at + 1..].to_vec())))
        }
        None => (name_and_value, None),
    };
    let row = std::str::from_utf8(name)
        .ok()
        .and_then(|name| ROWS.iter().find(|row| row.names.contains(&name)));
    let unknown = || {
        format!(
            "mpiexec has no option {}; mpiexec --help lists those it has.",
            argument.to_string_lossy()
        )
    };
    Ok((row.ok_or_else(unknown)?, attached))
}

/// Appends the values of an option that are not attached to it.
///
/// # Errors
/// An error message for the user if one is missing.
pub(super) fn complete(
    row: &OptionRow,
    argument: &OsString,
    values: &mut Vec<OsString>,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<(), String> {
    let wanted = match row.meaning {
        // Open MPI's --tune has a value, Intel's -tune has none.
        OptionMeaning::Tuning => usize::from(argument.as_bytes().starts_with(b"--")),
        _ => row.values.len(),
    };
    let is_assigned = |values: &[OsString]| {
        matches!(row.meaning, OptionMeaning::Set | OptionMeaning::SetEverywhere)
            && has_equals(values)
    };
    while values.len() < wanted && !is_assigned(values) {
        let missing = || {
            format!("The option {} needs {}.", argument.to_string_lossy(), row.values.join(" and "))
        };
        values.push(rest.next().ok_or_else(missing)?);
    }
    Ok(())
}

/// True if a variable is written as `NAME=VALUE`.
fn has_equals(values: &[OsString]) -> bool {
    values.first().is_some_and(|name| name.as_bytes().contains(&b'='))
}

/// Parses one option and its values.
fn option<'a>(
    argument: &OsString,
    mut rest: impl Iterator<Item = &'a OsString>,
    program: &mut Program,
    request: &mut JobRequest,
    own: Lookup<'_>,
) -> Result<Option<Command>, String> {
    let (row, attached) = find(argument)?;
    let mut values: Vec<OsString> = attached.into_iter().collect();
    complete(row, argument, &mut values, &mut rest.by_ref().cloned())?;
    if values.len() > row.values.len() && row.meaning != OptionMeaning::Tuning {
        return Err(format!("The option -{} takes no value.", row.names[0]));
    }
    apply(row, &values, program, request, own)
}

fn apply(
    row: &OptionRow,
    values: &[OsString],
    program: &mut Program,
    request: &mut JobRequest,
    own: Lookup<'_>,
) -> Result<Option<Command>, String> {
    let number = |least| whole_number(row, &values[0], least);
    let text = || values[0].to_string_lossy().into_owned();
    match row.meaning {
        OptionMeaning::Help => return Ok(Some(Command::Help)),
        OptionMeaning::Version => return Ok(Some(Command::Version)),
        OptionMeaning::Ranks => program.ranks = number(1)?,
        OptionMeaning::Set => program.variables.set.extend(assigned(values)),
        OptionMeaning::SetEverywhere => request.everywhere.set.extend(assigned(values)),
        OptionMeaning::Export => request.everywhere.set.extend(exported(&values[0], own)),
        OptionMeaning::PassNothing => program.variables.only = Some(Vec::new()),
        OptionMeaning::PassNothingAnywhere => request.everywhere.only = Some(Vec::new()),
        OptionMeaning::PassOnly => program.variables.only = Some(names_in(&values[0])),
        OptionMeaning::PassOnlyAnywhere => request.everywhere.only = Some(names_in(&values[0])),
        OptionMeaning::Directory => program.directory = Some(PathBuf::from(&values[0])),
        OptionMeaning::Proxy => return Ok(Some(Command::Proxy)),
        OptionMeaning::HostFile => {
            request.hosts = Some(HostListSource::File(PathBuf::from(&values[0])))
        }
        OptionMeaning::HostList => request.hosts = Some(HostListSource::List(text())),
        OptionMeaning::Launcher => request.launcher = Some(text()),
        OptionMeaning::Topology => request.topology = Some(PathBuf::from(&values[0])),
        OptionMeaning::Verbose => request.verbose = true,
        OptionMeaning::Bind => request.bind = Some(binding(&text())?),
        OptionMeaning::Map => mapping(&text(), request)?,
        OptionMeaning::CoresPerRank => request.cores_per_rank = number(1)?,
        OptionMeaning::ReportBindings => request.report_bindings = true,
        OptionMeaning::Timeout => {
            request.timeout =
                Some(number(0)? as u64).filter(|&seconds| seconds > 0).map(Duration::from_secs);
        }
        OptionMeaning::Tag => request.tag_lines = true,
        OptionMeaning::MergeErrors => request.merge_errors = true,
        OptionMeaning::OutputDirectory => {
            request.output_directory = Some(PathBuf::from(&values[0]))
        }
        OptionMeaning::RanksPerHost => request.ranks_per_host = number(1)?,
        OptionMeaning::OneRankPerHost => request.ranks_per_host = 1,
        OptionMeaning::RoundHosts => request.round_hosts = true,
        OptionMeaning::FillHosts => request.round_hosts = false,
        OptionMeaning::NotThisHost => request.for_one_host = Some(format!("-{}", row.names[0])),
        OptionMeaning::Input => request.no_input |= has_no_input(row, &text())?,
        OptionMeaning::OutputPattern => request.output_pattern = Some(text()),
        OptionMeaning::ErrorsPattern => request.errors_pattern = Some(text()),
        OptionMeaning::Output => foreign::output(&text(), request)?,
        OptionMeaning::Display => foreign::display(&text(), request),
        OptionMeaning::ForwardSignals => foreign::forwarded(&text())?,
        OptionMeaning::SearchPath => program.path = Some(values[0].clone()),
        OptionMeaning::MemoryKinds => {
            program.variables.set.push((MEMORY_KINDS.into(), values[0].clone()));
        }
        OptionMeaning::Instead(hint) => {
            return Err(format!("mpiexec has no option -{}: {hint}", row.names[0]));
        }
        // `foreign::with_files` has replaced the option files. The other two have no effect here.
        OptionMeaning::OptionFile | OptionMeaning::Tuning | OptionMeaning::Ignored => {}
    }
    Ok(None)
}

/// A value that is a number of at least `least`.
fn whole_number(row: &OptionRow, value: &OsString, least: usize) -> Result<usize, String> {
    let text = value.to_string_lossy();
    text.parse().ok().filter(|&number| number >= least).ok_or_else(|| {
        format!(
            "The option -{} needs a whole number of at least {least}, not '{text}'.",
            row.names[0]
        )
    })
}

/// True if not even rank 0 reads the input.
fn has_no_input(row: &OptionRow, text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "none" => Ok(true),
        _ => Err(format!(
            "The option -{} takes 0 or none: only rank 0 can read the input.",
            row.names[0]
        )),
    }
}

/// `NAME=VALUE`, or name and value.
fn assigned(values: &[OsString]) -> Option<(OsString, OsString)> {
    match values {
        [name, value] => Some((name.clone(), value.clone())),
        _ => exported(&values[0], &|_| None),
    }
}

/// `NAME=VALUE`, or `NAME` for its current value.
fn exported(text: &OsString, own: Lookup<'_>) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => Some((
            OsString::from_vec(bytes[..at].to_vec()),
            OsString::from_vec(bytes[at + 1..].to_vec()),
        )),
        None => own(text),
    }
}

fn names_in(list: &OsString) -> Vec<OsString> {
    list.as_bytes()
        .split(|&byte| byte == b',')
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect()
}

fn binding(text: &str) -> Result<bool, String> {
    match text.split(':').next().unwrap_or_default() {
        "core" | "cores" | "hwthread" | "rr" | "user" => Ok(true),
        "none" => Ok(false),
        // Wider than a core: the kernel places ranks within a socket well by itself.
        "socket" | "numa" | "package" | "board" | "l3cache" | "l2cache" => Ok(false),
        other => Err(format!("The option --bind-to takes core or none, not '{other}'.")),
    }
}

fn mapping(text: &str, request: &mut JobRequest) -> Result<(), String> {
    let mut parts = text.split(':');
    match parts.next().unwrap_or_default() {
        "" | "hwthread" | "seq" => {}
        "core" | "slot" => request.round_hosts = false,
        "node" => request.round_hosts = true,
        "ppr" => {
            let number =
                parts.next().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
            request.ranks_per_host = number.ok_or_else(|| {
                format!("--map-by {text}: ppr: needs a whole number of at least 1.")
            })?;
            if parts.next().is_some_and(|object| object != "node") {
                request.for_one_host = Some(format!("--map-by {text}"));
            }
        }
        "socket" | "package" | "numa" | "l3cache" => request.spread_over_sockets = true,
        other => {
            return Err(format!(
                "The option --map-by takes core, slot, socket, node or ppr:N:node, not '{other}'."
            ));
        }
    }
    for part in parts {
        let cores = part.to_ascii_lowercase();
        if let Some(cores) = cores.strip_prefix("pe=") {
            request.cores_per_rank =
                cores.parse().ok().filter(|&cores| cores > 0).ok_or_else(|| {
                    format!(
                        "--map-by {text}: PE= needs a whole number of at least 1, not '{cores}'."
                    )
                })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(line: &str) -> JobRequest {
        match parse(line.split(' ').map(OsString::from)) {
            Ok(Command::Run(request)) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str) -> String {
        parse(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from)).unwrap_err()
    }

    #[test]
    fn the_two_usual_lines() {
        let job = request("-n 4 ./a -n 7 -x");
        assert_eq!(job.programs.len(), 1);
        assert_eq!((job.programs[0].ranks, job.programs[0].command.len()), (4, 4));
        assert_eq!(request("./a").programs[0].ranks, 0);
        assert_eq!(request("--np=3 ./a").programs[0].ranks, 3);
    }

    #[test]
    fn several_programs_have_their_own_options() {
        let job = request("-genv G 1 -n 1 -env A 2 ./a x : -np 2 --wdir /tmp ./b");
        let [a, b] = &job.programs[..] else { panic!() };
        assert_eq!((a.ranks, b.ranks, a.command.len()), (1, 2, 2));
        assert_eq!(a.variables.set, [("A".into(), "2".into())]);
        assert_eq!(b.directory, Some("/tmp".into()));
        assert_eq!(job.everywhere.set, [("G".into(), "1".into())]);
    }

    #[test]
    fn each_program_requests_its_own_memory_kinds() {
        let job = request("-memory-alloc-kinds mpi,cuda:device ./a : ./b");
        let wanted = (MEMORY_KINDS.into(), "mpi,cuda:device".into());
        assert_eq!(job.programs[0].variables.set, [wanted]);
        assert_eq!(job.programs[1].variables.set, []);
    }

    #[test]
    fn what_scripts_carry_is_accepted() {
        let job = request(
            "--allow-run-as-root --oversubscribe -bootstrap fork -iface lo -ppn 2 --mca btl self -x K=V=W --map-by \
             socket:PE=2 --bind-to core -l --timeout 9 ./a",
        );
        assert_eq!(job.everywhere.set, [("K".into(), "V=W".into())]);
        assert!(job.spread_over_sockets && job.tag_lines && job.bind == Some(true));
        assert_eq!((job.cores_per_rank, job.timeout), (2, Some(Duration::from_secs(9))));
    }

    #[test]
    fn the_hosts_say_how_many_ranks_there_are_where_nothing_else_does() {
        assert_eq!(request("-ppn 3 ./a").ranks_per_host, 3);
        assert_eq!(request("--map-by ppr:2:node ./a").ranks_per_host, 2);
        let mut job = request("-n 5 ./a : -npernode 2 ./b");
        job.fill_up(4);
        assert_eq!((job.programs[0].ranks, job.programs[1].ranks, job.ranks_per_host), (5, 4, 2));
    }

    #[test]
    fn options_of_other_launchers_have_their_meaning_or_say_what_has() {
        let job = request(
            "-genv A=1 -genv B 2 -env C=3 --env=D 4 --timeout 0 --tune file -path /x --forward-signals USR1 ./a",
        );
        assert_eq!(job.everywhere.set, [("A".into(), "1".into()), ("B".into(), "2".into())]);
        assert_eq!(
            job.programs[0].variables.set,
            [("C".into(), "3".into()), ("D".into(), "4".into())]
        );
        assert_eq!((job.timeout, job.programs[0].path.clone()), (None, Some("/x".into())));
        let job = request(
            "-tune -soft 2:8 -outfile-pattern o.%r -errfile-pattern e.%r --display bind ./a",
        );
        assert_eq!(
            (job.output_pattern.as_deref(), job.errors_pattern.as_deref()),
            (Some("o.%r"), Some("e.%r"))
        );
        assert!(job.report_bindings && job.programs[0].command == ["./a"]);
        for (line, part) in [
            ("-gdb ./a", "gdb ./program"),
            ("--cpu-set 0 ./a", "taskset"),
            ("-file x ./a", "-configfile"),
        ] {
            assert!(refusal(line).contains(part), "{}", refusal(line));
        }
    }

    #[test]
    fn mistakes_are_sentences() {
        for (line, part) in [
            ("", "No program"),
            ("-n 4", "missing"),
            ("-n 2 ./a : -n 2", "missing"),
            ("-n", "needs"),
            ("-n x ./a", "whole number"),
            ("-n 0 ./a", "at least 1"),
            ("-frobnicate ./a", "no option -frobnicate"),
            ("--bind-to moon ./a", "core or none"),
            ("-l=3 ./a", "takes no value"),
            ("--stdin all ./a", "only rank 0"),
            ("--map-by ppr:x:node ./a", "whole number"),
        ] {
            let sentence = refusal(line);
            assert!(
                sentence.contains(part) && sentence.ends_with('.') || sentence.ends_with(')'),
                "{line}: {sentence}"
            );
            assert!(sentence.contains(part), "{line}: {sentence}");
        }
    }

    #[test]
    fn help_and_version_win() {
        for (word, command) in
            [("-h", Command::Help), ("--help", Command::Help), ("-version", Command::Version)]
        {
            assert_eq!(parse([OsString::from(word)]), Ok(command));
        }
    }

    proptest! {
        #[test]
        fn no_command_line_panics(words in proptest::collection::vec("(-{0,2}[a-z:=]{0,8}|-n|[0-9]{1,3}|:)", 0..12)) {
            let _ = parse(words.into_iter().map(OsString::from));
        }
    }
}
