//! Command line, output, input and exit codes of `mpiexec`, with programs that do not use MPI.

mod common;

use common::{finish, job_facts, mpiexec, run, shell};
use std::process::Stdio;

#[test]
fn ranks_know_their_place() {
    let script = "echo $PMI_RANK/$PMI_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS \
                  $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_SIZE $MV2_COMM_WORLD_LOCAL_RANK $TOWPATH_RANK";
    assert_eq!(
        shell(3, &[], script).sorted(),
        ["0/3 0/3 0/3 0 0", "1/3 1/3 1/3 1 1", "2/3 2/3 2/3 2 2"]
    );
}

#[test]
fn several_programs_make_one_job() {
    let run = run(&[
        "-n",
        "1",
        "sh",
        "-c",
        "echo a $PMI_RANK",
        ":",
        "-n",
        "2",
        "sh",
        "-c",
        "echo b $PMI_RANK",
    ]);
    assert_eq!(run.sorted(), ["a 0", "b 1", "b 2"]);
}

#[test]
fn a_list_that_names_only_this_host_says_how_many_ranks_there_are() {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    for (options, ranks) in [
        (vec!["--hosts", "localhost:2"], 2),
        (vec!["--hosts", &format!("localhost:2,{name}:2")], 4),
        (vec!["--hosts", "localhost,localhost"], 2),
        (vec!["--hosts", "localhost"], 1),
        (vec!["--hosts", "localhost:2", "-ppn", "3"], 3),
        (vec!["--hosts", "localhost:2", "-n", "1"], 1),
        (vec!["--hosts", "elsewhere:2", "--launcher", "fork"], 2),
        (vec!["-ppn", "3"], 3),
    ] {
        let run = run(&[&options[..], &["sh", "-c", "echo $PMI_SIZE"]].concat());
        assert_eq!(run.output, format!("{ranks}\n").repeat(ranks), "{options:?}: {run:?}");
    }
}

#[test]
fn variables_and_directories() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let given =
        shell(1, &["-genv", "A", "1 2", "-x", "B=3=4", "--wdir", path], "echo \"$A|$B\"; pwd -P");
    assert_eq!(
        given.output,
        format!("1 2|3=4\n{}\n", directory.path().canonicalize().unwrap().display())
    );
    let none = shell(1, &["-genvnone"], "echo \"${HOME-unset}\"");
    assert_eq!(none.output, "unset\n");
    let missing = shell(1, &["-wdir", "/no/such"], "true");
    assert!(missing.code == 1 && missing.errors.contains("/no/such"), "{missing:?}");
}

#[test]
fn the_strict_channel_needs_its_libraries() {
    let run = shell(1, &["-env", "TOWPATH_CHANNEL", "strict"], "true");
    assert_eq!(run.code, 1);
    assert!(
        run.errors.contains("lib/strict, which does not exist: install it, or unset the variable"),
        "{run:?}"
    );
}

#[test]
fn lines_are_tagged_and_never_mixed() {
    let script =
        "for i in 1 2 3 4 5 6 7 8 9; do printf 'rank %s ' $PMI_RANK; printf 'line %s\n' $i; done";
    let tagged = shell(5, &["-l"], script);
    assert_eq!(tagged.output.lines().count(), 45);
    for line in tagged.output.lines() {
        let rank = &line[1..2];
        assert!(line.starts_with(&format!("[{rank}] rank {rank} line ")), "{line}");
    }
    let errors = shell(2, &["--tag-output"], "echo oops >&2");
    assert!(
        errors.errors.contains("[0] oops\n") && errors.errors.contains("[1] oops\n"),
        "{errors:?}"
    );
}

#[test]
fn long_lines_are_never_mixed() {
    // Each line takes several reads of its pipe, and the ranks print at the same time.
    let script =
        "for i in 1 2 3 4 5 6; do head -c 300000 /dev/zero | tr '\\0' $PMI_RANK; echo; done";
    for (options, tag) in [(&[][..], 0), (&["-l"], 4)] {
        let run = shell(4, options, script);
        assert_eq!(run.output.lines().count(), 24);
        for line in run.output.lines() {
            let rank = &line[tag..tag + 1];
            let text = if tag == 0 { "" } else { &line[..tag] };
            assert!(text == format!("[{rank}] ") || tag == 0, "{text}");
            assert!(
                line.len() == 300_000 + tag
                    && line[tag..].bytes().all(|byte| byte == rank.as_bytes()[0])
            );
        }
    }
}

