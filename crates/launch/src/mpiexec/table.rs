//! The table of `mpiexec`'s options, and the help text generated from it.
#![forbid(unsafe_code)]

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionMeaning {
    Help,
    Version,
    Ranks,
    Set,
    SetEverywhere,
    Export,
    PassNothing,
    PassNothingAnywhere,
    PassOnly,
    PassOnlyAnywhere,
    Directory,
    HostFile,
    HostList,
    Launcher,
    Topology,
    Verbose,
    Proxy,
    Bind,
    Map,
    CoresPerRank,
    ReportBindings,
    Timeout,
    Tag,
    MergeErrors,
    OutputDirectory,
    RanksPerHost,
    OneRankPerHost,
    RoundHosts,
    FillHosts,
    NotThisHost,
    Input,
    OptionFile,
    OutputPattern,
    ErrorsPattern,
    Output,
    Display,
    ForwardSignals,
    SearchPath,
    MemoryKinds,
    Tuning,
    /// Not supported: a hint about what to use instead.
    Instead(&'static str),
    Ignored,
}

/// One option.
pub(crate) struct OptionRow {
    /// Its names without dashes; all mean the same.
    pub(crate) names: &'static [&'static str],
    /// Placeholders for its values.
    pub(crate) values: &'static [&'static str],
    pub(crate) meaning: OptionMeaning,
    /// One line of help; empty for options that are accepted and ignored.
    pub(crate) help: &'static str,
}

const fn row(
    names: &'static [&'static str],
    values: &'static [&'static str],
    meaning: OptionMeaning,
    help: &'static str,
) -> OptionRow {
    OptionRow { names, values, meaning, help }
}

const fn ignored(names: &'static [&'static str], values: &'static [&'static str]) -> OptionRow {
    OptionRow { names, values, meaning: OptionMeaning::Ignored, help: "" }
}

const fn instead(names: &'static [&'static str], hint: &'static str) -> OptionRow {
    OptionRow { names, values: &[], meaning: OptionMeaning::Instead(hint), help: "" }
}

