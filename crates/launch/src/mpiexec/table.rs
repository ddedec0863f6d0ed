//! The table of `mpiexec`'s options and the help made from it.
#![forbid(unsafe_code)]

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
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
    Folder,
    HostFile,
    HostList,
    Launcher,
    Proxy,
    Bind,
    Map,
    CoresPerRank,
    ReportBindings,
    Timeout,
    Tag,
    MergeErrors,
    OutputFolder,
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
    Tuning,
    /// Not here: what does the job instead.
    Instead(&'static str),
    Ignored,
}

/// One option.
pub(crate) struct Row {
    /// Its names without dashes; all mean the same.
    pub(crate) names: &'static [&'static str],
    /// What its values are called.
    pub(crate) values: &'static [&'static str],
    pub(crate) meaning: Meaning,
    /// One line of help; empty for options that are accepted and ignored.
    pub(crate) help: &'static str,
}

const fn row(
    names: &'static [&'static str],
    values: &'static [&'static str],
    meaning: Meaning,
    help: &'static str,
) -> Row {
    Row { names, values, meaning, help }
}

const fn ignored(names: &'static [&'static str], values: &'static [&'static str]) -> Row {
    Row { names, values, meaning: Meaning::Ignored, help: "" }
}

const fn instead(names: &'static [&'static str], hint: &'static str) -> Row {
    Row { names, values: &[], meaning: Meaning::Instead(hint), help: "" }
}

/// All options.
pub(crate) const ROWS: &[Row] = &[
    row(
        &["n", "np", "c"],
        &["N"],
        Meaning::Ranks,
        "run N ranks of the program that follows (on this host 1 when not given)",
    ),
    row(
        &["ppn", "perhost", "grr", "npernode", "N"],
        &["N"],
        Meaning::RanksPerHost,
        "ranks per host; without -n also how many there are on each",
    ),
    row(&["pernode"], &[], Meaning::OneRankPerHost, "one rank per host"),
    row(&["bynode", "rr"], &[], Meaning::RoundHosts, "ranks go round the hosts instead of filling one after the other"),
    row(&["byslot"], &[], Meaning::FillHosts, "fill one host after the other, as when nothing is said"),
    row(
        &["nolocal"],
        &[],
        Meaning::NotThisHost,
        "ignored on one host, refused on several: the list says which take ranks",
    ),
    row(&["env"], &["NAME", "VALUE"], Meaning::Set, "set a variable for the ranks of this program"),
    row(&["genv"], &["NAME", "VALUE"], Meaning::SetEverywhere, "set a variable for all ranks"),
    row(&["x"], &["NAME[=VALUE]"], Meaning::Export, "set a variable for all ranks; without value: the one it has here"),
    row(&["envnone"], &[], Meaning::PassNothing, "pass none of mpiexec's own variables to this program"),
    row(&["genvnone"], &[], Meaning::PassNothingAnywhere, "pass none of mpiexec's own variables to any rank"),
    row(&["envlist"], &["A,B"], Meaning::PassOnly, "pass only these of mpiexec's variables to this program"),
    row(&["genvlist"], &["A,B"], Meaning::PassOnlyAnywhere, "pass only these of mpiexec's variables to all ranks"),
    row(&["wdir", "wd"], &["FOLDER"], Meaning::Folder, "start the program in this folder"),
    row(
        &["f", "hostfile", "machinefile", "machine-file", "hosts-file"],
        &["FILE"],
        Meaning::HostFile,
        "file with the hosts of the job: NAME, NAME:RANKS or NAME slots=RANKS a line",
    ),
    row(&["host", "hosts", "H"], &["A,B:RANKS"], Meaning::HostList, "hosts of the job, with ranks for each if given"),
    row(
        &["launcher", "bootstrap"],
        &["COMMAND"],
        Meaning::Launcher,
        "way to a host: ssh (when not given; inside Slurm srun), or a command with {host}",
    ),
    row(&["bind-to", "binding"], &["core|none"], Meaning::Bind, "bind each rank to cores of its own, or to none"),
    row(
        &["map-by"],
        &["core|slot|socket|node|ppr:N:node"],
        Meaning::Map,
        "socket: take their cores in turn; node: as -bynode; ppr:N:node: as -ppn N",
    ),
    row(&["cpus-per-rank", "cpus-per-proc"], &["N"], Meaning::CoresPerRank, "cores that one rank is bound to"),
    row(&["report-bindings"], &[], Meaning::ReportBindings, "print what each rank is bound to"),
    row(&["timeout"], &["SECONDS"], Meaning::Timeout, "end the job after so many seconds, with exit code 124"),
    row(
        &["l", "tag-output", "prepend-rank"],
        &[],
        Meaning::Tag,
        "write [rank] in front of every line that a rank prints",
    ),
    row(
        &["output-dir", "outdir", "output-filename"],
        &["FOLDER"],
        Meaning::OutputFolder,
        "write each rank's output to FOLDER/rank.N/stdout and stderr instead",
    ),
    row(
        &["merge-stderr-to-stdout"],
        &[],
        Meaning::MergeErrors,
        "let what ranks write to stderr come out on stdout, in their order",
    ),
    row(
        &["outfile-pattern"],
        &["FILE"],
        Meaning::OutputPattern,
        "write each rank's stdout to FILE, in which %r is its number and %h its host",
    ),
    row(&["errfile-pattern"], &["FILE"], Meaning::ErrorsPattern, "the same for stderr"),
    row(
        &["output"],
        &["WAYS"],
        Meaning::Output,
        "tag (as -l), merge, dir=FOLDER (as -output-dir) or file=NAME, separated by commas",
    ),
    row(&["stdin", "s"], &["0|none"], Meaning::Input, "who reads mpiexec's input: rank 0 (when not given), or nobody"),
    row(
        &["configfile", "app"],
        &["FILE"],
        Meaning::OptionFile,
        "read options and programs from FILE, one program a line",
    ),
    row(&["path"], &["FOLDERS"], Meaning::SearchPath, "look for the program in these folders before those of PATH"),
    row(&["display"], &["WHAT"], Meaning::Display, "bindings: as -report-bindings; all else is ignored"),
    row(
        &["forward-signals"],
        &["NAMES"],
        Meaning::ForwardSignals,
        "accepted for signals that are passed on anyway: SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP",
    ),
    row(&["h", "help"], &[], Meaning::Help, "print this"),
    row(&["version", "V", "info"], &[], Meaning::Version, "print the version"),
    ignored(&["envall", "genvall", "localhost", "local"], &[]),
    ignored(&["oversubscribe", "nooversubscribe", "allow-run-as-root", "use-hwthread-cpus"], &[]),
    ignored(&["bycore", "order-nodes"], &[]),
    Row { names: &["proxy"], values: &[], meaning: Meaning::Proxy, help: "" },
    ignored(&["launcher-exec", "bootstrap-exec", "rmk", "iface", "demux", "tmpdir"], &["X"]),
    ignored(&["disable-hostname-propagation", "disable-auto-cleanup", "enable-x", "disable-x"], &[]),
    ignored(&["v", "verbose", "q", "quiet", "display-map", "display-allocation", "print-rank-map"], &[]),
    ignored(&["print-all-exitcodes", "ordered-output", "stream-buffer"], &[]),
    Row { names: &["tune"], values: &["FILE"], meaning: Meaning::Tuning, help: "" },
    ignored(&["soft", "arch"], &["X"]),
    instead(&["gdb", "gdba", "xterm", "tv"], "mpiexec -n 2 xterm -e gdb ./program starts a debugger for each rank."),
    instead(&["cpu-set", "cpu-list"], "taskset -c LIST mpiexec ... restricts all ranks to these processors."),
    instead(&["file"], "-configfile FILE reads options and programs from a file."),
    ignored(&["prefix", "rank-by", "usize", "topolib", "membind", "am"], &["X"]),
    ignored(&["mca", "gmca", "pmca", "prtemca", "pmixmca"], &["NAME", "VALUE"]),
];

