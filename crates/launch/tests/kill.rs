//! No process survives a job, no matter which process is killed, what the ranks have started, and
//! how they hide it.
//!
//! Every process of a job has a mark in its environment. Afterwards no process on the machine may
//! have it. `TOWPATH_KILL_ROUNDS` sets the number of rounds.

mod common;

use common::{marked, mpiexec, new_mark, wait, wait_until};
use std::process::Child;
use std::time::Duration;

/// A rank with a child, a child in another session, and an orphan in yet another session.
const FAMILY: &str = "sleep 600 & setsid sleep 600 & setsid sh -c 'sleep 600 & sleep 600 &' & wait";

fn rounds() -> usize {
    std::env::var("TOWPATH_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

fn start(mark: &str, ranks: usize, script: &str) -> Child {
    let ranks = ranks.to_string();
    let mark = format!("TOWPATH_TEST_MARK={mark}");
    let mut command = mpiexec(&["-n", &ranks, "-x", &mark, "sh", "-c", script]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
}

fn signal(pid: u32, signal: i32) {
    // SAFETY: `kill` accesses no memory of this process.
    unsafe { libc::kill(pid as i32, signal) };
}

/// The ranks: those marked processes started by the guardian that lead a process group.
fn ranks_of(mark: &str, ranks: usize) -> Vec<u32> {
    let mut found = Vec::new();
    wait_until("the start of all ranks", || {
        found = marked(mark).into_iter().filter(|&pid| is_rank(pid)).collect();
        found.len() >= ranks
    });
    found
}

fn is_rank(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let own = pid.to_string();
    // A process group of its own, but not a session.
    fields[2] == own && fields[3] != own
}

fn nothing_survives(mark: &str) {
    wait_until("the end of all processes", || marked(mark).is_empty());
}

/// Waits until all ranks have started their families of processes.
fn wait_for_family(mark: &str, ranks: usize) {
    wait_until("the start of the families", || marked(mark).len() >= 5 * ranks);
}

#[test]
fn a_killed_rank_takes_the_job_with_it() {
    for _ in 0..rounds() {
        let mark = new_mark();
        let mut job = start(&mark, 3, FAMILY);
        wait_for_family(&mark, 3);
        signal(ranks_of(&mark, 3)[1], libc::SIGKILL);
        assert_eq!(wait(&mut job), 128 + libc::SIGKILL);
        assert_eq!(marked(&mark), [], "everything is gone when mpiexec is");
    }
}

#[test]
fn half_the_ranks_killed() {
    for _ in 0..rounds() {
        let mark = new_mark();
        let mut job = start(&mark, 4, FAMILY);
        wait_for_family(&mark, 4);
        ranks_of(&mark, 4).into_iter().step_by(2).for_each(|pid| signal(pid, libc::SIGKILL));
        assert_eq!(wait(&mut job), 128 + libc::SIGKILL);
        assert_eq!(marked(&mark), []);
    }
}

#[test]
fn a_killed_mpiexec_leaves_nothing() {
    for _ in 0..rounds() {
        let mark = new_mark();
        let mut job = start(&mark, 3, FAMILY);
        wait_for_family(&mark, 3);
        signal(job.id(), libc::SIGKILL);
        wait(&mut job);
        nothing_survives(&mark);
    }
}

#[test]
fn mpiexec_killed_while_it_starts() {
    for round in 0..rounds() * 4 {
        let mark = new_mark();
        let mut job = start(&mark, 8, FAMILY);
        std::thread::sleep(Duration::from_micros(1500 * round as u64));
        signal(job.id(), libc::SIGKILL);
        wait(&mut job);
        // A process has no mark before it calls `execve`: wait until all have.
        std::thread::sleep(Duration::from_millis(30));
        nothing_survives(&mark);
    }
}

#[test]
fn stopped_ranks_end_too() {
    for round in 0..rounds() {
        let mark = new_mark();
        let mut job = start(&mark, 3, FAMILY);
        wait_for_family(&mark, 3);
        let ranks = ranks_of(&mark, 3);
        signal(ranks[0], libc::SIGSTOP);
        let target = if round % 2 == 0 { job.id() } else { ranks[2] };
        signal(target, libc::SIGKILL);
        wait(&mut job);
        nothing_survives(&mark);
    }
}

#[test]
fn a_killed_guardian_ends_the_job() {
    for _ in 0..rounds() {
        let mark = new_mark();
        let mut job = start(&mark, 2, FAMILY);
        wait_for_family(&mark, 2);
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", ranks_of(&mark, 2)[0])).unwrap();
        let guardian =
            stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(guardian != job.id());
        signal(guardian, libc::SIGKILL);
        assert_eq!(wait(&mut job), 1);
        assert_eq!(marked(&mark), []);
    }
}

#[test]
fn signals_to_mpiexec_reach_the_ranks_and_end_the_job() {
    for (number, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        let mark = new_mark();
        let mut job = start(&mark, 2, FAMILY);
        wait_for_family(&mark, 2);
        signal(job.id(), number);
        assert_eq!(wait(&mut job), code);
        assert_eq!(marked(&mark), []);
    }
}

#[test]
fn ranks_that_do_not_listen_are_killed() {
    let mark = new_mark();
    let mut job = start(&mark, 2, "trap '' TERM INT HUP; while :; do sleep 0.2; done");
    ranks_of(&mark, 2);
    signal(job.id(), libc::SIGTERM);
    assert_eq!(wait(&mut job), 143);
    assert_eq!(marked(&mark), []);
}

#[test]
fn nobody_outside_the_job_is_killed() {
    let mut bystander = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let mark = new_mark();
    let mut job = start(&mark, 2, "true");
    assert_eq!(wait(&mut job), 0);
    // A shell with a child becomes mpiexec: that child is not part of the job.
    let line = format!(
        "sleep 600 >/dev/null 2>&1 & echo $!; exec {} -n 2 sh -c 'kill -9 $$'",
        env!("CARGO_BIN_EXE_mpiexec")
    );
    let shell = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    let child: u32 =
        String::from_utf8_lossy(&shell.stdout).lines().next().unwrap().parse().unwrap();
    assert!(std::path::Path::new(&format!("/proc/{child}/stat")).exists());
    signal(child, libc::SIGKILL);
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}
