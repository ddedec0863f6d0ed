//! Reports how the shared memory of a running job is laid out, as its ranks have published it in
//! their control pages.

use std::os::fd::{AsFd, OwnedFd};

use towpath_base::control::{ChannelShare, MAGIC, PAGE};
use towpath_base::sync::Ordering;

use crate::report::{CellValue, ReportRow, ReportSection};
use towpath_launch::segment::{View, descriptors_of_process, open_of_process};

/// Returns a row for each local rank of the job to which process `pid` belongs (a rank, or its
/// mpiexec).
///
/// # Errors
/// An error message for the user if the process does not exist, may not be inspected, or belongs to
/// no job.
pub(super) fn section(pid: u32) -> Result<ReportSection, String> {
    let view = view_of(pid)?;
    let ranks = view.head().local_ranks.load(Ordering::Relaxed) as usize;
    let rows = (0..ranks).map(|rank| row(&view, rank, ranks)).collect();
    let title = format!(
        "The channel of the job of process {pid}: who has a ring to whom, beside the header slots"
    );
    Ok(ReportSection {
        key: "channel",
        title,
        headings: &["receiver", "rings", "from rank (of this host): size, why"],
        rows,
    })
}

/// Maps the job's segment, which each process of the job has among its descriptors.
pub(super) fn view_of(pid: u32) -> Result<View, String> {
    // A memfd or an unlinked file.
    let numbers = descriptors_of_process(pid, "towpath")?;
    let segment =
        numbers.into_iter().find_map(|number| segment_in(open_of_process(pid, number).ok()?));
    segment.ok_or_else(|| {
        format!("Process {pid} belongs to no running job of Towpath. Give the number of a rank or of its mpiexec.")
    })
}

fn segment_in(file: OwnedFd) -> Option<View> {
    let long_enough =
        rustix::fs::fstat(&file).is_ok_and(|status| status.st_size >= 2 * PAGE as i64);
    let head = long_enough.then(|| View::map(file.as_fd(), 1).ok()).flatten()?;
    if head.head().magic.load(Ordering::Acquire) != MAGIC {
        return None;
    }
    View::map(file.as_fd(), head.head().local_ranks.load(Ordering::Relaxed) as usize).ok()
}

fn row(view: &View, rank: usize, ranks: usize) -> ReportRow {
    let shares = view.page(rank).channel.iter().take(ranks).enumerate();
    let shares =
        shares.map(|(from, share)| (from, ChannelShare::decode(share.load(Ordering::Relaxed))));
    let rings: Vec<(usize, ChannelShare)> = shares.filter(|(_, share)| share.pages > 0).collect();
    let bytes = rings.iter().map(|(_, share)| share.bytes()).sum();
    let word = |(from, share): &(usize, ChannelShare)| {
        let why = if share.declared { "declared" } else { "observed" };
        format!("{from}: {}, {why}", CellValue::Bytes(share.bytes()).for_person())
    };
    let text = rings.iter().map(word).collect::<Vec<_>>().join("; ");
    let declared =
        rings.iter().filter(|(_, share)| share.declared).map(|(from, _)| *from).collect();
    let label = format!("rank {rank}");
    ReportRow::new(&rank.to_string(), &label, CellValue::Bytes(bytes), text)
        .with("from", CellValue::Numbers(rings.iter().map(|(from, _)| *from).collect()))
        .with("declared", CellValue::Numbers(declared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_a_job_is_refused_with_a_sentence() {
        // Which of the two errors process 1 gives depends on the caller's privileges.
        let said = section(1).unwrap_err();
        assert!(
            said.contains("belongs to no running job") || said.contains("cannot be inspected"),
            "{said}"
        );
        assert!(section(u32::MAX).unwrap_err().contains("cannot be inspected"));
    }

    #[test]
    fn what_ranks_publish_is_shown() {
        let file = towpath_launch::segment::make(77, 3).unwrap();
        let view = View::map(file.as_fd(), 3).unwrap();
        let shares = [
            (0, ChannelShare { pages: 18, declared: true }),
            (1, ChannelShare { pages: 1, declared: false }),
        ];
        for (from, share) in shares {
            view.page(2).channel[from].store(share.encode(), Ordering::Relaxed);
        }
        let told = row(&view, 2, 3);
        let cells: Vec<String> = told.cells.iter().map(|(_, value)| value.for_person()).collect();
        assert_eq!(cells, ["76.0 KiB", "0: 72.0 KiB, declared; 1: 4.0 KiB, observed"]);
        assert_eq!(row(&view, 0, 3).cells[0].1, CellValue::Bytes(0));
    }
}
