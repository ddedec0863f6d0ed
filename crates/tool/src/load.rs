//! `towpath load`: how much the ranks of a program of chares have done over time, out of its
//! report, in words and as a picture.
#![forbid(unsafe_code)]

mod picture;

use std::path::PathBuf;

use crate::report::{self, CellValue, ReportRow, ReportSection};
use crate::samples::{RankLine, Samples};

pub(super) const HELP: &str = "\
Usage: towpath load REPORT [--draw PICTURE.png] [--json]

Prints how much each rank of a program of chares has done, and how evenly. REPORT is the file that the program has
written or still writes, named by TOWPATH_CHARES_REPORT. The load of a rank is the part of the time in which methods
of its chares have run.

  --draw PICTURE.png
               draws the load of each rank over time, and when chares migrated
  --json       one JSON object instead of text: section, row, cell
  -h, --help   print this
";

/// The options of the command line.
struct LoadOptions {
    report: String,
    picture: Option<PathBuf>,
    json: bool,
}

/// Parses the options, draws the picture that they ask for, and returns the text or JSON.
pub(super) fn answer(arguments: &[String]) -> Result<String, String> {
    let LoadOptions { report, picture, json } = read(arguments)?;
    let text = std::fs::read(&report).map_err(|error| format!("{report}: {error}."))?;
    let samples = Samples::read(&String::from_utf8_lossy(&text));
    let samples = samples.map_err(|why| format!("{report} is no report of chares: {why}."))?;
    let ranks = samples.by_rank();
    if ranks.iter().all(|lines| lines.len() < 2) {
        return Err(format!(
            "{report} has no two samples of a rank; let the program run longer, or set \
             TOWPATH_CHARES_REPORT_MILLISECONDS to less."
        ));
    }
    let sections = [evenness(&ranks), of_ranks(&ranks)];
    let mut text = if json { report::to_json(&sections) } else { report::to_text(&sections) };
    if let Some(path) = picture {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}.", path.display());
        let drawn = picture::draw(&ranks).map_err(|error| failed(&error))?;
        std::fs::write(&path, drawn).map_err(|error| failed(&error))?;
        if !json {
            text.push_str(&format!("\nThe picture is in {}.\n", path.display()));
        }
    }
    Ok(text)
}

fn read(arguments: &[String]) -> Result<LoadOptions, String> {
    let (mut report, mut picture, mut json) = (None, None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.split_once('=').map_or((argument.as_str(), None), |(n, v)| (n, Some(v))) {
            ("--json", None) => json = true,
            ("--draw", path) => {
                let path = path.map(str::to_owned).or_else(|| rest.next().cloned());
                picture = Some(path.ok_or("--draw needs the name of a picture.")?.into());
            }
            (option, _) if option.starts_with('-') => {
                return Err(format!(
                    "towpath load has no option {argument}; it has --draw PICTURE.png, --json and \
                     --help."
                ));
            }
            _ if report.is_some() => {
                return Err(format!("towpath load reads one report, and not {argument} too."));
            }
            _ => report = Some(argument.clone()),
        }
    }
    let report = report.ok_or(
        "A report is missing: towpath load REPORT. Programs of chares write one if \
         TOWPATH_CHARES_REPORT names a file.",
    )?;
    Ok(LoadOptions { report, picture, json })
}

/// The part of the time between two moments in which methods ran.
fn load_between(lines: &[&RankLine], from: f64, to: f64) -> f64 {
    let busy = |at: f64| {
        let after = lines.partition_point(|line| line.seconds <= at);
        match (after.checked_sub(1).map(|before| lines[before]), lines.get(after)) {
            (Some(before), Some(next)) => {
                let part = (at - before.seconds) / (next.seconds - before.seconds);
                before.busy + part * (next.busy - before.busy)
            }
            (Some(last), None) => last.busy,
            (None, _) => 0.0,
        }
    };
    if to > from { ((busy(to) - busy(from)) / (to - from)).clamp(0.0, 1.0) } else { 0.0 }
}

/// When the last sample was taken.
fn end(ranks: &[Vec<&RankLine>]) -> f64 {
    ranks.iter().flatten().map(|line| line.seconds).fold(0.0, f64::max)
}

