//! The messages of `mpiexec` about the end of a job, and the resulting exit codes. Each message is
//! a sentence.
#![forbid(unsafe_code)]

/// Why a rank, or the job, failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobFailure {
    /// A rank called MPI_Abort, or its library gave up, with this code and this message of its own.
    Abort { rank: usize, code: i32, sentence: Option<String> },
    /// A rank could not be started: exit code and error message.
    Start { code: i32, sentence: String },
    /// A rank was killed by a signal.
    Signal { rank: usize, pid: i32, signal: i32, core: bool, call: Option<LastCall> },
    /// A rank exited with a code other than 0.
    Exit { rank: usize, pid: i32, code: i32, call: Option<LastCall> },
    /// A rank exited with 0 between MPI_Init and MPI_Finalize.
    WithoutFinalize { rank: usize, pid: i32, call: Option<LastCall> },
    /// A rank ended without MPI_Init while others wait for it.
    WithoutInit { rank: usize },
    /// The time limit of --timeout has passed.
    Timeout { seconds: u64 },
    /// A signal requested the end of the job.
    Asked { signal: i32 },
    /// The reader of the output is gone.
    OutputGone,
    /// The output cannot be written for this reason.
    OutputFails { reason: String },
    /// The guardian process was killed.
    GuardianGone,
    /// `mpiexec` or its guardian cannot wait for events, for this reason.
    CannotWatch { reason: String },
    /// A host cannot be reached, or not any more.
    HostGone { name: String, reason: String },
}

/// The last MPI call of a rank, and whether the rank was inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastCall {
    pub(crate) name: &'static str,
    pub(crate) inside: bool,
}

impl JobFailure {
    /// Of several failures seen at once, the one with the smallest weight is the cause: a rank that
    /// is killed makes others give up, not the other way round.
    fn weight(&self) -> u32 {
        match self {
            JobFailure::Asked { .. } | JobFailure::Timeout { .. } | JobFailure::GuardianGone => 0,
            JobFailure::CannotWatch { .. } => 0,
            JobFailure::OutputGone | JobFailure::OutputFails { .. } => 0,
            JobFailure::Start { .. } | JobFailure::Abort { .. } | JobFailure::HostGone { .. } => 1,
            JobFailure::Signal { .. } => 2,
            JobFailure::Exit { .. } => 3,
            JobFailure::WithoutFinalize { .. } | JobFailure::WithoutInit { .. } => 4,
        }
    }

    /// The exit code of the job.
    pub(crate) fn exit_code(&self) -> i32 {
        match *self {
            JobFailure::Abort { code, .. } | JobFailure::Exit { code, .. } => shown_code(code),
            JobFailure::Start { code, .. } => code,
            JobFailure::Signal { signal, .. } | JobFailure::Asked { signal } => 128 + signal,
            JobFailure::WithoutFinalize { .. } | JobFailure::WithoutInit { .. } => 1,
            JobFailure::GuardianGone
            | JobFailure::HostGone { .. }
            | JobFailure::OutputFails { .. } => 1,
            JobFailure::CannotWatch { .. } => 1,
            JobFailure::Timeout { .. } => 124,
            JobFailure::OutputGone => 128 + 13,
        }
    }

    /// The message for the user.
    pub(crate) fn sentence(&self) -> String {
        match self {
            JobFailure::Abort { rank, code, sentence } => match sentence {
                Some(own) => format!("{own}\nmpiexec: rank {rank} ended the job with code {code}."),
                None => format!("mpiexec: rank {rank} called MPI_Abort with code {code}; the job is ended."),
            },
            JobFailure::Start { sentence, .. } => format!("mpiexec: {sentence}"),
            JobFailure::Signal { rank, pid, signal, core, call } => format!(
                "mpiexec: rank {rank} (process {pid}) was killed by signal {signal} ({}{}){}{}; the job is ended.",
                signal_name(*signal),
                if *core { ", core dumped" } else { "" },
                in_words(call),
                if *signal == libc::SIGSEGV { small_stack() } else { String::new() }
            ),
            JobFailure::Exit { rank, pid, code, call } => format!(
                "mpiexec: rank {rank} (process {pid}) exited with code {code}{}; the job is ended.",
                in_words(call)
            ),
            JobFailure::WithoutFinalize { rank, pid, call } => format!(
                "mpiexec: rank {rank} (process {pid}) exited without calling MPI_Finalize{}; the job is ended.",
                in_words(call)
            ),
            JobFailure::WithoutInit { rank } => format!(
                "mpiexec: rank {rank} ended without calling MPI_Init, while other ranks of the job are in MPI and would \
                 wait for it; the job is ended."
            ),
            JobFailure::Timeout { seconds } => {
                format!("mpiexec: the job did not end within {seconds} s (--timeout); it is ended.")
            }
            JobFailure::Asked { signal } => format!("mpiexec: ended by {}.", signal_name(*signal)),
            JobFailure::OutputGone => "mpiexec: the output is no longer read; the job is ended.".to_owned(),
            JobFailure::OutputFails { reason } => {
                format!("mpiexec: the output cannot be written ({reason}); the job is ended.")
            }
            JobFailure::HostGone { name, reason } => {
                format!("mpiexec: host {name} is lost ({reason}); the job is ended.")
            }
            JobFailure::CannotWatch { reason } => {
                format!("mpiexec: the ranks cannot be watched ({reason}); the job is ended.")
            }
            JobFailure::GuardianGone => {
                "mpiexec: its guardian process, which watches the ranks, was killed; the job is ended.".to_owned()
            }
        }
    }
}

