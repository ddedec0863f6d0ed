//! Jobs over several hosts. The hosts are proxies on this machine, started by a command that gives
//! them their names. Tests that need a network are in `tests/hosts`.

mod common;

use common::{finish, job_facts, mpiexec, new_mark, run, topology_file, wait, wait_until};
use std::process::{Command, Stdio};

/// The launch command of each host.
const WAY: &str = "env HOST_NAME={host}";

/// Prepares `mpiexec --hosts HOSTS -n N [options] WORDS`.
fn job(hosts: &str, ranks: usize, options: &[&str], words: &[&str]) -> Command {
    let ranks = ranks.to_string();
    mpiexec(&[&["--hosts", hosts, "--launcher", WAY, "-n", &ranks], options, words].concat())
}

/// Runs `mpiexec --hosts HOSTS -n N [options] WORDS`.
fn over(hosts: &str, ranks: usize, options: &[&str], words: &[&str]) -> common::Run {
    finish(job(hosts, ranks, options, words), "")
}

fn script(hosts: &str, ranks: usize, options: &[&str], script: &str) -> common::Run {
    over(hosts, ranks, options, &["sh", "-c", script])
}

#[test]
fn ranks_of_all_hosts_have_one_store_and_one_job() {
    for (hosts, ranks) in [("a,b", 4), ("a:1,b:2", 5), ("a,b,c,d,e,f,g,h", 48)] {
        let run = over(hosts, ranks, &[], &[&job_facts(), "exchange"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(run.output.matches("exchanged").count(), ranks, "{run:?}");
        let jobs: std::collections::BTreeSet<&str> = run
            .output
            .lines()
            .filter_map(|line| line.split("job ").nth(1)?.split(',').next())
            .collect();
        assert_eq!(jobs.len(), 1, "{run:?}");
    }
}

#[test]
fn ranks_know_their_host_and_their_place_on_it() {
    let run = script(
        "a:1,b:2",
        4,
        &["-l"],
        "echo $HOST_NAME $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS",
    );
    assert_eq!(
        run.sorted(),
        ["[0] a 0 4 0 2", "[1] b 1 4 0 2", "[2] b 2 4 1 2", "[3] a 3 4 1 2"],
        "{run:?}"
    );
}

#[test]
fn variables_and_directories_reach_the_hosts() {
    let options = ["-x", "THERE", "-env", "B", "x y"];
    let mut command = job("a,b", 2, &options, &["sh", "-c", "echo $THERE $B $PWD"]);
    command.env("THERE", "here").current_dir("/usr");
    let run = finish(command, "");
    assert_eq!(run.output, "here x y /usr\nhere x y /usr\n", "{run:?}");
}

#[test]
fn all_ranks_have_the_topology_file_that_mpiexec_reads() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        "[[link]]\nhosts = \"b\"\nrate = \"100Mbit\"\n[[host]]\nhosts = \"b,z\"\nleads = false\n";
    std::fs::write(directory.path().join("links.toml"), text).unwrap();
    let wanted = "a 10 Gbit/s leads true, b 100 Mbit/s leads false";
    let wanted: Vec<String> = (0..3).map(|rank| format!("rank {rank}: {wanted}")).collect();
    let topologies = |options: &[&str], setting: Option<&str>| {
        let mut command = job("a:1,b:2", 3, options, &[&job_facts(), "topology"]);
        // The ranks are in another directory, and their setting names another file.
        command.current_dir(directory.path()).env_remove("TOWPATH_TOPOLOGY");
        command.envs(setting.map(|file| ("TOWPATH_TOPOLOGY", file)));
        let run = finish(command, "");
        assert_eq!(run.code, 0, "{run:?}");
        let lines = run.sorted().into_iter().filter(|line| !line.contains("started by"));
        (lines.map(str::to_owned).collect::<Vec<_>>(), run.errors)
    };
    let elsewhere = ["--topology", "links.toml", "-wdir", "/"];
    assert_eq!(topologies(&elsewhere, Some("none.toml")), (wanted.clone(), String::new()));
    assert_eq!(topologies(&[], Some("links.toml")), (wanted.clone(), String::new()));
    let everywhere = ["-genv", "TOWPATH_TOPOLOGY", "links.toml", "-v"];
    let (lines, errors) = topologies(&everywhere, None);
    assert_eq!(lines, wanted);
    assert_eq!(
        errors,
        "mpiexec: links.toml: in use as the topology file; hosts of the file that are not in the \
         job: z; hosts of the job that the file does not name: a.\n"
    );
    let none = ["rank 0: no topology", "rank 1: no topology", "rank 2: no topology"];
    assert_eq!(topologies(&[], None), (none.map(str::to_owned).to_vec(), String::new()));
}

#[test]
fn a_stored_measurement_is_used_if_it_names_all_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("towpath/topology.toml");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let job = |stored: &str, options: &[&str]| {
        std::fs::write(&file, stored).unwrap();
        let mut command = job("a,b", 2, options, &[&job_facts(), "topology"]);
        command.env("XDG_CONFIG_HOME", directory.path()).env_remove("TOWPATH_TOPOLOGY");
        let run = finish(command, "");
        assert_eq!(run.code, 0, "{run:?}");
        (run.output.matches("100 Mbit/s").count(), run.errors)
    };
    let measured = "[[link]]\nhosts = \"a,b,c\"\nrate = \"100Mbit\"\n";
    assert_eq!(job(measured, &[]), (4, String::new()));
    assert_eq!(job(measured, &["--topology", "none"]), (0, String::new()));
    assert_eq!(job(measured, &["-genv", "TOWPATH_TOPOLOGY", "none"]), (0, String::new()));
    let (seen, errors) = job(measured, &["-v"]);
    let wanted = "topology.toml: in use as the topology file, as measured by towpath tune; hosts";
    assert!(seen == 4 && errors.contains(wanted), "{errors}");
    let one = "[[link]]\nhosts = \"a\"\nrate = \"100Mbit\"\n";
    assert_eq!(job(one, &[]), (0, String::new()));
    assert!(job(one, &["-v"]).1.contains("not in use, because it does not name all hosts"));
    let (seen, errors) = job("[link]", &[]);
    assert!(seen == 0 && errors.lines().count() == 1, "{errors}");
    assert!(errors.contains("topology.toml: topology file line 1: "), "{errors}");
    assert!(errors.contains("towpath tune is not used"), "{errors}");
}