fn is_ignored(row: &&Row) -> bool {
    matches!(row.meaning, Meaning::Ignored | Meaning::Tuning)
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
         A rank needs --cpus-per-rank cores, else OMP_NUM_THREADS, else one. A single rank is bound only on demand.\n\
         Hosts: each host in turn takes as many consecutive ranks as the list or -ppn says, and when all are full the\n\
         list begins again; where nothing is said the ranks are divided evenly. Without -n each program has as many\n\
         ranks as -ppn or the list says for all hosts together, or one on each. Each host is reached once, by ssh, by\n\
         srun inside a Slurm allocation, or by --launcher 'ip netns exec {host}', 'kubectl exec -i {host} --' and so\n\
         on. Towpath must be installed in the same folder everywhere.\n\
         Input: rank 0 reads mpiexec's input, the others read nothing.\n\
         End: the job ends when a rank dies by a signal, exits with a code other than 0 (unless it has called\n\
         MPI_Finalize), or leaves MPI without MPI_Finalize. The exit code is that of the first rank that failed\n\
         (128 + signal), the code of MPI_Abort, or 124 after --timeout. Whatever the ranks have started and left\n\
         running is ended with the job, also when mpiexec itself is killed.\n\
         Hangs: at SIGQUIT (Ctrl-\\, or kill -QUIT) mpiexec says in which MPI call each rank is, what it waits for and\n\
         for how long, and the job goes on; so it does before it ends a job at Ctrl-C, SIGTERM or --timeout.\n",
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
        let shown = |row: &&Row| !matches!(row.meaning, Meaning::Proxy | Meaning::Instead(_));
        for name in ROWS.iter().filter(shown).flat_map(|row| row.names) {
            assert!(text.contains(&format!("-{name}")), "{name}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}