/// The failure that explains the others.
pub(crate) fn cause(failures: &[JobFailure]) -> Option<&JobFailure> {
    failures.iter().min_by_key(|failure| failure.weight())
}

/// An exit code as a shell sees it: eight bits, and never 0 for a code that is not 0.
fn shown_code(code: i32) -> i32 {
    match code & 0xff {
        0 if code != 0 => 1,
        low => low,
    }
}

fn in_words(call: &Option<LastCall>) -> String {
    match call {
        Some(LastCall { name, inside: true }) => format!(" in {name}"),
        Some(LastCall { name, inside: false }) => format!("; its last MPI call was {name}"),
        None => String::new(),
    }
}

/// A possible cause of an invalid memory access, if the stack is small.
fn small_stack() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    limit.filter(|&limit| limit < 1 << 20).map_or_else(String::new, |limit| {
        format!("; its stack was limited to {} KiB (ulimit -s)", limit >> 10)
    })
}

/// Name of a signal, with its usual meaning.
pub(crate) fn signal_name(signal: i32) -> String {
    let (name, meaning) = match signal {
        libc::SIGHUP => ("SIGHUP", "terminal closed"),
        libc::SIGINT => ("SIGINT", "interrupted"),
        libc::SIGQUIT => ("SIGQUIT", "quit"),
        libc::SIGILL => ("SIGILL", "illegal instruction"),
        libc::SIGTRAP => ("SIGTRAP", "trap"),
        libc::SIGABRT => ("SIGABRT", "abort"),
        libc::SIGBUS => ("SIGBUS", "memory that cannot be provided"),
        libc::SIGFPE => ("SIGFPE", "arithmetic error"),
        libc::SIGKILL => ("SIGKILL", "killed, perhaps because memory is exhausted"),
        libc::SIGSEGV => ("SIGSEGV", "invalid memory access"),
        libc::SIGPIPE => ("SIGPIPE", "nobody reads the output"),
        libc::SIGALRM => ("SIGALRM", "alarm clock"),
        libc::SIGTERM => ("SIGTERM", "asked to end"),
        libc::SIGUSR1 => ("SIGUSR1", "user-defined signal 1"),
        libc::SIGUSR2 => ("SIGUSR2", "user-defined signal 2"),
        libc::SIGXCPU => ("SIGXCPU", "processor time used up"),
        libc::SIGXFSZ => ("SIGXFSZ", "file too large"),
        libc::SIGSYS => ("SIGSYS", "forbidden system call"),
        _ => return format!("signal {signal}"),
    };
    format!("{name}, {meaning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_killed_rank_is_the_cause_not_those_that_gave_up() {
        let gave_up = JobFailure::Exit { rank: 0, pid: 1, code: 1, call: None };
        let call = Some(LastCall { name: "MPI_Recv", inside: true });
        let killed =
            JobFailure::Signal { rank: 2, pid: 3, signal: libc::SIGSEGV, core: false, call };
        let failures = [gave_up, killed.clone()];
        assert_eq!(cause(&failures), Some(&killed));
        assert_eq!(killed.exit_code(), 139);
        let sentence = killed.sentence();
        for part in ["rank 2", "process 3", "SIGSEGV", "in MPI_Recv"] {
            assert!(sentence.contains(part), "{sentence}");
        }
    }

    #[test]
    fn a_code_that_is_not_zero_stays_so() {
        let abort = |code| JobFailure::Abort { rank: 0, code, sentence: None }.exit_code();
        assert_eq!((abort(3), abort(256), abort(0), abort(-1)), (3, 1, 0, 255));
    }
}