#[test]
fn localhost_has_the_name_of_this_host_in_the_topology() {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let text = format!("[[host]]\nhosts = \"{}\"\nleads = false\n", own.trim());
    let file = topology_file(&text);
    let options = ["--topology", file.path().to_str().unwrap()];
    let run = over("localhost,b", 2, &options, &[&job_facts(), "topology"]);
    let wanted = format!("rank 1: {} 10 Gbit/s leads false, b 10 Gbit/s leads true\n", own.trim());
    assert!(run.code == 0 && run.output.contains(&wanted), "{run:?}");
}

#[test]
fn a_topology_file_about_other_hosts_is_noted() {
    let file = topology_file("[[host]]\nhosts = \"n[0-20]\"\nleads = false\n");
    let run = script("a,b", 2, &["--topology", file.path().to_str().unwrap()], "true");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.errors.contains("is in the job: n0, n1, n2"), "{run:?}");
    assert!(run.errors.contains(" and 13 more. The hosts of the job are a, b."), "{run:?}");
}

#[test]
fn a_host_file_names_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hosts");
    std::fs::write(&file, "one slots=1\ntwo:1\n").unwrap();
    let run = common::run(&[
        "--hostfile",
        file.to_str().unwrap(),
        "--launcher",
        WAY,
        "-n",
        "2",
        "sh",
        "-c",
        "echo $HOST_NAME",
    ]);
    assert_eq!(run.sorted(), ["one", "two"], "{run:?}");
}

#[test]
fn rank_0_reads_the_input_to_its_end() {
    let text: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
    for extra in [&[][..], &["-ppn", "1"]] {
        let mut command = job("a,b", 2, extra, &["cat"]);
        command.stdin(Stdio::piped());
        let run = finish(command, &text);
        assert!(
            run.code == 0 && run.output == text,
            "{} bytes of {}, {}",
            run.output.len(),
            text.len(),
            run.errors
        );
    }
    let mut from_file = job("a,b", 2, &[], &["wc", "-l"]);
    from_file.stdin(std::fs::File::open("/proc/self/status").unwrap());
    let run = finish(from_file, "");
    assert!(run.sorted()[0] == "0" && run.sorted()[1].parse::<u32>().unwrap() > 20, "{run:?}");
}

