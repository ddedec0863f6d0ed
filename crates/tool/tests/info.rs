//! `towpath info`: every setting, and what changes if the machine, the launcher or a sandbox does.

#[path = "../../launch/tests/common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use common::finish;
use towpath_base::config::SETTINGS;

/// Prepares a `towpath` with an empty environment.
fn towpath(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a `towpath` that must succeed and returns its output.
fn said(command: Command) -> String {
    let run = finish(command, "");
    assert!(run.code == 0 && run.errors.is_empty(), "{run:?}");
    run.output
}

/// The rest of the line that begins with the label.
fn line_of<'a>(text: &'a str, label: &str) -> &'a str {
    let found = text.lines().find_map(|line| {
        line.trim_start().strip_prefix(label).filter(|rest| rest.starts_with(' '))
    });
    found.unwrap_or_else(|| panic!("{label} is not in\n{text}")).trim_start()
}

/// The text with all words of wrapped lines separated by one blank.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Restricts the command to one of the processors of this test.
fn on_one_processor(command: &mut Command) {
    // SAFETY: an all-zero `cpu_set_t` is valid. Between fork and exec the closure makes only two
    // system calls, on values on its own stack.
    unsafe {
        command.pre_exec(|| {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            libc::sched_getaffinity(0, size, &mut set);
            let first = (0..1024).find(|&cpu| libc::CPU_ISSET(cpu, &set)).unwrap_or(0);
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first, &mut set);
            match libc::sched_setaffinity(0, size, &set) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

/// Makes these system calls fail with EPERM in the command.
fn without(command: &mut Command, calls: &[libc::c_long]) {
    let statement =
        |code: u32, skip: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: skip, k };
    let give = |k: u32| statement(libc::BPF_RET | libc::BPF_K, 0, k);
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for &call in calls {
        program.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call as u32));
        program.push(give(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    }
    program.push(give(libc::SECCOMP_RET_ALLOW));
    // SAFETY: between fork and exec the closure makes only two system calls. It owns `program`,
    // which the kernel copies.
    unsafe {
        command.pre_exec(move || {
            let filter =
                libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
            let allowed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) == 0;
            if allowed { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
}

#[test]
fn every_setting_is_printed_with_its_default_and_its_meaning() {
    let (text, json) = (said(towpath(&["info"])), said(towpath(&["info", "--json"])));
    let words = unwrapped(&text);
    for row in SETTINGS {
        let default = if row.default.is_empty() { "(chosen)" } else { row.default };
        let row_in_words = format!("{} {default} {default} {}", row.name, row.meaning);
        assert!(words.contains(&row_in_words), "{row_in_words}\nis not in\n{text}");
        let value =
            if row.default.is_empty() { "null".to_owned() } else { format!("\"{}\"", row.default) };
        let cells = format!(
            "\"{}\": {{\"value\": {value}, \"default\": {value}, \"meaning\": \"{}\"}}",
            row.name, row.meaning
        );
        assert!(json.contains(&cells), "{cells}\nis not in\n{json}");
    }
}

#[test]
fn levels_are_those_of_the_machine_or_of_the_described_one() {
    let text = said(towpath(&["info", "--levels"]));
    assert!(
        line_of(&text, "core")
            .split_whitespace()
            .next()
            .is_some_and(|parts| parts.parse::<u32>().is_ok()),
        "{text}"
    );
    let mut command = towpath(&["info", "--levels"]);
    command.env("TOWPATH_MACHINE", "tile 6x4; core 2");
    let text = said(command);
    assert!(line_of(&text, "tile").starts_with("24 "), "{text}");
    assert!(line_of(&text, "tile").contains("2, in a mesh of 6 columns"), "{text}");
    assert!(line_of(&text, "core").starts_with("48 "), "{text}");
    let mut command = towpath(&["info", "--levels"]);
    command.env("TOWPATH_MACHINE", "core none");
    let run = finish(command, "");
    assert!(run.code != 0 && run.errors.contains("'none' of level core"), "{run:?}");
}

#[test]
fn values_of_the_environment_are_shown_and_wrong_ones_explained() {
    let mut command = towpath(&["info"]);
    command
        .env("TOWPATH_HOT_SENDS", "9")
        .env("TOWPATH_RING_BYTES", "64k")
        .env("TOWPATH_COLLECTIVE", "bcast:chain");
    let text = said(command);
    assert!(line_of(&text, "TOWPATH_HOT_SENDS").starts_with("9 "), "{text}");
    assert!(line_of(&text, "TOWPATH_COLLECTIVE").starts_with("bcast:chain "), "{text}");
    assert!(line_of(&text, "TOWPATH_RING_BYTES").starts_with("65536 "), "{text}");
    assert!(
        unwrapped(&text)
            .contains("TOWPATH_RING_BYTES=64k is not a whole number; the default is used."),
        "{text}"
    );
    assert!(!text.contains("Unknown variables"), "{text}");
    let mut command = towpath(&["info"]);
    command.env("TOWPATH_ARENA_BYTES", "-5");
    let text = said(command);
    assert!(line_of(&text, "TOWPATH_ARENA_BYTES").starts_with("0 "), "{text}");
    assert!(
        unwrapped(&text)
            .contains("TOWPATH_ARENA_BYTES=-5 is out of range (from 0 to 8388608); 0 is used."),
        "{text}"
    );
}

#[test]
fn unknown_settings_are_named_with_a_hint() {
    let mut command = towpath(&["info"]);
    command
        .env("TOWPATH_EAGER_BYTE", "1")
        .env("TOWPATH_COLOUR_OF_THE_SKY", "blue")
        .env("TOWPATH_CC", "gcc");
    let text = said(command);
    assert!(
        line_of(&text, "TOWPATH_EAGER_BYTE").contains("did you mean TOWPATH_EAGER_BYTES?"),
        "{text}"
    );
    assert!(line_of(&text, "TOWPATH_COLOUR_OF_THE_SKY").contains("no such setting"), "{text}");
    assert!(!text.contains("TOWPATH_CC"), "a variable of mpicc is known: {text}");
}

#[test]
fn choices_follow_the_processors_and_the_number_of_ranks() {
    let with_ranks = |arguments: &[&str]| {
        let mut command = towpath(arguments);
        on_one_processor(&mut command);
        said(command)
    };
    let alone = with_ranks(&["info"]);
    assert!(
        alone.contains("Choices for 1 rank on")
            && line_of(&alone, "cores allowed").starts_with("1 "),
        "{alone}"
    );
    assert!(line_of(&alone, "waiting").starts_with("spin, yield, sleep "), "{alone}");
    let crowded = with_ranks(&["info", "--ranks", "3"]);
    assert!(line_of(&crowded, "waiting").starts_with("yield, sleep "), "{crowded}");
    assert!(line_of(&crowded, "waiting").contains("3 ranks share 1 core(s)"), "{crowded}");
    assert!(line_of(&crowded, "wake-up").starts_with("fence "), "{crowded}");
    assert!(line_of(&crowded, "binding").starts_with("none "), "{crowded}");
}

#[test]
fn a_setting_changes_the_choice_that_it_is_about() {
    let mut command = towpath(&["info", "--ranks=1"]);
    command.env("TOWPATH_SPIN_MICROSECONDS", "77");
    let text = said(command);
    assert!(line_of(&text, "waiting").contains("polls for 77 us"), "{text}");
}

#[test]
fn a_sandbox_is_noticed() {
    let open = said(towpath(&["info", "--ranks", "1"]));
    let mut command = towpath(&["info", "--ranks", "1"]);
    without(
        &mut command,
        &[libc::SYS_memfd_create, libc::SYS_membarrier, libc::SYS_process_vm_readv],
    );
    let closed = said(command);
    for label in ["memfd_create", "membarrier", "CMA"] {
        assert!(line_of(&closed, label).starts_with("no "), "{label} in\n{closed}");
    }
    assert!(line_of(&closed, "segment").starts_with("file in "), "{closed}");
    assert!(line_of(&closed, "wake-up").starts_with("fence "), "{closed}");
    assert!(line_of(&open, "segment").starts_with("memfd "), "{open}");
}

#[test]
fn the_launcher_of_the_environment_is_seen() {
    let alone = said(towpath(&["info"]));
    assert!(line_of(&alone, "launcher seen").starts_with("nobody "), "{alone}");

    let run = common::run(&["-n", "2", "-l", env!("CARGO_BIN_EXE_towpath"), "info"]);
    assert_eq!(run.code, 0, "{run:?}");
    for rank in 0..2 {
        let tag = format!("[{rank}] ");
        let own: Vec<&str> =
            run.output.lines().filter_map(|line| line.strip_prefix(&tag)).collect();
        let own = own.join("\n");
        let launcher = line_of(&own, "launcher seen");
        assert!(
            launcher.starts_with("Towpath's mpiexec ")
                && launcher.contains(&format!("rank {rank} of 2")),
            "{own}"
        );
        assert!(own.contains("Choices for 2 ranks"), "{own}");
    }

    let mut command = towpath(&["info"]);
    command.env("OMPI_COMM_WORLD_SIZE", "4");
    let refused = said(command);
    assert!(line_of(&refused, "launcher seen").starts_with("refused "), "{refused}");
    assert!(
        unwrapped(&refused).contains("Open MPI's launcher (mpirun, prterun) started 4 processes"),
        "{refused}"
    );
}

#[test]
fn a_rank_does_not_guess_what_the_other_ranks_may_use() {
    let said_in_job = |ranks: &str| {
        let mut command =
            common::mpiexec(&["-n", "1", env!("CARGO_BIN_EXE_towpath"), "info", "--ranks", ranks]);
        on_one_processor(&mut command);
        said(command)
    };
    let crowded = said_in_job("2");
    assert!(line_of(&crowded, "waiting").starts_with("not known yet "), "{crowded}");
    assert!(line_of(&crowded, "wake-up").starts_with("not known yet "), "{crowded}");
    let alone = said_in_job("1");
    assert!(line_of(&alone, "waiting").starts_with("spin, yield, sleep "), "{alone}");
}

#[test]
fn libraries_that_are_not_there_are_missing() {
    let text = said(towpath(&["info"]));
    assert!(text.starts_with("Installed in "), "{text}");
    for name in ["libmpi.so.12", "libmpi_abi.so.1"] {
        assert!(line_of(&text, name).starts_with("missing "), "{text}");
    }
}

#[test]
fn what_leads_to_other_hosts_is_asked_of_the_library() {
    // The library is not installed next to the program of this test. tests/packaging.py and
    // tests/hosts/libfabric.py check its answers.
    let text = unwrapped(&said(towpath(&["info", "--networks"])));
    assert!(text.starts_with("Ways to other hosts to other hosts not known "), "{text}");
    assert!(text.ends_with("lib/libmpi_abi.so.1 is not there"), "{text}");
}

const LINKS: &str = "[[link]]\nhosts = 'phi[0-1]'\nrate = '100Mbit'\nhalf_duplex = true\n\
                     [[group]]\nname = 'site'\ngroups = ['rack']\nlatency = '2ms'\n\
                     [[group]]\nname = 'rack'\nhosts = 'n[0-15],a'\nrate = '10Gbit'\n\
                     [[host]]\nhosts = 'phi1,a'\nleads = false\nprocessor = 0.5\n";

#[test]
fn a_topology_is_shown_with_the_origin_of_each_figure() {
    let file = common::topology_file(LINKS);
    let name = file.path().to_str().unwrap();
    let by_option = said(towpath(&["info", "--topology", name]));
    let figures = "10 Gbit/s (default) 20 us (default) no (default)";
    let usual = format!("{figures} yes (default) 1 (default)");
    for (label, wanted) in [
        ("site:", "no limit (default) 2 ms (file) no (default)".to_owned()),
        ("rack:", "10 Gbit/s (file) none (default) no (default)".to_owned()),
        ("n0 to n15 (16 hosts)", usual),
        ("a", format!("{figures} no (file) 0.5 (file)")),
        (
            "phi0",
            "100 Mbit/s (file) 20 us (default) yes (file) yes (default) 1 (default)".to_owned(),
        ),
        ("phi1", "100 Mbit/s (file) 20 us (default) yes (file) no (file) 0.5 (file)".to_owned()),
        ("other hosts", figures.to_owned()),
    ] {
        assert_eq!(unwrapped(line_of(&by_option, label)), wanted, "{label}:\n{by_option}");
    }
    let indent = |label: &str| {
        let line = by_option.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
        line.len() - line.trim_start().len()
    };
    assert_eq!(["site:", "rack:", "n0 to", "phi0", "other"].map(indent), [2, 4, 6, 2, 2]);
    let mut command = towpath(&["info", "--topology", "--json"]);
    command.env("TOWPATH_TOPOLOGY", name);
    let json = said(command);
    assert!(
        json.contains("\"group rack\": {") && json.contains("\"nanoseconds\": 2000000"),
        "{json}"
    );
    assert!(json.contains("\"bytes_per_second\": 12500000"), "{json}");
}

#[test]
fn levels_that_a_topology_file_states_are_shown() {
    let file = common::topology_file(
        "[default]\nlevels = 'core 8'\n[[host]]\nhosts = 'a,b'\nlevels = 'tile 6x4; core 2'\n",
    );
    let text = said(towpath(&["info", "--topology", file.path().to_str().unwrap()]));
    assert!(line_of(&text, "other hosts").ends_with("core 8"), "{text}");
    assert!(line_of(&text, "a to b (2 hosts)").ends_with("tile 6x4; core 2"), "{text}");
    assert!(
        !said(towpath(&["info", "--topology"])).contains("processor  levels"),
        "nobody states any"
    );
}

#[test]
fn the_page_about_topology_files_shows_what_is_printed() {
    let page = include_str!("../../../docs/topology-file.md");
    let block = |begin: &str| page.split_once(begin).unwrap().1.split_once("```").unwrap().0;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("links.toml"), block("```toml\n")).unwrap();
    let mut command = towpath(&["info", "--topology", "links.toml"]);
    command.current_dir(directory.path());
    assert_eq!(said(command), block("$ towpath info --topology links.toml\n"));
}

#[test]
fn without_a_topology_file_the_defaults_are_shown() {
    let text = said(towpath(&["info", "--topology"]));
    assert!(
        text.starts_with("Links between hosts by default. There is no topology file."),
        "{text}"
    );
    assert!(line_of(&text, "other hosts").starts_with("10 Gbit/s (default) "), "{text}");
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(line_of(&text, "name"), own.trim(), "{text}");
    assert!(line_of(&text, "rate").contains(" Gbit/s ("), "{text}");
    assert!(text.contains("\nLevels of this machine"), "{text}");
}

#[test]
fn a_stored_measurement_is_shown_unless_it_is_turned_off() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("towpath/topology.toml");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let shown = |setting: Option<&str>| {
        let mut command = towpath(&["info", "--topology"]);
        command.env("XDG_CONFIG_HOME", directory.path());
        command.envs(setting.map(|value| ("TOWPATH_TOPOLOGY", value)));
        finish(command, "")
    };
    std::fs::write(&file, "[[link]]\nhosts = 'a'\nrate = '1Gbit'\n").unwrap();
    let text = shown(None).output;
    let title = format!("Links between hosts as measured by towpath tune, in {}\n", file.display());
    assert!(text.starts_with(&title), "{text}");
    assert!(line_of(&text, "a").starts_with("1 Gbit/s (measured) "), "{text}");
    let text = shown(Some("none")).output;
    assert!(text.starts_with("Links between hosts by default"), "{text}");
    std::fs::write(&file, "[link]").unwrap();
    let run = shown(None);
    assert!(run.code == 0 && run.output.contains("topology file line 1: "), "{run:?}");
    assert!(run.output.contains("\nLevels of this machine"), "{run:?}");
}

#[test]
fn a_topology_file_with_a_mistake_costs_a_sentence() {
    let file = common::topology_file("[[link]]\nhost = 'a'\n");
    let run = finish(towpath(&["info", "--topology", file.path().to_str().unwrap()]), "");
    assert!(run.code == 2 && run.output.is_empty(), "{run:?}");
    assert!(
        run.errors.contains("topology file line 2: [[link]] has no key host: did you mean hosts?"),
        "{run:?}"
    );
}

#[test]
fn the_topology_of_a_running_job_is_shown() {
    let file = common::topology_file(LINKS);
    let running = |options: &[&str]| {
        let words = [options, &["-n", "2", "sh", "-c", "echo ready; sleep 60"]].concat();
        let mut child = common::mpiexec(&words).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let shown = said(towpath(&["info", "--topology", &child.id().to_string()]));
        child.kill().unwrap();
        common::wait(&mut child);
        shown
    };
    let several = ["--hosts", "n3,phi0", "--launcher", "env X={host}"];
    let named = ["--topology", file.path().to_str().unwrap()];
    let text = running(&[&several[..], &named].concat());
    assert!(unwrapped(line_of(&text, "phi0")).starts_with("100 Mbit/s (file) 20 us"), "{text}");
    let source = format!("'s job by the topology file {}\n", named[1]);
    assert!(text.lines().next().unwrap().ends_with(source.trim_end()), "{text}");
    let first = "rack in site 10 Gbit/s (default) ? ?";
    assert_eq!(unwrapped(line_of(&text, "0: n3")), first, "{text}");
    let path = "none 100 Mbit/s (file) ? ? 100 Mbit/s (file), 2.04 ms (default)";
    assert_eq!(unwrapped(line_of(&text, "1: phi0")), path, "{text}");
    let text = running(&several);
    let default = "none 10 Gbit/s (default) ? ? 10 Gbit/s (default), 40 us (default)";
    assert_eq!(unwrapped(line_of(&text, "1: phi0")), default, "{text}");
    let text = running(&[]);
    assert!(text.contains(" has no topology file\n"), "{text}");
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let line = unwrapped(line_of(&text, &format!("0: {}", own.trim())));
    assert!(line.starts_with("none ") && line.contains(" 2 "), "{text}");
}

#[test]
fn mistakes_on_the_command_line_cost_a_sentence() {
    for (arguments, wanted) in [
        (&["inof"][..], "towpath info"),
        (&["info", "--all"], "--all"),
        (&["info", "--ranks", "0"], "from 1 to"),
    ] {
        let run = finish(towpath(arguments), "");
        assert!(run.code == 2 && run.output.is_empty(), "{run:?}");
        assert!(run.errors.contains(wanted) && run.errors.lines().count() == 1, "{run:?}");
    }
}