/// All options.
pub(crate) const ROWS: &[OptionRow] = &[
    row(
        &["n", "np", "c"],
        &["N"],
        OptionMeaning::Ranks,
        "run N ranks of the program that follows (default on this host: 1)",
    ),
    row(
        &["ppn", "perhost", "grr", "npernode", "N"],
        &["N"],
        OptionMeaning::RanksPerHost,
        "ranks per host; without -n, every host gets this many",
    ),
    row(&["pernode"], &[], OptionMeaning::OneRankPerHost, "one rank per host"),
    row(
        &["bynode", "rr"],
        &[],
        OptionMeaning::RoundHosts,
        "distribute ranks round-robin over the hosts instead of filling one after the other",
    ),
    row(&["byslot"], &[], OptionMeaning::FillHosts, "fill one host after the other (the default)"),
    row(
        &["nolocal"],
        &[],
        OptionMeaning::NotThisHost,
        "ignored on one host, refused on several: the list says which take ranks",
    ),
    row(
        &["env"],
        &["NAME", "VALUE"],
        OptionMeaning::Set,
        "set a variable for the ranks of this program",
    ),
    row(
        &["genv"],
        &["NAME", "VALUE"],
        OptionMeaning::SetEverywhere,
        "set a variable for all ranks",
    ),
    row(
        &["x"],
        &["NAME[=VALUE]"],
        OptionMeaning::Export,
        "set a variable for all ranks; without a value: its value here",
    ),
    row(
        &["envnone"],
        &[],
        OptionMeaning::PassNothing,
        "pass none of mpiexec's own variables to this program",
    ),
    row(
        &["genvnone"],
        &[],
        OptionMeaning::PassNothingAnywhere,
        "pass none of mpiexec's own variables to any rank",
    ),
    row(
        &["envlist"],
        &["A,B"],
        OptionMeaning::PassOnly,
        "pass only these of mpiexec's variables to this program",
    ),
    row(
        &["genvlist"],
        &["A,B"],
        OptionMeaning::PassOnlyAnywhere,
        "pass only these of mpiexec's variables to all ranks",
    ),
    row(
        &["wdir", "wd"],
        &["DIRECTORY"],
        OptionMeaning::Directory,
        "start the program in this directory",
    ),
    row(
        &["f", "hostfile", "machinefile", "machine-file", "hosts-file"],
        &["FILE"],
        OptionMeaning::HostFile,
        "file with the hosts of the job, one per line: NAME, NAME:RANKS or NAME slots=RANKS",
    ),
    row(
        &["host", "hosts", "H"],
        &["A,B:RANKS"],
        OptionMeaning::HostList,
        "hosts of the job, with ranks for each if given",
    ),
    row(
        &["launcher", "bootstrap"],
        &["COMMAND"],
        OptionMeaning::Launcher,
        "how to reach a host: ssh (the default; inside Slurm srun), or a command with {host}",
    ),
    row(
        &["topology"],
        &["FILE"],
        OptionMeaning::Topology,
        "file that describes the links between the hosts (docs/topology-file.md)",
    ),
    row(
        &["bind-to", "binding"],
        &["core|none"],
        OptionMeaning::Bind,
        "bind each rank to cores of its own, or to none",
    ),
    row(
        &["map-by"],
        &["core|slot|socket|node|ppr:N:node"],
        OptionMeaning::Map,
        "socket: use their cores in turn; node: like -bynode; ppr:N:node: like -ppn N",
    ),
    row(
        &["cpus-per-rank", "cpus-per-proc"],
        &["N"],
        OptionMeaning::CoresPerRank,
        "cores that one rank is bound to",
    ),
    row(
        &["report-bindings"],
        &[],
        OptionMeaning::ReportBindings,
        "print what each rank is bound to",
    ),
    row(
        &["timeout"],
        &["SECONDS"],
        OptionMeaning::Timeout,
        "end the job after this many seconds, with exit code 124",
    ),
    row(
        &["l", "tag-output", "prepend-rank"],
        &[],
        OptionMeaning::Tag,
        "write [rank] in front of every line that a rank prints",
    ),
    row(
        &["output-dir", "outdir", "output-filename"],
        &["DIRECTORY"],
        OptionMeaning::OutputDirectory,
        "write each rank's output to DIRECTORY/rank.N/stdout and stderr instead",
    ),
    row(
        &["merge-stderr-to-stdout"],
        &[],
        OptionMeaning::MergeErrors,
        "print the stderr of the ranks on stdout, in order",
    ),
    row(
        &["outfile-pattern"],
        &["FILE"],
        OptionMeaning::OutputPattern,
        "write each rank's stdout to FILE, in which %r is its number and %h its host",
    ),
    row(&["errfile-pattern"], &["FILE"], OptionMeaning::ErrorsPattern, "the same for stderr"),
    row(
        &["output"],
        &["WAYS"],
        OptionMeaning::Output,
        "tag (like -l), merge, dir=DIRECTORY (-output-dir) or file=NAME, separated by commas",
    ),
    row(
        &["stdin", "s"],
        &["0|none"],
        OptionMeaning::Input,
        "which rank reads mpiexec's input: 0 (the default) or none",
    ),
    row(
        &["configfile", "app"],
        &["FILE"],
        OptionMeaning::OptionFile,
        "read options and programs from FILE, one program per line",
    ),
    row(
        &["path"],
        &["DIRECTORIES"],
        OptionMeaning::SearchPath,
        "look for the program in these directories before those of PATH",
    ),
    row(
        &["memory-alloc-kinds", "memory-allocation-kinds"],
        &["KINDS"],
        OptionMeaning::MemoryKinds,
        "memory that is passed as buffers: system,mpi,cuda:device (docs/device-memory.md)",
    ),
    row(
        &["display"],
        &["WHAT"],
        OptionMeaning::Display,
        "bindings: like -report-bindings; everything else is ignored",
    ),
    row(
        &["forward-signals"],
        &["NAMES"],
        OptionMeaning::ForwardSignals,
        "accepted for signals that are forwarded anyway: SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP",
    ),
    row(
        &["v", "verbose"],
        &[],
        OptionMeaning::Verbose,
        "tell which hosts only the topology file or only the job has",
    ),
    row(&["h", "help"], &[], OptionMeaning::Help, "print this"),
    row(&["version", "V", "info"], &[], OptionMeaning::Version, "print the version"),
    ignored(&["envall", "genvall", "localhost", "local"], &[]),
    ignored(&["oversubscribe", "nooversubscribe", "allow-run-as-root", "use-hwthread-cpus"], &[]),
    ignored(&["bycore", "order-nodes"], &[]),
    OptionRow { names: &["proxy"], values: &[], meaning: OptionMeaning::Proxy, help: "" },
    ignored(&["launcher-exec", "bootstrap-exec", "rmk", "iface", "demux", "tmpdir"], &["X"]),
    ignored(
        &["disable-hostname-propagation", "disable-auto-cleanup", "enable-x", "disable-x"],
        &[],
    ),
    ignored(&["q", "quiet", "display-map", "display-allocation", "print-rank-map"], &[]),
    ignored(&["print-all-exitcodes", "ordered-output", "stream-buffer"], &[]),
    OptionRow { names: &["tune"], values: &["FILE"], meaning: OptionMeaning::Tuning, help: "" },
    ignored(&["soft", "arch"], &["X"]),
    instead(
        &["gdb", "gdba", "xterm", "tv"],
        "mpiexec -n 2 xterm -e gdb ./program starts a debugger for each rank.",
    ),
    instead(
        &["cpu-set", "cpu-list"],
        "taskset -c LIST mpiexec ... restricts all ranks to these processors.",
    ),
    instead(&["file"], "-configfile FILE reads options and programs from a file."),
    ignored(&["prefix", "rank-by", "usize", "topolib", "membind", "am"], &["X"]),
    ignored(&["mca", "gmca", "pmca", "prtemca", "pmixmca"], &["NAME", "VALUE"]),
];

