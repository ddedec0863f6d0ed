//! Says what a collective does on a described cluster: which messages pass which levels and links,
//! when, and what limits it. The plans are those that ranks on such hosts execute, and the times
//! come from the simulator of `towpath_schedule`, so nothing runs and the cluster need not exist.
//!
//! Phases on a host are simulated as messages, also where the ranks would use a board.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod arguments;
mod call;
pub mod canvas;
mod chart;
mod cluster;
mod timeline;
mod words;

pub use arguments::HELP;

use arguments::Request;
use cluster::Cluster;
use timeline::Timeline;

/// The answer to `towpath explain` with these arguments. Draws the picture that they ask for.
///
/// # Errors
/// A sentence for the user about an argument, a file, or a cluster that is too large.
pub fn answer(arguments: &[String]) -> Result<String, String> {
    let request = Request::parse(arguments)?;
    let cluster = Cluster::new(&request)?;
    let timeline = Timeline::new(&request, &cluster)?;
    let mut text = words::describe(&request, &cluster, &timeline);
    if let Some(path) = &request.picture {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let picture = chart::draw(&request, &cluster, &timeline).map_err(|error| failed(&error))?;
        std::fs::write(path, picture).map_err(|error| failed(&error))?;
        text.push_str(&format!("\nThe picture is in {}.\n", path.display()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Cluster, Request, answer};

    fn ask(line: &str) -> Result<String, String> {
        answer(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_gather_has_a_phase_on_each_host_and_one_between_them() {
        let slow = "[default]\nrate = \"1Gbit\"\n";
        let text = with_topology("slow", slow, |file| {
            ask(&format!("gather --hosts 3x4 --bytes 4K --root 5 --topology {file}")).unwrap()
        });
        assert!(
            text.starts_with("MPI_Gather of 4 KiB from each rank, root 5, on 3 hosts of 4 ranks"),
            "{text}"
        );
        let phases: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| {
                line.contains("message") || line.contains("host,") || line.contains("between")
            })
            .collect();
        assert!(phases[0].ends_with("on each host, to its leader"), "{text}");
        assert_eq!(phases[1], "9 messages of 4 KiB");
        assert!(phases[2].ends_with("between the hosts"), "{text}");
        assert_eq!(phases[3], "2 messages of 16 KiB");
        // 32 KiB at 1 Gbit/s take 0.262 ms.
        assert!(
            text.contains("the link of host1 (1 Gbit/s) is busy for")
                && text.contains("carries 32 KiB inwards"),
            "{text}"
        );
    }

    /// Calls `then` with the path of a topology file.
    fn with_topology<R>(name: &str, text: &str, then: impl FnOnce(&str) -> R) -> R {
        let file = std::env::temp_dir().join(format!("towpath-{name}-{}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let result = then(file.to_str().unwrap());
        std::fs::remove_file(file).unwrap();
        result
    }

    #[test]
    fn both_directions_of_a_half_duplex_link_count_together() {
        let links = "[[link]]\nhosts = \"a,b\"\nhalf_duplex = true\n";
        let text = with_topology("half-duplex", links, |file| {
            ask(&format!("gather --hosts 2x1 --bytes 64K --topology {file}"))
        });
        let text = text.unwrap();
        assert!(text.contains("the link of a (") && text.contains("64 KiB in both"), "{text}");
    }

    #[test]
    fn hosts_that_the_file_does_not_name_get_names_of_their_own() {
        let links = "[[link]]\nhosts = \"host0\"\nrate = \"1Mbit\"\n";
        let names = with_topology("names", links, |file| {
            let words = ["bcast", "--hosts", "3x1", "--topology", file].map(str::to_owned);
            Cluster::new(&Request::parse(&words).unwrap()).unwrap().names
        });
        assert_eq!(names, ["host0", "host1", "host2"]);
    }

    #[test]
    fn all_collectives_are_explained_for_all_mappings() {
        for collective in [
            "barrier",
            "bcast",
            "gather",
            "scatter",
            "allgather",
            "alltoall",
            "reduce",
            "allreduce",
            "reduce_scatter",
            "scan",
        ] {
            for hosts in ["1x1", "1x5", "5x1", "4x3", "3,1,2", "3,1,2 --map cyclic"] {
                for bytes in ["0", "8", "16K", "1M"] {
                    let line = format!("{collective} --hosts {hosts} --bytes {bytes}");
                    let text = ask(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
                    assert!(text.contains("\nPredicted: "), "{line}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_cluster_of_a_thousand_hosts_is_explained() {
        let text = ask("bcast --hosts 1000x8 --bytes 8").unwrap();
        assert!(text.contains("999 messages of 8 bytes"), "{text}");
    }

    #[test]
    fn what_is_too_large_or_missing_is_said() {
        assert!(
            ask("alltoall --hosts 2000x8 --bytes 8K")
                .unwrap_err()
                .contains("ask about fewer ranks")
        );
        assert!(
            ask("bcast --hosts 2x2 --topology /nonexistent")
                .unwrap_err()
                .contains("/nonexistent: ")
        );
        assert!(
            ask("bcast --hosts 2x2 --draw /nonexistent/a.png")
                .unwrap_err()
                .contains("/nonexistent/a.png: ")
        );
    }
}
