//! Prints the job that the launcher gives to a process.
//!
//! `mpiexec -n 4 job_facts` prints the job. An argument adds an action, for tests and for trying
//! other launchers: `exchange` puts and gets values and checks that the ranks share memory,
//! `topology` prints the links of all hosts, `leave` exits without MPI_Finalize, `abort CODE` ends
//! the job, `stay` waits for its end.

use std::process::ExitCode;

use towpath_base::control::RankState;
use towpath_base::sync::Ordering;
use towpath_launch::client::{Launcher, connect};
use towpath_launch::segment::View;
use towpath_launch::{Error, client::Job};
use towpath_topology::readable_rate;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(9)
        }
    }
}

fn run(words: &[String]) -> Result<(), Error> {
    let mut launcher = connect()?;
    let Job { rank, size, local_rank, appnum, id, launcher: name, .. } = launcher.job().clone();
    let locals = launcher.job().local_ranks.len();
    println!(
        "rank {rank} of {size}, {local_rank} of {locals} here, program {appnum:?}, job {:x}, started by {name}",
        id.0
    );
    let segment = launcher.segment()?;
    let view = View::map(std::os::fd::AsFd::as_fd(&segment), locals)?;
    let page = view.page(local_rank as usize);
    page.pid.store(std::process::id(), Ordering::Release);
    page.set_state(RankState::Running);
    match words.first().map(String::as_str) {
        Some("exchange") => exchange(&mut *launcher, &view)?,
        Some("topology") => show_topology(rank, &mut *launcher)?,
        Some("leave") => return Ok(()),
        Some("stay") => loop {
            std::thread::park();
        },
        Some("abort") => {
            let code = words.get(1).and_then(|code| code.parse().ok()).unwrap_or(1);
            page.set_state(RankState::Aborted);
            launcher.abort(code, &format!("Rank {rank} says: it's over."))?;
            launcher.await_end();
            std::process::exit(code);
        }
        _ => {}
    }
    page.set_state(RankState::Finalized);
    launcher.finalize()
}

fn show_topology(rank: u32, launcher: &mut dyn Launcher) -> Result<(), Error> {
    let Some(topology) = launcher.topology()? else {
        println!("rank {rank}: no topology");
        return Ok(());
    };
    let described = |name: &String| {
        let (links, name) = (topology.description(), name.as_str());
        format!(
            "{name} {} leads {}",
            readable_rate(links.link(name).rate.value),
            links.leads(name).value
        )
    };
    let hosts: Vec<String> = topology.hosts().iter().map(described).collect();
    println!("rank {rank}: {}", hosts.join(", "));
    Ok(())
}

fn exchange(launcher: &mut dyn Launcher, view: &View) -> Result<(), Error> {
    let Job { rank, size, local_ranks, .. } = launcher.job().clone();
    let long = format!("value of {rank} = %{}", "x".repeat(5000));
    launcher.put(&format!("key-{rank}"), &long)?;
    launcher.fence()?;
    let next = (rank + 1) % size;
    let value = launcher.get(&format!("key-{next}"))?.unwrap_or_default();
    assert!(
        value.starts_with(&format!("value of {next} = %"))
            && value.ends_with("xx")
            && value.len() > 5000
    );
    assert_eq!(launcher.get("nobody-put-this")?, None);
    for local in 0..local_ranks.len() {
        assert_ne!(
            view.page(local).pid.load(Ordering::Acquire),
            0,
            "the pages of all ranks are shared"
        );
    }
    view.head().attached.fetch_add(1, Ordering::AcqRel);
    launcher.fence()?;
    assert_eq!(view.head().attached.load(Ordering::Acquire) as usize, local_ranks.len());
    println!("exchanged");
    Ok(())
}