#[test]
fn a_rank_that_stops_in_a_long_line_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("mark");
    let script = format!(
        "if test $PMI_RANK = 0; then head -c 200000 /dev/zero | tr '\\0' a; while ! test -e {0}; do sleep 0.1; done; echo
         else sleep 0.1; for i in 1 2 3; do head -c 200000 /dev/zero | tr '\\0' b; echo; done; touch {0}; fi",
        mark.display()
    );
    let run = shell(2, &[], &script);
    assert_eq!((run.code, run.output.len()), (0, 200_001 + 3 * 200_001), "{}", run.errors);
}

#[test]
fn any_bytes_pass_through_in_order() {
    let run = shell(1, &[], "head -c 300000 /dev/zero | tr '\\0' 'x'; printf '\\n\\377\\000end'");
    assert_eq!(
        run.output.len(),
        300_000 + 1 + 2 + 3 + 2,
        "one byte became three in the lossy reading"
    );
    assert!(run.output.ends_with("\u{fffd}\0end"));
}

#[test]
fn a_prompt_comes_out_before_its_line_ends() {
    let mut command =
        mpiexec(&["-n", "1", "sh", "-c", "printf 'name? '; read name; echo hello $name"]);
    command.stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut prompt = [0u8; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut prompt).unwrap();
    assert_eq!(&prompt, b"name? ");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"you\n").unwrap();
    assert_eq!(common::wait(&mut child), 0);
    let mut rest = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut rest).unwrap();
    assert_eq!(rest, "hello you\n");
}

#[test]
fn rank_0_reads_the_input_and_the_others_nothing() {
    let mut command = mpiexec(&["-n", "3", "sh", "-c", "echo $PMI_RANK: $(cat)"]);
    command.stdin(Stdio::piped());
    assert_eq!(finish(command, "some text\n").sorted(), ["0: some text", "1:", "2:"]);
}

#[test]
fn output_goes_to_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/out");
    let run = shell(
        2,
        &["--output-dir", path.to_str().unwrap()],
        "echo out $PMI_RANK; echo err $PMI_RANK >&2",
    );
    assert_eq!((run.code, run.output.as_str(), run.errors.as_str()), (0, "", ""));
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(
        (read("rank.0/stdout"), read("rank.1/stderr")),
        ("out 0\n".to_owned(), "err 1\n".to_owned())
    );
}

#[test]
fn exit_codes_are_those_of_the_rank_that_failed() {
    let failed = shell(3, &[], "test $PMI_RANK != 1 || exit 3; sleep 60");
    assert_eq!(failed.code, 3);
    assert!(failed.errors.contains("rank 1") && failed.errors.contains("code 3"), "{failed:?}");
    let killed = shell(3, &[], "test $PMI_RANK != 2 || kill -SEGV $$; sleep 60");
    assert_eq!(killed.code, 128 + 11);
    assert!(killed.errors.contains("rank 2") && killed.errors.contains("SIGSEGV"), "{killed:?}");
    assert_eq!(shell(4, &[], "true").code, 0);
}

#[test]
fn a_program_that_does_not_exist_is_a_sentence() {
    for (program, code, part) in [
        ("no-such-program-here", 127, "neither in PATH"),
        ("./no/such", 127, "does not exist"),
        ("./Cargo.toml", 126, "The file ./Cargo.toml is not executable"),
        ("/etc/passwd", 126, "not executable"),
        ("/tmp", 126, "is a directory"),
    ] {
        let run = run(&["-n", "2", program]);
        assert!(run.code == code && run.errors.contains(part), "{run:?}");
        assert_eq!(run.errors.lines().count(), 1, "{run:?}");
    }
}

#[test]
fn scripts_without_a_first_line_and_programs_of_this_directory_run() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plain-script");
    std::fs::write(&file, "echo from $1\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = mpiexec(&["-n", "1", "plain-script", "here"]);
    command.current_dir(directory.path());
    assert_eq!(finish(command, "").output, "from here\n");
}

#[test]
fn an_interpreter_that_does_not_exist_is_told_from_a_program_that_does_not() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script");
    std::fs::write(&file, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = run(&["-n", "2", file.to_str().unwrap()]);
    assert!(run.code == 127 && run.errors.contains("its interpreter"), "{run:?}");
}

#[test]
fn a_program_of_open_mpi_is_told_of() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("program");
    let mut bytes = std::fs::read("/bin/true").unwrap();
    bytes.extend_from_slice(b"\0libmpi.so.40\0");
    std::fs::write(&file, bytes).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = run(&["-n", "2", file.to_str().unwrap()]);
    assert!(
        run.code == 0
            && run.errors.contains("Open MPI's library")
            && run.errors.lines().count() == 1,
        "{run:?}"
    );
}

