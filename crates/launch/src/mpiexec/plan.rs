//! Turns a request into everything needed to fork the ranks: finds programs, builds environments,
//! opens pipes and sockets. No process has been started when this fails, so a mistake costs one
//! error message and leaves nothing behind.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use towpath_base::ids::JobId;

use super::options::{JobRequest, Program};
use super::start::{Common, Numbers, RankStart};
use super::{binding, environment, input, signals};
use crate::hosts::write_mapping;
use crate::segment;
use crate::ticket::RankTicket;

/// Why a job cannot start: exit code and error message.
pub(crate) struct StartRefusal {
    pub(crate) code: i32,
    pub(crate) sentence: String,
}

impl From<String> for StartRefusal {
    fn from(sentence: String) -> StartRefusal {
        StartRefusal { code: 1, sentence }
    }
}

/// `mpiexec`'s ends of the connections to one rank.
pub(crate) struct RankPipes {
    /// `None` if the stream goes to a file.
    pub(crate) output: Option<OwnedFd>,
    pub(crate) errors: Option<OwnedFd>,
    pub(crate) pmi: OwnedFd,
}

/// Identifies the job and this host's ranks in it.
pub(crate) struct HostPart {
    pub(crate) job: JobId,
    /// Host of each rank, numbered by appearance.
    pub(crate) node_of_rank: Vec<u32>,
    /// Number of this host.
    pub(crate) own: u32,
}

impl HostPart {
    /// A new job, all on this host.
    pub(crate) fn whole(request: &JobRequest) -> HostPart {
        HostPart { job: segment::new_job(), node_of_rank: vec![0; request.size()], own: 0 }
    }

    /// The ranks of this host, ascending.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        (0..)
            .zip(&self.node_of_rank)
            .filter(|&(_, &node)| node == self.own)
            .map(|(rank, _)| rank)
            .collect()
    }
}

/// The environment of the job: variables, and whether rank 0 may inherit the standard input.
pub(crate) struct Surroundings {
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) inherit_input: bool,
}

/// The ranks of one host, ready to be forked.
pub(crate) struct LaunchPlan {
    ranks: Vec<u32>,
    mapping: String,
    part: HostPart,
    pub(crate) starts: Vec<RankStart>,
    pub(crate) common: Common,
    pub(crate) ends: Vec<RankPipes>,
    pub(crate) reports: OwnedFd,
    /// Write end of rank 0's input, if `mpiexec` forwards the input.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) segment: OwnedFd,
}

