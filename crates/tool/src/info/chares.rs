//! Reports the chares of a running job: rank 0 is asked twice, and tells what all ranks answer.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use towpath_base::sync::Ordering;
use towpath_launch::segment::{descriptors_of_process, open_of_process};
use towpath_machine::chares::{ChareFile, LABEL};

use super::channel::view_of;
use crate::report::{CellValue, ReportRow, ReportSection};
use crate::samples::{CollectionLine, RankLine, Samples};

/// Time between both requests, in which loads are measured.
const MEASURED: Duration = Duration::from_millis(500);
/// How long all ranks may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// More ranks than this are told together.
const EACH: usize = 16;

/// Returns the ranks, and the collections, of the job to which process `pid` belongs (a rank, or
/// its mpiexec).
///
/// # Errors
/// A sentence for the user: the process does not exist, may not be inspected, or has no chares; the
/// ranks do not answer.
pub(super) fn sections(pid: u32) -> Result<Vec<ReportSection>, String> {
    let file = file_of(pid)?;
    let before = answer(&file, true)?;
    sleep(MEASURED);
    let after = answer(&file, false)?;
    Ok(vec![ranks(pid, &before, &after), collections(&after)])
}

/// The file in which rank 0 of the job is asked.
fn file_of(pid: u32) -> Result<ChareFile, String> {
    if let Some(file) = own_file(pid)? {
        return Ok(file);
    }
    let view = view_of(pid).map_err(|_| {
        format!(
            "Process {pid} belongs to no running job of Towpath. With another MPI library, give \
             the process of rank 0, or start the program with TOWPATH_CHARES_REPORT=FILE and read \
             it with towpath load FILE."
        )
    })?;
    let ranks = view.head().local_ranks.load(Ordering::Relaxed) as usize;
    let pids = (0..ranks).map(|rank| view.page(rank).pid.load(Ordering::Relaxed));
    // Ranks that have ended cannot be inspected.
    let found = pids.filter_map(|pid| own_file(pid).ok().flatten()).next();
    found.ok_or_else(|| {
        format!(
            "The job of process {pid} runs no chares now, or its rank 0 is on another host; ask \
             there."
        )
    })
}

/// The file of a process that is rank 0.
fn own_file(pid: u32) -> Result<Option<ChareFile>, String> {
    let numbers = descriptors_of_process(pid, LABEL)?;
    let open = |number| ChareFile::open(open_of_process(pid, number).ok()?);
    Ok(numbers.into_iter().find_map(open))
}

/// Asks all ranks, which begin or end to measure methods.
fn answer(file: &ChareFile, measures: bool) -> Result<Samples, String> {
    let (request, ranks) = (file.ask(measures), file.ranks());
    let begun = Instant::now();
    while file.answers(request) < ranks {
        if begun.elapsed() > PATIENCE {
            let answers = file.answers(request);
            file.ask(false);
            return Err(format!(
                "{answers} of {ranks} ranks have answered within {} s; a rank answers when its \
                 running method returns, and is asked when rank 0 has nothing to receive. Try \
                 again, or start the program with TOWPATH_CHARES_REPORT=FILE.",
                PATIENCE.as_secs()
            ));
        }
        sleep(Duration::from_millis(2));
    }
    let text = file.read().map_err(|error| format!("The answer cannot be read: {error}."))?;
    Samples::read(&text).map_err(|why| {
        format!("The answer is of another version of Towpath than this program: {why}.")
    })
}

fn ranks(pid: u32, before: &Samples, after: &Samples) -> ReportSection {
    let (before, after) = (before.by_rank(), after.by_rank());
    let rows = before.iter().zip(&after).filter_map(|(before, after)| {
        let (before, after) = (before.last()?, after.last()?);
        Some(rank(before, after))
    });
    ReportSection {
        key: "ranks",
        title: format!("Chares of the job of process {pid}"),
        headings: &[
            "rank",
            "chares",
            "load",
            "messages/s",
            "queue",
            "waiting for chares",
            "processed",
            "sent to others",
            "chares that left",
        ],
        rows: rows.collect(),
    }
}

