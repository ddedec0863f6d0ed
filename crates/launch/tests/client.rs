//! The client side against `mpiexec`: with the ticket, over PMI-1, as a singleton, and in error
//! cases.

mod common;

use common::{finish, job_facts, run, shell};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Runs ranks that do not see the ticket and therefore use PMI-1.
fn over_pmi(ranks: usize, words: &str) -> common::Run {
    shell(ranks, &[], &format!("unset TOWPATH_JOB; exec {} {words}", job_facts()))
}

fn alone(variables: &[(&str, &str)]) -> common::Run {
    let mut command = Command::new(job_facts());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in
        ["TOWPATH_JOB", "PMI_FD", "PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"]
    {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    finish(command, "")
}

/// Runs a process whose PMI_FD leads to a server that has exited or never answers.
fn with_dead_server(dialect: &str, ended: bool) -> common::Run {
    let (server, rank) = std::os::unix::net::UnixStream::pair().unwrap();
    let rank = OwnedFd::from(rank);
    rustix::io::fcntl_setfd(&rank, rustix::io::FdFlags::empty()).unwrap();
    let server = (!ended).then_some(server);
    let number = rank.as_raw_fd().to_string();
    let run = alone(&[
        ("PMI_FD", &number),
        ("PMI_RANK", "1"),
        ("PMI_SIZE", "2"),
        ("TOWPATH_PMI", dialect),
        ("TOWPATH_LAUNCHER_SECONDS", "1"),
    ]);
    drop((server, rank));
    run
}

#[test]
fn ranks_exchange_values_and_share_memory() {
    for run in [
        run(&["-n", "5", &job_facts(), "exchange"]),
        over_pmi(5, "exchange"),
        over_pmi(1, "exchange"),
    ] {
        assert_eq!(run.code, 0, "{run:?}");
        let lines = run.sorted();
        assert_eq!(
            lines.iter().filter(|line| **line == "exchanged").count() * 2,
            lines.len(),
            "{run:?}"
        );
    }
    assert!(over_pmi(2, "").output.contains("PMI launcher"));
}

/// Needs permission to create namespaces; otherwise it is skipped and passes.
#[test]
fn memory_is_shared_across_containers() {
    for namespaces in ["-p -f --mount-proc", "-p -f --mount-proc -n"] {
        let may = Command::new("unshare").args(namespaces.split(' ')).arg("true").output();
        if !may.is_ok_and(|run| run.status.success()) {
            eprintln!("unshare {namespaces} is not allowed here: skipped");
            continue;
        }
        let script = format!(
            "unset TOWPATH_JOB; test $PMI_RANK = 0 && exec {0} exchange; exec unshare {namespaces} {0} exchange",
            job_facts()
        );
        let run = shell(3, &[], &script);
        assert_eq!(run.output.matches("exchanged").count(), 3, "{run:?}");
    }
}

#[test]
fn all_ranks_of_a_job_know_one_identifier() {
    for run in [run(&["-n", "4", &job_facts()]), over_pmi(4, "")] {
        let ids: std::collections::BTreeSet<&str> = run
            .output
            .lines()
            .filter_map(|line| line.split("job ").nth(1)?.split(',').next())
            .collect();
        assert_eq!(ids.len(), 1, "{run:?}");
    }
}

#[test]
fn the_code_of_an_abort_is_the_exit_code() {
    for run in [run(&["-n", "3", &job_facts(), "abort", "42"]), over_pmi(3, "abort 42")] {
        assert_eq!(run.code, 42, "{run:?}");
        assert!(run.errors.contains("says: it's over."), "{run:?}");
    }
}

#[test]
fn leaving_without_finalize_ends_the_job() {
    let script = format!("test $PMI_RANK = 0 && exec {} leave; sleep 60", job_facts());
    let run = shell(3, &[], &script);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.errors.contains("rank 0") && run.errors.contains("MPI_Finalize"), "{run:?}");
}

