//! What `mpiexec` says about the end of a job, and the exit code that follows. Each message is a
//! sentence.
#![forbid(unsafe_code)]

/// Why a rank, or the job, failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A rank called MPI_Abort (or its library gave up) with this code and this sentence of its
    /// own.
    Abort { rank: usize, code: i32, sentence: Option<String> },
    /// A rank could not be started: exit code and sentence.
    Start { code: i32, sentence: String },
    /// A rank was killed by a signal; its last MPI call and whether it was inside it.
    Signal { rank: usize, pid: i32, signal: i32, core: bool, call: Option<LastCall> },
    /// A rank exited with a code other than 0.
    Exit { rank: usize, pid: i32, code: i32, call: Option<LastCall> },
    /// A rank exited with 0 between MPI_Init and MPI_Finalize.
    WithoutFinalize { rank: usize, pid: i32, call: Option<LastCall> },
    /// A rank ended without MPI_Init while others wait for it.
    WithoutInit { rank: usize },
    /// The time that --timeout gave is over.
    Timeout { seconds: u64 },
    /// `mpiexec` was asked to end by a signal.
    Asked { signal: i32 },
    /// Nobody reads the output any more.
    OutputGone,
    /// The output cannot be written: why.
    OutputFails { reason: String },
    /// The guardian process was killed.
    GuardianGone,
    /// The system does not let `mpiexec` or its guardian wait for what happens: why.
    CannotWatch { reason: String },
    /// A host cannot be reached, or not any more.
    HostGone { name: String, reason: String },
}

/// The last MPI call of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastCall {
    pub(crate) name: &'static str,
    pub(crate) inside: bool,
}

impl Failure {
    /// Of several failures seen at once, the one with the smallest number is the cause: a rank that
    /// is killed makes others give up, not the other way round.
    fn weight(&self) -> u32 {
        match self {
            Failure::Asked { .. } | Failure::Timeout { .. } | Failure::GuardianGone => 0,
            Failure::CannotWatch { .. } => 0,
            Failure::OutputGone | Failure::OutputFails { .. } => 0,
            Failure::Start { .. } | Failure::Abort { .. } | Failure::HostGone { .. } => 1,
            Failure::Signal { .. } => 2,
            Failure::Exit { .. } => 3,
            Failure::WithoutFinalize { .. } | Failure::WithoutInit { .. } => 4,
        }
    }

    /// The exit code of the job.
    pub(crate) fn exit_code(&self) -> i32 {
        match *self {
            Failure::Abort { code, .. } | Failure::Exit { code, .. } => shown_code(code),
            Failure::Start { code, .. } => code,
            Failure::Signal { signal, .. } | Failure::Asked { signal } => 128 + signal,
            Failure::WithoutFinalize { .. } | Failure::WithoutInit { .. } => 1,
            Failure::GuardianGone | Failure::HostGone { .. } | Failure::OutputFails { .. } => 1,
            Failure::CannotWatch { .. } => 1,
            Failure::Timeout { .. } => 124,
            Failure::OutputGone => 128 + 13,
        }
    }

    /// The sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Failure::Abort { rank, code, sentence } => match sentence {
                Some(own) => format!("{own}\nmpiexec: rank {rank} ended the job with code {code}."),
                None => format!("mpiexec: rank {rank} called MPI_Abort with code {code}; the job is ended."),
            },
            Failure::Start { sentence, .. } => format!("mpiexec: {sentence}"),
            Failure::Signal { rank, pid, signal, core, call } => format!(
                "mpiexec: rank {rank} (process {pid}) was killed by signal {signal} ({}{}){}{}; the job is ended.",
                signal_name(*signal),
                if *core { ", core dumped" } else { "" },
                in_words(call),
                if *signal == libc::SIGSEGV { small_stack() } else { String::new() }
            ),
            Failure::Exit { rank, pid, code, call } => format!(
                "mpiexec: rank {rank} (process {pid}) exited with code {code}{}; the job is ended.",
                in_words(call)
            ),
            Failure::WithoutFinalize { rank, pid, call } => format!(
                "mpiexec: rank {rank} (process {pid}) exited without calling MPI_Finalize{}; the job is ended.",
                in_words(call)
            ),
            Failure::WithoutInit { rank } => format!(
                "mpiexec: rank {rank} ended without calling MPI_Init, while other ranks of the job are in MPI and would \
                 wait for it; the job is ended."
            ),
            Failure::Timeout { seconds } => {
                format!("mpiexec: the job did not end within {seconds} s (--timeout); it is ended.")
            }
            Failure::Asked { signal } => format!("mpiexec: ended by {}.", signal_name(*signal)),
            Failure::OutputGone => "mpiexec: nobody reads the output any more; the job is ended.".to_owned(),
            Failure::OutputFails { reason } => {
                format!("mpiexec: the output cannot be written ({reason}); the job is ended.")
            }
            Failure::HostGone { name, reason } => {
                format!("mpiexec: host {name} is lost ({reason}); the job is ended.")
            }
            Failure::CannotWatch { reason } => {
                format!("mpiexec: the ranks cannot be watched ({reason}); the job is ended.")
            }
            Failure::GuardianGone => {
                "mpiexec: its guardian process, which watches the ranks, was killed; the job is ended.".to_owned()
            }
        }
    }
}

/// The failure that explains the others.
pub(crate) fn cause(failures: &[Failure]) -> Option<&Failure> {
    failures.iter().min_by_key(|failure| failure.weight())
}

/// A code as a shell sees it: eight bits, and never 0 for a code that is not 0.
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

/// What an invalid access often comes from, where the stack is small.
fn small_stack() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    limit
        .filter(|&limit| limit < 1 << 20)
        .map_or_else(String::new, |limit| format!("; its stack was limited to {} KiB (ulimit -s)", limit >> 10))
}

/// Name of a signal, with what it usually means.
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
        libc::SIGKILL => ("SIGKILL", "killed, perhaps for want of memory"),
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
        let gave_up = Failure::Exit { rank: 0, pid: 1, code: 1, call: None };
        let call = Some(LastCall { name: "MPI_Recv", inside: true });
        let killed = Failure::Signal { rank: 2, pid: 3, signal: libc::SIGSEGV, core: false, call };
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
        let abort = |code| Failure::Abort { rank: 0, code, sentence: None }.exit_code();
        assert_eq!((abort(3), abort(256), abort(0), abort(-1)), (3, 1, 0, 255));
    }
}