fn rank(before: &RankLine, after: &RankLine) -> ReportRow {
    let seconds = (after.seconds - before.seconds).max(1e-6);
    let load = ((after.busy - before.busy) / seconds).clamp(0.0, 1.0);
    let rate = after.processed.saturating_sub(before.processed) as f64 / seconds;
    let number = |name, number| (name, CellValue::Number(number));
    ReportRow {
        key: after.rank.to_string(),
        label: format!("rank {}", after.rank),
        cells: vec![
            number("chares", after.chares),
            ("load", CellValue::Text(format!("{:.0} %", 100.0 * load))),
            number("messages_per_second", rate as u64),
            number("queue", after.queue),
            number("waiting", after.waiting),
            number("processed", after.processed),
            ("bytes", CellValue::Bytes(after.bytes)),
            number("migrations", after.migrations),
        ],
        further: vec![number("sent", after.sent)],
    }
}

fn collections(samples: &Samples) -> ReportSection {
    let mut by_id: BTreeMap<&str, Vec<&CollectionLine>> = BTreeMap::new();
    for line in &samples.of_collections {
        by_id.entry(&line.id).or_default().push(line);
    }
    ReportSection {
        key: "collections",
        title: "Arrays and groups".to_owned(),
        headings: &["chares", "kind", "number", "waiting for chares", "on each rank"],
        rows: by_id.into_iter().map(|(id, parts)| collection(id, &parts)).collect(),
    }
}

/// The parts of a collection on all ranks.
fn collection(id: &str, parts: &[&CollectionLine]) -> ReportRow {
    let sum = |of: fn(&CollectionLine) -> u64| parts.iter().map(|part| of(part)).sum();
    let mut elements: Vec<(usize, u64)> =
        parts.iter().map(|part| (part.rank, part.elements)).collect();
    elements.sort_unstable();
    let numbers = elements.iter().map(|(_, number)| *number);
    let each = if elements.len() <= EACH {
        let each = elements.iter().map(|(rank, number)| format!("{rank}: {number}"));
        each.collect::<Vec<String>>().join(", ")
    } else {
        let (least, most) = (numbers.clone().min(), numbers.clone().max());
        format!("{} to {}", least.unwrap_or(0), most.unwrap_or(0))
    };
    let (name, kind) = parts.first().map_or(("", ""), |part| (&part.name, &part.kind));
    ReportRow {
        key: id.to_owned(),
        label: name.to_owned(),
        cells: vec![
            ("kind", CellValue::text(kind)),
            ("elements", CellValue::Number(sum(|part| part.elements))),
            ("waiting", CellValue::Number(sum(|part| part.waiting))),
            ("each", CellValue::Text(each)),
        ],
        further: vec![
            ("type", CellValue::text(name)),
            ("by_rank", CellValue::Numbers(numbers.map(|number| number as usize).collect())),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::REPORT;

    #[test]
    fn a_process_without_chares_is_refused_with_a_sentence() {
        // Another test of this process has chares.
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let said = sections(other.id()).unwrap_err();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(
            said.contains("no running job") && said.contains("TOWPATH_CHARES_REPORT"),
            "{said}"
        );
        assert!(sections(u32::MAX).unwrap_err().contains("cannot be inspected"));
    }

    #[test]
    fn ranks_that_answer_are_told() {
        let file = ChareFile::create(2).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while file.request() == 0 {
                    std::thread::yield_now();
                }
                file.write(REPORT).unwrap();
                file.set_answers(1, 2);
            });
            let samples = answer(&file, true).unwrap();
            let cells = |row: &ReportRow| {
                let cells = row.cells.iter().map(|(_, value)| value.for_person());
                std::iter::once(row.label.clone()).chain(cells).collect::<Vec<String>>().join(" ")
            };
            let array = collections(&samples);
            assert_eq!(cells(&array.rows[0]), "Cell array 4 3 0: 2, 1: 2");
            let lines: Vec<&RankLine> = samples.by_rank().remove(1);
            let row = rank(lines[1], lines[2]);
            assert_eq!(cells(&row), "rank 1 2 100 % 0 1 3 9 100 bytes 0");
        });
    }
}