#[test]
fn few_descriptors_are_enough_for_few_ranks() {
    let limited = |ranks: &str| {
        let mpiexec = env!("CARGO_BIN_EXE_mpiexec");
        let mut command = std::process::Command::new("sh");
        command.args([
            "-c",
            "ulimit -n 64 && exec \"$@\"",
            "sh",
            mpiexec,
            "-n",
            ranks,
            &job_facts(),
            "exchange",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command, "")
    };
    let run = limited("4");
    assert_eq!((run.code, run.output.matches("exchanged").count()), (0, 4), "{run:?}");
    let many = limited("40");
    assert!(many.code == 1 && many.errors.contains("ulimit -Hn"), "{many:?}");
}

#[test]
fn the_time_limit_ends_the_job() {
    let endless = shell(1, &["--timeout", "18446744073709551615"], "echo done");
    assert_eq!((endless.code, endless.output.as_str()), (0, "done\n"), "{endless:?}");
    let run = shell(2, &["--timeout", "1"], "sleep 60");
    assert_eq!(run.code, 124);
    assert!(run.errors.contains("within 1 s"), "{run:?}");
}

#[test]
fn what_ranks_left_running_ends_with_the_job() {
    let begin = std::time::Instant::now();
    let run = shell(2, &[], "sleep 50 & echo done");
    assert_eq!((run.code, run.sorted()), (0, vec!["done", "done"]));
    assert!(begin.elapsed().as_secs() < 50);
}

#[test]
fn bindings_are_distinct_or_absent() {
    let one = shell(1, &["--report-bindings"], "true");
    assert!(one.errors.contains("rank 0 is not bound"), "{one:?}");
    let bound = shell(
        1,
        &["--report-bindings", "--bind-to", "core"],
        "grep Cpus_allowed_list: /proc/self/status",
    );
    let list = bound.output.split_whitespace().last().unwrap().to_owned();
    let first = list.split([',', '-']).next().unwrap();
    assert!(
        bound.errors.contains(&format!("rank 0 is bound to logical processor(s) {first}")),
        "{bound:?}"
    );
    let none = shell(1, &["--bind-to", "none", "--report-bindings"], "true");
    assert!(none.errors.contains("not bound"), "{none:?}");
    let many = shell(1, &["--bind-to", "core", "--cpus-per-rank", "100000"], "true");
    assert!(many.code == 0 && many.errors.contains("no rank is bound"), "{many:?}");
}

#[test]
fn help_version_and_mistakes() {
    assert!(run(&["--help"]).output.contains("--name value"));
    assert!(run(&["-version"]).output.contains("Towpath"));
    for (arguments, part) in [
        (&["-n"][..], "needs"),
        (&["-q7"], "no option"),
        (&["-host", "here:x", "true"], "not a number of ranks"),
    ] {
        let run = run(arguments);
        assert!(run.code == 2 && run.errors.contains(part), "{run:?}");
    }
}

#[test]
fn a_senseless_number_of_ranks_is_refused() {
    let most = usize::MAX.to_string();
    let slots = format!("a:{0},b:{0}", 1 << 20);
    let lines: [&[&str]; 4] = [
        &["-n", &most, "true"],
        &["-n", &most, "true", ":", "-n", "1", "true"],
        &["--hosts", "a,b", "-ppn", &most, "true"],
        &["--hosts", &slots, "true"],
    ];
    for words in lines {
        let run = run(words);
        assert!(run.code == 2 && run.errors.contains("at most"), "{words:?}: {run:?}");
    }
}

#[test]
fn many_ranks_start_on_few_cores() {
    let run = shell(256, &[], "echo $PMI_RANK");
    assert_eq!((run.code, run.output.lines().count()), (0, 256), "{}", run.errors);
}

#[test]
fn descriptors_of_other_ranks_are_not_inherited() {
    let run = shell(3, &[], "ls /proc/$$/fd | wc -l");
    let counts: Vec<usize> = run.output.lines().map(|line| line.trim().parse().unwrap()).collect();
    // Apart from the descriptors that the shell opens itself and those that this test inherited.
    let own = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(counts.iter().all(|&count| count <= 8 + own), "{counts:?}");
}

#[test]
fn the_readers_end_ends_the_job() {
    let mut child =
        mpiexec(&["-n", "2", "sh", "-c", "while :; do echo y || exit 1; done"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_ne!(common::wait(&mut child), 0);
}

#[test]
fn ranks_learn_the_facts_of_their_job() {
    let run = run(&["-n", "2", &job_facts(), ":", "-n", "1", &job_facts()]);
    assert_eq!(run.code, 0, "{run:?}");
    let lines = run.sorted();
    for (rank, program) in [(0, 0), (1, 0), (2, 1)] {
        let wanted = format!("rank {rank} of 3, {rank} of 3 here, program Some({program}), job ");
        assert!(lines[rank].starts_with(&wanted), "{run:?}");
        assert!(lines[rank].ends_with("Towpath's mpiexec"), "{run:?}");
    }
}

/// Clock ticks of processor time that a process has used.
fn ticks(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn waiting_for_a_slow_reader_costs_nothing() {
    for hosts in [&[][..], &["--hosts", "a,b", "--launcher", "env X={host}"]] {
        let words = ["-n", "2", "sh", "-c", "head -c 9000000 /dev/zero; echo"];
        let mut child = common::mpiexec(&[hosts, &words].concat()).spawn().unwrap();
        // Until all queues are full.
        std::thread::sleep(std::time::Duration::from_millis(500));
        let before = ticks(child.id());
        std::thread::sleep(std::time::Duration::from_millis(500));
        let used = ticks(child.id()) - before;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut bytes).unwrap();
        assert_eq!((bytes.len(), common::wait(&mut child)), (18_000_002, 0));
        assert!(used < 20, "{used} ticks of 10 ms in half a second");
    }
}

#[test]
fn nothing_is_lost_to_a_reader_that_comes_late_unless_a_person_ends_the_wait() {
    let start = |hosts: &[&str]| {
        let words = ["-n", "1", "sh", "-c", "head -c 900000 /dev/zero"];
        common::mpiexec(&[hosts, &words].concat()).spawn().unwrap()
    };
    let over_hosts = ["--hosts", "a", "--launcher", "env X={host}"];
    let mut children = [&[][..], &over_hosts].map(start);
    let mut interrupted = start(&[]);
    // Longer than all other time limits at the end of a job.
    std::thread::sleep(std::time::Duration::from_secs(6));
    for child in &mut children {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut bytes).unwrap();
        assert_eq!((bytes.len(), common::wait(child)), (900_000, 0));
    }
    std::process::Command::new("kill")
        .args(["-INT", &interrupted.id().to_string()])
        .status()
        .unwrap();
    assert_eq!(
        common::wait(&mut interrupted),
        0,
        "the job has ended well; only its output is cut off"
    );
}

#[test]
fn a_parent_that_ignores_the_ends_of_children_changes_nothing() {
    for hosts in [&[][..], &["--hosts", "a", "--launcher", "env X={host}"]] {
        let mut command = mpiexec(
            &[hosts, &["--timeout", "30", "-n", "2", "sh", "-c", "exit $((PMI_RANK * 3))"]]
                .concat(),
        );
        // SAFETY: between fork and exec the closure makes one async-signal-safe call, `signal`.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, || {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                Ok(())
            });
        }
        let run = finish(command, "");
        assert!(run.code == 3 && run.errors.contains("rank 1"), "{run:?}");
    }
}