#[test]
fn lines_stay_whole_and_in_order() {
    let run = script(
        "a,b,c",
        6,
        &["-l"],
        "for i in $(seq 2000); do echo $PMI_RANK number $i of many; done",
    );
    let mut next = [1; 6];
    for line in run.output.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let rank: usize = words[1].parse().unwrap();
        assert_eq!(line, format!("[{rank}] {rank} number {} of many", next[rank]));
        next[rank] += 1;
    }
    assert_eq!(next, [2001; 6]);
}

#[test]
fn long_lines_of_several_hosts_are_never_mixed() {
    let run = script(
        "a,b,c",
        6,
        &[],
        "for i in 1 2 3 4; do head -c 300000 /dev/zero | tr '\\0' $PMI_RANK; echo; done",
    );
    assert_eq!(run.output.lines().count(), 24, "{}", run.errors);
    for line in run.output.lines() {
        assert!(line.len() == 300_000 && line.bytes().all(|byte| byte == line.as_bytes()[0]));
    }
}

#[test]
fn a_slow_reader_stops_nobody_for_ever() {
    let mut command =
        job("a,b", 2, &[], &["sh", "-c", "head -c 6000000 /dev/zero; echo; sleep 0.1"]);
    command.stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut bytes).unwrap();
    assert_eq!((bytes.len(), wait(&mut child)), (12_000_002, 0));
}

#[test]
fn codes_and_sentences_come_from_the_host_that_failed() {
    let exit = script("a,b", 3, &[], "test $PMI_RANK = 2 && exit 7; sleep 60");
    assert!(exit.code == 7 && exit.errors.contains("rank 2"), "{exit:?}");
    let killed = script("a,b", 2, &[], "test $PMI_RANK = 1 && kill -SEGV $$; sleep 60");
    assert!(killed.code == 128 + 11 && killed.errors.contains("SIGSEGV"), "{killed:?}");
    let abort = over("a,b", 3, &[], &[&job_facts(), "abort", "9"]);
    assert!(abort.code == 9 && abort.errors.contains("says: it's over."), "{abort:?}");
    let left = script(
        "a,b",
        2,
        &[],
        &format!("test $PMI_RANK = 1 && exec {} leave; sleep 60", job_facts()),
    );
    assert!(left.code == 1 && left.errors.contains("MPI_Finalize"), "{left:?}");
    let absent = over("a,b", 2, &[], &["./nothing-of-this-name"]);
    assert!(absent.code == 127 && absent.errors.contains("does not exist"), "{absent:?}");
    assert_eq!(absent.errors.lines().count(), 1, "{absent:?}");
}

#[test]
fn hosts_that_cannot_be_reached_cost_a_sentence() {
    for (way, part) in
        [("false", "is lost"), ("no-such-command", "cannot be reached"), ("echo hello", "is lost")]
    {
        let run = run(&["--hosts", "a,b", "--launcher", way, "-n", "2", "true"]);
        assert!(run.code == 1 && run.errors.contains(part), "{run:?}");
    }
    let way = "sh -c 'echo no such host; exit 7' {host}";
    let run = common::run(&["--hosts", "a", "--launcher", way, "-n", "1", "true"]);
    assert!(
        run.errors.contains(
            "the connection to it ended: sh ended with exit code 7; its last line: no such host"
        ),
        "{run:?}"
    );
    let way = "sh -c 'kill -KILL $$' {host}";
    let run = common::run(&["--hosts", "a", "--launcher", way, "-n", "1", "true"]);
    assert!(run.errors.contains("sh was killed by SIGKILL"), "{run:?}");
    let mut silent = mpiexec(&[
        "--hosts",
        "a,b",
        "--launcher",
        "sh -c 'exec sleep 60' {host}",
        "-n",
        "2",
        "true",
    ]);
    silent.env("TOWPATH_LAUNCHER_SECONDS", "1");
    let run = finish(silent, "");
    assert!(run.code == 1 && run.errors.contains("it did not answer for 1 s"), "{run:?}");
    // One host is lost, the other one has not answered yet and never will.
    let way = "sh -c 'test $0 = a && exit; exec sleep 60' {host}";
    let run = common::run(&["--hosts", "a,b", "--launcher", way, "-n", "2", "true"]);
    assert!(
        run.code == 1 && run.errors.contains("host a is lost") && run.errors.lines().count() == 1,
        "{run:?}"
    );
    // A proxy of another job, or a program that claims to be one.
    let liar = r"printf '\ntowpath-proxy 1\n\020\005\0\0\0\001\0\0\0x\n'; sleep 60";
    let run = common::run(&[
        "--hosts",
        "a",
        "--launcher",
        &format!("sh -c \"{liar}\" {{host}}"),
        "-n",
        "1",
        "true",
    ]);
    assert!(run.code == 1 && run.errors.contains("did not know the job"), "{run:?}");
}