#[test]
fn a_rank_that_never_comes_ends_the_job() {
    let script = format!("test $PMI_RANK = 1 && exit 0; unset TOWPATH_JOB; exec {}", job_facts());
    let run = shell(3, &[], &script);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.errors.contains("rank 1 ended without calling MPI_Init"), "{run:?}");
}

#[test]
fn a_second_program_in_one_rank_is_refused() {
    let facts = job_facts();
    let run = shell(2, &[], &format!("{facts} && {facts}"));
    assert_eq!(run.code, 9, "{run:?}");
    assert!(run.errors.contains("one rank of mpiexec runs one MPI program"), "{run:?}");
}

#[test]
fn jobs_inside_a_rank_are_jobs_of_their_own() {
    let inner = format!("{} -n 2 {} exchange", env!("CARGO_BIN_EXE_mpiexec"), job_facts());
    let run = shell(2, &[], &inner);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.output.matches("exchanged").count(), 4, "{run:?}");
}

#[test]
fn a_process_alone_is_rank_0_of_1() {
    let run = alone(&[]);
    assert!(run.output.starts_with("rank 0 of 1, 0 of 1 here"), "{run:?}");
}

#[test]
fn never_n_times_rank_0_of_1() {
    for variables in [
        &[("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", "0")][..],
        &[("SLURM_STEP_NUM_TASKS", "3")],
        &[("PMI_SIZE", "2"), ("PMI_RANK", "0")],
        &[("PMI_FD", "333"), ("PMI_SIZE", "2"), ("PMI_RANK", "0")],
        &[
            ("PMI_FD", "5"),
            ("TOWPATH_JOB", "1:a:0:2:0:6:5:99"),
            ("PMI_SIZE", "2"),
            ("PMI_RANK", "0"),
        ],
    ] {
        let run = alone(variables);
        assert_eq!((run.code, run.output.as_str()), (9, ""), "{variables:?} {run:?}");
        assert_eq!(run.errors.lines().count(), 1, "{run:?}");
    }
}

/// With or without the PMIx library, whose absence leads to a different error message.
#[test]
fn a_dead_pmix_server_costs_one_sentence() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let variables = |name: &str, port: u16| -> Vec<(String, String)> {
        let uri = format!("pmix-server.1;tcp4://127.0.0.1:{port}");
        let uris = [
            "PMIX_SERVER_URI41",
            "PMIX_SERVER_URI4",
            "PMIX_SERVER_URI3",
            "PMIX_SERVER_URI21",
            "PMIX_SERVER_URI2",
        ];
        let uris = uris.iter().map(|name| ((*name).to_owned(), uri.clone()));
        uris.chain(
            [
                ("PMIX_NAMESPACE", "x"),
                ("PMIX_RANK", "1"),
                (name, "2"),
                ("TOWPATH_LAUNCHER_SECONDS", "2"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        )
        .collect()
    };
    // A server that never answers, and a port without a listener.
    for (variable, port) in [("OMPI_COMM_WORLD_SIZE", address.port()), ("SLURM_STEP_NUM_TASKS", 1)]
    {
        let variables = variables(variable, port);
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let run = alone(&variables);
        assert_eq!((run.code, run.output.as_str()), (9, ""), "{run:?}");
        assert!(run.errors.contains("This process was started by"), "{run:?}");
    }
    let alone =
        alone(&[("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]);
    assert!(alone.output.starts_with("rank 0 of 1"), "{alone:?}");
}

#[test]
fn a_dead_server_costs_one_sentence() {
    for (dialect, ended, part) in [
        ("1", true, "broke"),
        ("2", true, "broke"),
        ("1", false, "not answered"),
        ("2", false, "not answered"),
    ] {
        let run = with_dead_server(dialect, ended);
        assert_eq!((run.code, run.output.as_str()), (9, ""), "{run:?}");
        assert!(run.errors.lines().count() == 1 && run.errors.contains(part), "{run:?}");
    }
}
