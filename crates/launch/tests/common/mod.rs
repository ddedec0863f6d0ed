//! Runs `mpiexec` under a watchdog and finds processes that survive a job.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of any run; only a hang reaches it.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Run {
    /// The lines of stdout, sorted, because ranks print in any order.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.output.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// Path of `mpiexec`. For the tests of the crate `tool` cargo builds it as an example.
pub(crate) fn program() -> PathBuf {
    let as_example = || {
        let deps = std::env::current_exe().unwrap();
        deps.parent().unwrap().parent().unwrap().join("examples/mpiexec")
    };
    option_env!("CARGO_BIN_EXE_mpiexec").map_or_else(as_example, PathBuf::from)
}

/// Prepares an `mpiexec` with these arguments, for which the user has measured no links.
pub(crate) fn mpiexec(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env("XDG_CONFIG_HOME", "/nowhere");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Path of the example program.
pub(crate) fn job_facts() -> String {
    let directory = program().parent().unwrap().join("examples/job_facts");
    assert!(directory.exists(), "{} is built by cargo test", directory.display());
    directory.to_string_lossy().into_owned()
}

/// Runs a command to its end.
pub(crate) fn finish(mut command: Command, input: &str) -> Run {
    let mut child = command.spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            bytes
        })
    }
    let (output, errors) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let code = wait(&mut child);
    let text = |bytes: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&bytes.join().unwrap()).into_owned()
    };
    Run { code, output: text(output), errors: text(errors) }
}

/// Waits for a child; returns -1000 if a signal killed it.
pub(crate) fn wait(child: &mut Child) -> i32 {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1000);
        }
        if begin.elapsed() > WATCHDOG {
            child.kill().unwrap();
            panic!("mpiexec hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs `mpiexec` with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Run {
    finish(mpiexec(arguments), "")
}

/// Runs `mpiexec -n N [options] sh -c SCRIPT`.
pub(crate) fn shell(ranks: usize, options: &[&str], script: &str) -> Run {
    let ranks = ranks.to_string();
    let arguments = [&["-n", &ranks], options, &["sh", "-c", script]].concat();
    run(&arguments)
}

/// Returns a text that no other process has in its environment.
pub(crate) fn new_mark() -> String {
    static NUMBER: std::sync::Mutex<u32> = std::sync::Mutex::new(0);
    let mut number = NUMBER.lock().unwrap();
    *number += 1;
    format!("mark-{}-{}", std::process::id(), *number)
}

/// Process IDs of the processes whose environment contains the mark.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("TOWPATH_TEST_MARK={mark}\0");
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(wanted.len()).any(|part| part == wanted.as_bytes())
        })
        .collect()
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < WATCHDOG, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A topology file of these lines.
pub(crate) fn topology_file(lines: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines).unwrap();
    file
}