#[test]
fn a_proxy_learns_its_job_behind_what_a_shell_prints_and_not_from_its_command_line() {
    let (mark, way) = (new_mark(), "sh -c 'echo Welcome; exec \"$@\"' {host}");
    let mut command = mpiexec(&[
        "--hosts",
        "a",
        "--launcher",
        way,
        "-n",
        "1",
        "sh",
        "-c",
        "echo ready; sleep 60",
    ]);
    command.env("TOWPATH_TEST_MARK", &mark);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    assert_eq!(line, "ready\n");
    let lines = common::marked(&mark)
        .into_iter()
        .filter_map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok());
    let proxies: Vec<String> = lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.ends_with("--proxy\0"))
        .collect();
    assert!(proxies.len() == 1 && proxies[0].split('\0').count() == 3, "{proxies:?}");
    child.kill().unwrap();
    wait(&mut child);
    wait_until("the job has gone", || left(&mark) == 0);
}

/// Number of processes with the mark.
fn left(mark: &str) -> usize {
    common::marked(mark).len()
}

#[test]
fn nothing_is_left_when_mpiexec_or_a_proxy_is_killed() {
    for victim in ["mpiexec", "--proxy", "towpath-guardian"] {
        let mark = new_mark();
        let mut command = job("a,b", 4, &[], &["sh", "-c", "setsid sleep 600 & sleep 600"]);
        command.env("TOWPATH_TEST_MARK", &mark);
        let mut child = command.spawn().unwrap();
        wait_until("all ranks run", || {
            let sleeping = |pid: &u32| {
                std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|n| n == "sleep\n")
            };
            common::marked(&mark).iter().filter(|pid| sleeping(pid)).count() == 8
        });
        let is_victim = |pid: &u32| {
            let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split('\0').any(|word| word == victim)
        };
        let doomed = match victim {
            "mpiexec" => child.id(),
            _ => common::marked(&mark).into_iter().find(is_victim).unwrap(),
        };
        let killed = std::process::Command::new("kill")
            .args(["-KILL", &doomed.to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
        let code = wait(&mut child);
        assert!(code != 0, "{victim}");
        wait_until("the job has gone", || left(&mark) == 0);
    }
}

#[test]
fn signals_reach_the_ranks_of_all_hosts() {
    let script = "trap 'echo got $PMI_RANK' USR1; echo ready; while :; do sleep 0.05; done";
    let mut child = job("a,b", 2, &[], &["sh", "-c", script]).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!([next(), next()], ["ready", "ready"]);
    let send = |signal: &str| {
        std::process::Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
    };
    send("-USR1");
    let mut got = [next(), next()];
    got.sort();
    assert_eq!(got, ["got 0", "got 1"]);
    send("-INT");
    assert_eq!(wait(&mut child), 130);
}

#[test]
fn a_rank_whose_request_never_ends_loses_its_connection() {
    let script = "head -c 70000 /dev/zero >&$PMI_FD; cat <&$PMI_FD; echo closed";
    let run = over("a,b", 2, &["--timeout", "20"], &["bash", "-c", script]);
    assert_eq!((run.code, run.output.as_str()), (0, "closed\nclosed\n"), "{run:?}");
}

#[test]
fn the_time_limit_ends_all_hosts() {
    let run = script("a,b", 2, &["--timeout", "1"], "sleep 60");
    assert!(run.code == 124 && run.errors.contains("--timeout"), "{run:?}");
}

#[test]
fn the_cause_is_told_also_when_a_consequence_could_be_known_before() {
    // The output of host a arrives late. Its rank ends the job; a rank on host b fails as soon as
    // that rank has ended.
    let way =
        "sh -c 'if test $0 = a; then \"$@\" | (sleep 0.7; exec cat); else exec \"$@\"; fi' {host}";
    let directory = tempfile::tempdir().unwrap();
    let ended = directory.path().join("ended").to_string_lossy().into_owned();
    let script = format!(
        "if test $PMI_RANK = 0; then {} abort 9; touch {ended}; sleep 60; fi; until test -e {ended}; do sleep 0.02; done; exit 5",
        job_facts()
    );
    let run = common::run(&["--hosts", "a,b", "--launcher", way, "-n", "2", "sh", "-c", &script]);
    assert!(run.code == 9 && run.errors.contains("Rank 0 says: it's over."), "{run:?}");
}

/// Creates a directory with an `srun` that runs its command on this machine.
fn with_srun() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\nwhile :; do case $1 in --nodelist=*) export HOST_NAME=${1#*=};; --*) ;; *) break;; esac; shift; done\nexec \"$@\"\n";
    let file = directory.path().join("srun");
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

/// Prepares an `mpiexec` inside a Slurm allocation.
fn allocated(
    directory: &tempfile::TempDir,
    nodes: &str,
    tasks: &str,
    arguments: &[&str],
) -> Command {
    let mut command = mpiexec(arguments);
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", nodes);
    command
        .env("SLURM_TASKS_PER_NODE", tasks)
        .env_remove("SLURM_STEP_NUM_TASKS")
        .env_remove("SLURMD_NODENAME");
    command
}

#[test]
fn the_only_node_of_an_allocation_runs_the_job_also_when_mpiexec_is_elsewhere() {
    let (directory, words) = (with_srun(), ["-n", "1", "sh", "-c", "echo at ${HOST_NAME-home}"]);
    let away = finish(allocated(&directory, "far1", "1", &words), "");
    assert_eq!(away.output, "at far1\n", "{away:?}");
    let mut here = allocated(&directory, "far1", "1", &words);
    here.env("SLURMD_NODENAME", "far1");
    let here = finish(here, "");
    assert_eq!(here.output, "at home\n", "{here:?}");
}

#[test]
fn without_a_number_every_host_gets_what_is_said_for_it() {
    let hosts_of = |mut arguments: Vec<&str>| {
        arguments.extend(["--launcher", WAY, "sh", "-c", "echo $HOST_NAME $PMI_SIZE"]);
        let run = run(&arguments);
        assert_eq!(run.code, 0, "{run:?}");
        run.sorted().join(", ")
    };
    assert_eq!(hosts_of(vec!["--hosts", "a,b,c", "-ppn", "1"]), "a 3, b 3, c 3");
    assert_eq!(hosts_of(vec!["--hosts", "a,b", "-ppn", "2"]), "a 4, a 4, b 4, b 4");
    assert_eq!(hosts_of(vec!["--hosts", "a:1,b:2"]), "a 3, b 3, b 3");
    assert_eq!(hosts_of(vec!["--hosts", "a,b"]), "a 2, b 2");
    let script = "echo $HOST_NAME $PMI_SIZE";
    let run = finish(allocated(&with_srun(), "far[1-2]", "2,1", &["sh", "-c", script]), "");
    assert_eq!(run.sorted(), ["far1 3", "far1 3", "far2 3"], "{run:?}");
    let two =
        [&["--hosts", "a,b", "--launcher", WAY, "-n", "1"][..], &["echo", "x", ":", "echo", "y"]]
            .concat();
    assert_eq!(common::run(&two).sorted(), ["x", "y", "y"]);
}

#[test]
fn ranks_go_round_the_hosts_where_that_is_asked_for() {
    let places = |hosts: &str, options: &[&str]| {
        let job = [
            &["--hosts", hosts, "--launcher", WAY],
            options,
            &["-l", "sh", "-c", "echo $HOST_NAME"],
        ]
        .concat();
        let run = run(&job);
        assert_eq!(run.code, 0, "{run:?}");
        run.sorted().iter().map(|line| &line[4..]).collect::<String>()
    };
    for option in [&["--map-by", "node"][..], &["-bynode"], &["-rr"]] {
        assert_eq!(places("a,b", &[option, &["-n", "4"]].concat()), "abab", "{option:?}");
        assert_eq!(places("a:1,b:3", &[option, &["-n", "5"]].concat()), "abbba", "{option:?}");
    }
    assert_eq!(places("a:3,b:3", &["-pernode"]), "ab");
    assert_eq!(places("a:1,b:3", &["--map-by", "ppr:2:node"]), "aabb");
    assert_eq!(places("a,b", &["-bynode", "-byslot", "-n", "4"]), "aabb");
    for (options, part) in
        [(&["--map-by", "ppr:2:socket"][..], "ppr:2:socket"), (&["-nolocal"], "-nolocal")]
    {
        let run = over("a,b", 2, options, &["true"]);
        assert!(
            run.code == 2 && run.errors.contains(part) && run.errors.contains("several hosts"),
            "{run:?}"
        );
    }
}

#[test]
fn variables_of_a_host_stay_there_unless_they_are_named() {
    // The hosts have their own values for two of the variables.
    let way = "env -u SLURM_X TMPDIR=there DISPLAY=there HOST_NAME={host}";
    let script = "echo $TMPDIR $DISPLAY $TMPDIRECTORY ${SLURM_X-none} $SLURMISH";
    for (options, wanted) in [
        (&[][..], "there there kept none kept\n"),
        (&["-x", "TMPDIR"], "here there kept none kept\n"),
        (&["-genvlist", "TMPDIR,SLURM_X,PATH"], "here here\n"),
        (&["-envlist", "DISPLAY,PATH"], "here none\n"),
    ] {
        let words = ["--hosts", "a", "--launcher", way, "-n", "1"];
        let mut command = mpiexec(&[&words, options, &["sh", "-c", script]].concat());
        for name in ["TMPDIR", "DISPLAY", "SLURM_X"] {
            command.env(name, "here");
        }
        command.env("TMPDIRECTORY", "kept").env("SLURMISH", "kept");
        let run = finish(command, "");
        assert_eq!(run.output, wanted, "{options:?}: {run:?}");
    }
}

#[test]
fn the_directory_goes_by_the_name_that_the_shell_has_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let [one, two, link] = ["one", "two", "link"].map(|name| root.join(name));
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&two).unwrap();
    std::os::unix::fs::symlink(&one, &link).unwrap();
    // On the other host the name leads to another directory, as with an automounter.
    let way = format!("sh -c 'ln -sfn {} {}; exec \"$@\"' {{host}}", two.display(), link.display());
    let start = |variable: &std::path::Path| {
        let mut command =
            mpiexec(&["--hosts", "a", "--launcher", &way, "-n", "1", "sh", "-c", "pwd -P"]);
        command.current_dir(&one).env("PWD", variable);
        finish(command, "").output
    };
    assert_eq!(start(&link), format!("{}\n", two.display()));
    // Now it leads to the other directory on this host too.
    assert_eq!(start(&link), format!("{}\n", one.display()));
    assert_eq!(start(std::path::Path::new("link")), format!("{}\n", one.display()));
}

#[test]
fn a_host_that_is_lost_after_its_ranks_is_lost() {
    // Preamble, Ready, Started and Ended of one rank arrive; the rest, including the end of the
    // output, does not.
    let way = "sh -c '\"$@\" | head -c 107' {host}";
    let run = run(&["--hosts", "a", "--launcher", way, "-n", "1", "true"]);
    assert!(run.code == 1 && run.errors.contains("host a is lost"), "{run:?}");
    assert_eq!(run.errors.lines().count(), 1, "{run:?}");
}

#[test]
fn ranks_of_the_only_host_do_not_wait_for_one_that_never_comes() {
    let text = format!("test $PMI_RANK = 1 || exec {} stay", job_facts());
    let run = script("a", 3, &["--timeout", "20"], &text);
    assert!(
        run.code == 1 && run.errors.contains("rank 1 ended without calling MPI_Init"),
        "{run:?}"
    );
}