fn is_ignored(row: &&OptionRow) -> bool {
    matches!(row.meaning, OptionMeaning::Ignored | OptionMeaning::Tuning)
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Usage: mpiexec [options] program [arguments] [: [options] program [arguments]]...\n\n\
         Starts the ranks of an MPI job on this host or others and ends them all together. Each option may be written with one\n\
         or two dashes, and --name=value is --name value.\n\n",
    );
    for row in ROWS.iter().filter(|row| !row.help.is_empty()) {
        let names: Vec<String> = row.names.iter().map(|name| format!("-{name}")).collect();
        let left = format!("{} {}", names.join(", "), row.values.join(" "));
        if left.len() > 32 {
            text.push_str(&format!("  {}\n  {:32} {}\n", left.trim_end(), "", row.help));
        } else {
            text.push_str(&format!("  {left:32} {}\n", row.help));
        }
    }
    text.push_str("\nAccepted and ignored, because scripts carry them and this mpiexec does not need them:\n ");
    let mut column = 1;
    for name in ROWS.iter().filter(is_ignored).flat_map(|row| row.names) {
        if column + name.len() + 2 > 110 {
            text.push_str("\n ");
            column = 1;
        }
        text.push_str(&format!(" -{name}"));
        column += name.len() + 2;
    }
    text.push_str(
        "\n\nBinding: unless --bind-to none, each rank is bound to cores of its own when all ranks together need no more\n\
         cores than mpiexec itself may use (its own affinity mask and the cgroup's quota); else no rank is bound.\n\
         A rank needs --cpus-per-rank cores, else OMP_NUM_THREADS, else one. A single rank is bound only on request.\n\
         Hosts: each host in turn takes as many consecutive ranks as the list or -ppn gives it, and when all are full the\n\
         list starts over; without such numbers the ranks are divided evenly. Without -n each program has as many\n\
         ranks as -ppn or the list gives all hosts together, or one on each. Each host is reached once, by ssh, by\n\
         srun inside a Slurm allocation, or by --launcher 'ip netns exec {host}', 'kubectl exec -i {host} --' and so\n\
         on. Towpath must be installed in the same directory everywhere.\n\
         Input: rank 0 reads mpiexec's input, the others read nothing.\n\
         End: the job ends when a rank dies by a signal, exits with a code other than 0 (unless it has called\n\
         MPI_Finalize), or leaves MPI without MPI_Finalize. The exit code is that of the first rank that failed\n\
         (128 + signal), the code of MPI_Abort, or 124 after --timeout. Whatever the ranks have started and left\n\
         running is ended with the job, even if mpiexec itself is killed.\n\
         Hangs: at SIGQUIT (Ctrl-\\, or kill -QUIT) mpiexec prints in which MPI call each rank is, what it waits for and\n\
         for how long, and the job continues. It prints the same before it ends a job at Ctrl-C, SIGTERM or --timeout.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_has_two_meanings() {
        let mut names: Vec<&str> = ROWS.iter().flat_map(|row| row.names.iter().copied()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_help_names_every_option_and_fits_a_terminal() {
        let text = help();
        let shown = |row: &&OptionRow| {
            !matches!(row.meaning, OptionMeaning::Proxy | OptionMeaning::Instead(_))
        };
        for name in ROWS.iter().filter(shown).flat_map(|row| row.names) {
            assert!(text.contains(&format!("-{name}")), "{name}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}