impl LaunchPlan {
    /// Prepares the ranks of this host.
    ///
    /// # Errors
    /// Exit code and error message.
    pub(crate) fn make(
        request: &JobRequest,
        part: HostPart,
        around: &Surroundings,
        mask: signals::Set,
    ) -> Result<LaunchPlan, StartRefusal> {
        let ranks = part.ranks();
        let count = ranks.len();
        let files = allow_files(count)?;
        let bound = binding::assign(
            count,
            request.cores_per_rank,
            request.spread_over_sockets,
            request.bind,
        )
        .unwrap_or_else(|sentence| {
            eprintln!("mpiexec: {sentence}");
            vec![Vec::new(); count]
        });
        let segment = segment::make(segment::nonce_of_host(part.job, part.own), count)
            .map_err(|error| error.to_string())?;
        let (reports, report) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| no_descriptor(count, error))?;
        let numbers = Numbers::within(files.maximum.unwrap_or(u64::MAX));
        let apart = |fd: &OwnedFd| numbers.apart(fd).map_err(|error| no_descriptor(count, error));
        let common =
            Common { segment: apart(&segment)?, report: apart(&report)?, numbers, mask, files };
        let mut plan = LaunchPlan {
            mapping: write_mapping(&part.node_of_rank),
            part,
            ranks,
            starts: Vec::with_capacity(count),
            common,
            ends: Vec::with_capacity(count),
            reports,
            input: None,
            segment,
        };
        let mut next = 0;
        for (appnum, program) in request.programs.iter().enumerate() {
            let from = next as u32;
            next += program.ranks;
            let own: Vec<u32> = plan
                .ranks
                .iter()
                .copied()
                .filter(|&rank| rank >= from && (rank as usize) < next)
                .collect();
            if own.is_empty() {
                continue;
            }
            let template = ProgramTemplate::of(request, program, appnum as i32, around)?;
            for rank in own {
                let cores = bound[plan.starts.len()].clone();
                if request.report_bindings {
                    eprintln!("{}", binding::report(rank as usize, &cores));
                }
                plan.add_rank(rank as usize, &template, request, cores, around)?;
            }
        }
        Ok(plan)
    }

    /// Descriptors that belong to `mpiexec` alone.
    pub(crate) fn own_descriptors(&self) -> Vec<RawFd> {
        let ends = self.ends.iter().flat_map(|end| {
            [
                end.output.as_ref().map(AsRawFd::as_raw_fd),
                end.errors.as_ref().map(AsRawFd::as_raw_fd),
                Some(end.pmi.as_raw_fd()),
            ]
        });
        ends.flatten()
            .chain([self.reports.as_raw_fd(), self.segment.as_raw_fd()])
            .chain(self.input.as_ref().map(AsRawFd::as_raw_fd))
            .collect()
    }

    fn add_rank(
        &mut self,
        rank: usize,
        template: &ProgramTemplate,
        request: &JobRequest,
        cores: Vec<usize>,
        around: &Surroundings,
    ) -> Result<(), StartRefusal> {
        let size = self.part.node_of_rank.len();
        let place = environment::LocalPlace { rank: self.starts.len(), size: self.ranks.len() };
        let full = |error| no_descriptor(place.size, error);
        let (pmi, rank_pmi) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(full)?;
        rustix::io::ioctl_fionbio(&pmi, true).map_err(full)?;
        let ticket = RankTicket {
            job: self.part.job,
            rank: rank as u32,
            size: size as u32,
            appnum: template.appnum,
            segment: self.common.numbers.segment,
            pmi: self.common.numbers.pmi,
            inode: rustix::fs::fstat(&rank_pmi).map_err(full)?.st_ino,
            mapping: self.mapping.clone(),
        };
        let streams = match &request.output_directory {
            Some(directory) => streams_to_files(directory, rank, size, request.merge_errors)?,
            None => streams_to_pipes(request.merge_errors).map_err(full)?,
        };
        let streams = streams.by_patterns(request, rank)?;
        let input = match rank == 0 && !request.no_input {
            true if around.inherit_input => input::for_first_rank(&mut self.input),
            true => input::by_pipe(&mut self.input),
            false => input::nothing(),
        };
        self.starts.push(RankStart {
            program: template.file.clone(),
            arguments: template.arguments.clone(),
            environment: environment::for_exec(&template.variables, &ticket, place),
            directory: template.directory.clone(),
            cores,
            input: input.map_err(|error| {
                StartRefusal::from(format!("The ranks' input cannot be opened ({error})."))
            })?,
            output: streams.output,
            errors: streams.errors,
            pmi: rank_pmi,
        });
        self.ends.push(RankPipes { output: streams.own_output, errors: streams.own_errors, pmi });
        Ok(())
    }
}

/// What all ranks of a program have in common.
struct ProgramTemplate {
    file: CString,
    arguments: Vec<CString>,
    variables: environment::Variables,
    directory: Option<CString>,
    appnum: i32,
}