/// So many ranks.
fn counted(ranks: usize) -> String {
    if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// Parts of the time for which evenness is told.
const PARTS: usize = 4;

/// How evenly the ranks were loaded, in all and in each part of the time.
fn evenness(ranks: &[Vec<&RankLine>]) -> ReportSection {
    let end = end(ranks);
    let part = |number: usize| end * number as f64 / PARTS as f64;
    let all = [("all".to_owned(), 0.0, end)].into_iter();
    let parts = (0..PARTS).map(|number| {
        let (from, to) = (part(number), part(number + 1));
        (format!("{from:.1} s to {to:.1} s"), from, to)
    });
    let rows = all.chain(parts).map(|(name, from, to)| {
        let loads: Vec<f64> = ranks.iter().map(|lines| load_between(lines, from, to)).collect();
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        let least = loads.iter().copied().fold(1.0, f64::min);
        let most = loads.iter().copied().fold(0.0, f64::max);
        let ratio = if mean > 0.0 { format!("{:.2}", most / mean) } else { "-".to_owned() };
        ReportRow {
            key: name.clone(),
            label: name,
            cells: vec![
                ("least", CellValue::Text(percent(least))),
                ("mean", CellValue::Text(percent(mean))),
                ("most", CellValue::Text(percent(most))),
                ("most_by_mean", CellValue::Text(ratio)),
            ],
            further: Vec::new(),
        }
    });
    ReportSection {
        key: "evenness",
        title: format!("Load of {} in {end:.1} s", counted(ranks.len())),
        headings: &["time", "least", "mean", "most", "most / mean"],
        rows: rows.collect(),
    }
}

/// A row for each rank.
fn of_ranks(ranks: &[Vec<&RankLine>]) -> ReportSection {
    let end = end(ranks);
    let rows = ranks.iter().enumerate().filter_map(|(rank, lines)| {
        let last = lines.last()?;
        Some(ReportRow {
            key: rank.to_string(),
            label: format!("rank {rank}"),
            cells: vec![
                ("load", CellValue::Text(percent(load_between(lines, 0.0, end)))),
                ("chares", CellValue::Number(last.chares)),
                ("processed", CellValue::Number(last.processed)),
                ("queue", CellValue::Number(lines.iter().map(|line| line.queue).max()?)),
                ("bytes", CellValue::Bytes(last.bytes)),
                ("migrations", CellValue::Number(last.migrations)),
            ],
            further: vec![
                ("busy_microseconds", CellValue::Number((last.busy * 1e6) as u64)),
                ("samples", CellValue::Number(lines.len() as u64)),
            ],
        })
    });
    ReportSection {
        key: "ranks",
        title: "Ranks".to_owned(),
        headings: &[
            "rank",
            "load",
            "chares at the end",
            "messages processed",
            "longest queue",
            "sent to others",
            "chares that left",
        ],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::REPORT;

    fn ask(words: &[&str]) -> Result<String, String> {
        answer(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn loads_are_told_for_all_of_the_time_and_for_parts_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        std::fs::write(&path, REPORT).unwrap();
        let picture = directory.path().join("picture.png");
        let [path, picture] = [&path, &picture].map(|path| path.to_str().unwrap());
        let text = ask(&[path, "--draw", picture]).unwrap();
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let expected = "all 50 % 75 % 100 % 1.33";
        assert!(rows.contains(&expected.split(' ').collect()), "{text}");
        assert!(
            rows.contains(&"0.0 s to 1.0 s 0 % 50 % 100 % 2.00".split(' ').collect()),
            "{text}"
        );
        assert!(rows.contains(&"rank 1 50 % 2 9 1 100 bytes 0".split(' ').collect()), "{text}");
        assert!(std::fs::read(picture).unwrap().starts_with(b"\x89PNG"), "{text}");
        let json = ask(&[path, "--json"]).unwrap();
        assert!(json.contains(r#""most_by_mean": "1.33""#), "{json}");
    }

    #[test]
    fn many_ranks_share_strips_of_a_picture() {
        let report = REPORT.replacen("\"ranks\":2", "\"ranks\":1000000", 1);
        let samples = Samples::read(&report).unwrap();
        let drawn = picture::draw(&samples.by_rank()).unwrap();
        assert!(drawn.starts_with(b"\x89PNG"));
        // The height is behind the signature, the name and length of the head, and the width.
        let height = u32::from_be_bytes(drawn[20..24].try_into().unwrap());
        assert!(height < 5000, "{height}");
    }

    #[test]
    fn mistakes_are_sentences() {
        assert!(ask(&[]).unwrap_err().contains("TOWPATH_CHARES_REPORT"));
        assert!(ask(&["/nonexistent/r"]).unwrap_err().contains("/nonexistent/r: "));
        assert!(ask(&["a", "b"]).unwrap_err().contains("one report"));
        assert!(ask(&["a", "--drew"]).unwrap_err().contains("--draw"));
        assert!(ask(&["a", "--draw"]).unwrap_err().contains("name of a picture"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        std::fs::write(&path, "no report\n").unwrap();
        let path = path.to_str().unwrap();
        assert!(ask(&[path]).unwrap_err().contains("line 1"));
        std::fs::write(path, REPORT.lines().next().unwrap()).unwrap();
        assert!(ask(&[path]).unwrap_err().contains("no two samples"));
    }
}