#[test]
fn output_that_cannot_be_written_ends_the_job_with_the_reason() {
    for hosts in [&[][..], &["--hosts", "a", "--launcher", "env X={host}"]] {
        // The ranks are still running, or have ended.
        for words in [&["sh", "-c", "echo x; sleep 60"][..], &["echo", "x"]] {
            let mut command = mpiexec(&[hosts, &["-n", "1"], words].concat());
            command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
            let run = finish(command, "");
            assert!(
                run.code == 1 && run.errors.contains("cannot be written (No space left"),
                "{words:?}: {run:?}"
            );
        }
    }
}

#[test]
fn a_topology_file_with_a_mistake_costs_the_start_and_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("links.toml");
    std::fs::write(&file, "[[link]]\nhosts = \"a\"\nrate = \"1Gb\"\n").unwrap();
    for hosts in [&[][..], &["--hosts", "a", "--launcher", "env X={host}"]] {
        let words = [hosts, &["--topology", file.to_str().unwrap(), "echo", "x"]].concat();
        let run = common::run(&words);
        let wanted = format!("mpiexec: {}: topology file line 3: rate '1Gb'", file.display());
        assert!(run.code == 2 && run.output.is_empty(), "{run:?}");
        assert!(run.errors.starts_with(&wanted) && run.errors.lines().count() == 1, "{run:?}");
    }
    let missing = common::run(&["--topology", "/no/such", "echo", "x"]);
    assert!(missing.code == 2 && missing.errors.contains("/no/such cannot be read"), "{missing:?}");
    std::fs::write(&file, "[[link]]\nhosts = \"a\"\nrate = \"1Gbit\"\n").unwrap();
    let run = common::run(&["--topology", file.to_str().unwrap(), "echo", "x"]);
    assert!(run.code == 0 && run.output == "x\n" && run.errors.is_empty(), "{run:?}");
}
