//! Reports how the ranks of a running job reach other hosts, as they have published it in their
//! control pages.

use towpath_base::sync::{AtomicU8, Ordering};

use super::channel::view_of;
use crate::report::{CellValue, ReportRow, ReportSection};

/// Returns a row for each local rank of the job to which process `pid` belongs (a rank, or its
/// mpiexec).
///
/// # Errors
/// An error message for the user if the process does not exist, may not be inspected, or belongs to
/// no job.
pub(super) fn section(pid: u32) -> Result<ReportSection, String> {
    let view = view_of(pid)?;
    let ranks = view.head().local_ranks.load(Ordering::Relaxed) as usize;
    let rows = (0..ranks).map(|rank| row(rank, &view.page(rank).routes)).collect();
    let title = format!("How the job of process {pid} reaches other hosts");
    Ok(ReportSection {
        key: "routes",
        title,
        headings: &["rank of this host", "other hosts", "how"],
        rows,
    })
}

fn row(rank: usize, routes: &[AtomicU8]) -> ReportRow {
    let bytes: Vec<u8> = routes
        .iter()
        .map(|byte| byte.load(Ordering::Relaxed))
        .take_while(|byte| *byte != 0)
        .collect();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let told =
        if lines.is_empty() { "all ranks are on this host".to_owned() } else { lines.join("; ") };
    ReportRow::new(
        &rank.to_string(),
        &format!("rank {rank}"),
        CellValue::Number(lines.len() as u64),
        told,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_publish_is_shown() {
        let page = |text: &str| text.bytes().chain([0, 7]).map(AtomicU8::new).collect::<Vec<_>>();
        let cells = |row: ReportRow| {
            row.cells.iter().map(|(_, value)| value.for_person()).collect::<Vec<_>>()
        };
        let two = row(1, &page("host 1 (rank 2): tcp\nhost 2 (rank 4): clic"));
        assert_eq!(cells(two), ["2", "host 1 (rank 2): tcp; host 2 (rank 4): clic"]);
        assert_eq!(cells(row(0, &page(""))), ["0", "all ranks are on this host"]);
    }
}