impl ProgramTemplate {
    fn of(
        request: &JobRequest,
        program: &Program,
        appnum: i32,
        around: &Surroundings,
    ) -> Result<ProgramTemplate, StartRefusal> {
        let own = &around.environment;
        let mut variables = environment::of_program(own.iter().cloned(), request, program);
        environment::preload_malloc(&mut variables, &own_libraries().join("libtowpath-malloc.so"))?;
        environment::prefer_strict(&mut variables, &own_libraries().join("strict"))?;
        let own_path = || own.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let path = variables.get(OsStr::new("PATH")).cloned().or_else(own_path);
        if let Some(directory) = program.directory.as_ref().filter(|directory| !directory.is_dir())
        {
            return Err(format!(
                "The directory {} (-wdir) does not exist or is not a directory.",
                directory.display()
            )
            .into());
        }
        let path = match (&program.path, path) {
            (Some(first), Some(path)) => Some([first.as_os_str(), &path].join(OsStr::new(":"))),
            (first, path) => first.clone().or(path),
        };
        let file =
            find_program(&program.command[0], path.as_deref(), program.directory.as_deref())?;
        if let Some(library) = library_of_open_mpi(&file) {
            eprintln!(
                "mpiexec: {} is linked with {library}, Open MPI's library, which does not know this mpiexec: each rank runs \
                 alone, as rank 0 of 1. Compile the program with Towpath's mpicc, or start it with Open MPI's mpiexec.",
                program.command[0].to_string_lossy()
            );
        }
        Ok(ProgramTemplate {
            file: environment::c_string(file.as_os_str())?,
            arguments: program
                .command
                .iter()
                .map(|text| environment::c_string(text))
                .collect::<Result<_, _>>()?,
            directory: program
                .directory
                .as_ref()
                .map(|directory| environment::c_string(directory.as_os_str()))
                .transpose()?,
            variables,
            appnum,
        })
    }
}

/// Number of bytes at the beginning of a program that are searched for the names of its libraries.
const LOOKED_THROUGH: u64 = 1 << 20;

/// The library of Open MPI that a program is linked with, if any.
fn library_of_open_mpi(program: &Path) -> Option<&'static str> {
    let mut bytes = Vec::new();
    File::open(program).ok()?.take(LOOKED_THROUGH).read_to_end(&mut bytes).ok()?;
    let names = |library: &&str| {
        let name = [b"\0", library.as_bytes(), b"\0"].concat();
        bytes.windows(name.len()).any(|part| part == name)
    };
    bytes
        .starts_with(b"\x7fELF")
        .then(|| ["libmpi.so.40", "libmpi.so.20"].into_iter().find(names))
        .flatten()
}

/// The directory of the libraries of this installation.
fn own_libraries() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    prefix.join("lib")
}

/// Finds the program as a shell would and, like other launchers, as a last resort in the directory
/// in which it is to run.
fn find_program(
    name: &OsStr,
    path: Option<&OsStr>,
    directory: Option<&Path>,
) -> Result<PathBuf, StartRefusal> {
    // Without a directory the name stays as the user wrote it, in error messages too.
    let from_here = directory.map_or_else(|| PathBuf::from(name), |directory| directory.join(name));
    let here = directory.unwrap_or(Path::new(""));
    let candidates: Vec<PathBuf> = if name.as_bytes().contains(&b'/') {
        vec![from_here.clone()]
    } else {
        let directories =
            path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
        directories
            .iter()
            .map(|directory| here.join(directory).join(name))
            .chain([from_here.clone()])
            .collect()
    };
    let is_file = |candidate: &&PathBuf| fs::metadata(candidate).is_ok_and(|data| data.is_file());
    let may_run = |candidate: &&PathBuf| {
        fs::metadata(candidate).is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
    };
    if let Some(found) = candidates.iter().filter(is_file).find(may_run) {
        // Absolute, because the rank changes to its directory before it executes the file.
        return Ok(std::path::absolute(found).unwrap_or_else(|_| found.clone()));
    }
    let name = name.to_string_lossy();
    Err(match candidates.iter().find(is_file) {
        Some(found) => StartRefusal {
            code: 126,
            sentence: format!(
                "The file {} is not executable; use chmod +x to make it executable.",
                found.display()
            ),
        },
        None if from_here.is_dir() => StartRefusal {
            code: 126,
            sentence: format!("{} is a directory, not a program.", from_here.display()),
        },
        None if name.contains('/') => {
            StartRefusal { code: 127, sentence: format!("The program {name} does not exist.") }
        }
        None => StartRefusal {
            code: 127,
            sentence: format!(
                "The program {name} does not exist: it is neither in PATH nor in this directory."
            ),
        },
    })
}

struct RankStreams {
    output: OwnedFd,
    errors: OwnedFd,
    own_output: Option<OwnedFd>,
    own_errors: Option<OwnedFd>,
}

impl RankStreams {
    /// Redirects the streams for which the request has a file pattern to files.
    fn by_patterns(
        mut self,
        request: &JobRequest,
        rank: usize,
    ) -> Result<RankStreams, StartRefusal> {
        if let Some(pattern) = &request.output_pattern {
            self.output = file_of_pattern(pattern, rank)?;
            self.own_output = None;
            if request.merge_errors && request.errors_pattern.is_none() {
                self.errors = self
                    .output
                    .try_clone()
                    .map_err(|error| not_written(rank, Path::new(pattern), &error))?;
            }
        }
        if let Some(pattern) = &request.errors_pattern {
            self.errors = file_of_pattern(pattern, rank)?;
            self.own_errors = None;
        }
        Ok(self)
    }
}

/// Creates a file whose name results from replacing %r with the rank's number and %h with the host.
/// Both streams of a rank may use the same file.
fn file_of_pattern(pattern: &str, rank: usize) -> Result<OwnedFd, StartRefusal> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let path = PathBuf::from(pattern.replace("%r", &rank.to_string()).replace("%h", &host));
    new_file(&path).map_err(|error| not_written(rank, &path, &error))
}

/// Creates an empty file and opens it for appending, so that streams that share it do not overwrite
/// each other.
fn new_file(path: &Path) -> std::io::Result<OwnedFd> {
    File::create(path)?;
    OpenOptions::new().append(true).open(path).map(OwnedFd::from)
}

fn not_written(rank: usize, path: &Path, error: &std::io::Error) -> StartRefusal {
    StartRefusal::from(format!(
        "The output of rank {rank} cannot be written to {} ({error}).",
        path.display()
    ))
}

fn streams_to_pipes(merge: bool) -> rustix::io::Result<RankStreams> {
    let reading = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok((reader, writer))
    };
    let (own_output, output) = reading()?;
    if merge {
        let errors = fcntl_dupfd_cloexec(&output, 3)?;
        return Ok(RankStreams { output, errors, own_output: Some(own_output), own_errors: None });
    }
    let (own_errors, errors) = reading()?;
    Ok(RankStreams { output, errors, own_output: Some(own_output), own_errors: Some(own_errors) })
}

fn streams_to_files(
    directory: &Path,
    rank: usize,
    size: usize,
    merge: bool,
) -> Result<RankStreams, StartRefusal> {
    let digits = (size - 1).to_string().len();
    let own = directory.join(format!("rank.{rank:0digits$}"));
    let failed = |path: &Path, error: std::io::Error| not_written(rank, path, &error);
    fs::create_dir_all(&own).map_err(|error| failed(&own, error))?;
    let open = |name: &str| -> Result<OwnedFd, StartRefusal> {
        let path = own.join(name);
        new_file(&path).map_err(|error| failed(&path, error))
    };
    let output = open("stdout")?;
    let errors = if merge {
        output.try_clone().map_err(|error| failed(&own, error))?
    } else {
        open("stderr")?
    };
    Ok(RankStreams { output, errors, own_output: None, own_errors: None })
}

/// Number of descriptors that `mpiexec` needs in addition to those of its ranks.
const OWN_FILES: usize = 24;
/// Limit of open files at which a rank's descriptors get their usual numbers.
const FILES_OF_A_RANK: u64 = 67;

/// Raises the limit of open files as far as the job needs, and returns the previous limit.
fn allow_files(size: usize) -> Result<Rlimit, StartRefusal> {
    let before = getrlimit(Resource::Nofile);
    let needed = (7 * size + OWN_FILES) as u64;
    let useful = needed.max(FILES_OF_A_RANK);
    let maximum = before.maximum.unwrap_or(u64::MAX);
    if before.current.is_some_and(|current| current < useful) {
        // If the kernel refuses, opening the descriptors fails and is reported.
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: Some(useful.min(maximum)), ..before });
        if needed > maximum {
            return Err(StartRefusal::from(format!(
                "{size} ranks need {needed} open files in mpiexec, but the system's limit is {maximum} (ulimit -Hn); \
                 raise it or start fewer ranks."
            )));
        }
    }
    Ok(before)
}

fn no_descriptor(size: usize, error: rustix::io::Errno) -> StartRefusal {
    StartRefusal::from(format!(
        "The connections to {size} ranks cannot be opened ({}).",
        std::io::Error::from(error)
    ))
}
