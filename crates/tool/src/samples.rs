//! Lines of JSON in which programs of chares say what their ranks have, in a report
//! (`TOWPATH_CHARES_REPORT`) or for `towpath info --chares`.
#![forbid(unsafe_code)]

use towpath_base::json::{JsonValue, fields};

/// A rank at one moment. What is counted is counted from the start of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RankLine {
    pub(super) seconds: f64,
    pub(super) rank: usize,
    /// Seconds in which methods have run, while that was measured.
    pub(super) busy: f64,
    pub(super) chares: u64,
    pub(super) queue: u64,
    pub(super) waiting: u64,
    pub(super) sent: u64,
    pub(super) processed: u64,
    pub(super) bytes: u64,
    pub(super) migrations: u64,
}

/// A rank's part of a collection at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CollectionLine {
    pub(super) rank: usize,
    /// `array`, `group` or `chares`.
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) elements: u64,
    pub(super) waiting: u64,
}

/// All lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// The number of ranks, if a first line says it.
    pub(super) ranks: usize,
    pub(super) of_ranks: Vec<RankLine>,
    pub(super) of_collections: Vec<CollectionLine>,
}

/// Most ranks of a report or an answer.
const MOST_RANKS: usize = 10_000_000;

impl Samples {
    /// Reads a report or an answer.
    ///
    /// # Errors
    /// The end of a sentence: which line is none of these.
    pub(super) fn read(text: &str) -> Result<Samples, String> {
        let mut all = Samples::default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        // Of a program that runs or was killed, the last line may be written in part.
        for (number, line) in whole.lines().enumerate() {
            let damaged = || format!("line {} is no line of a report", number + 1);
            let line = ReportLine(fields(line).ok_or_else(damaged)?);
            all.add(&line).ok_or_else(damaged)?;
        }
        Ok(all)
    }

    fn add(&mut self, line: &ReportLine) -> Option<()> {
        // An answer has no line that says how many ranks there are.
        let most = if self.ranks > 0 { self.ranks } else { MOST_RANKS };
        match line.text("line")?.as_str() {
            "report" => self.ranks = line.below(MOST_RANKS, "ranks")?,
            "rank" => self.of_ranks.push(RankLine {
                seconds: line.number("seconds")?,
                rank: line.below(most, "rank")?,
                busy: line.number("busy")?,
                chares: line.count("chares")?,
                queue: line.count("queue")?,
                waiting: line.count("waiting")?,
                sent: line.count("sent")?,
                processed: line.count("processed")?,
                bytes: line.count("bytes")?,
                migrations: line.count("migrations")?,
            }),
            kind => self.of_collections.push(CollectionLine {
                rank: line.below(most, "rank")?,
                kind: kind.to_owned(),
                id: line.text("id")?,
                name: line.text("type")?,
                elements: line.count("elements")?,
                waiting: line.count("waiting")?,
            }),
        }
        Some(())
    }

    /// The samples of each rank, in the order of time.
    pub(super) fn by_rank(&self) -> Vec<Vec<&RankLine>> {
        let seen = self.of_ranks.iter().map(|line| line.rank + 1).max().unwrap_or(0);
        let mut all = vec![Vec::new(); seen.max(self.ranks)];
        self.of_ranks.iter().for_each(|line| all[line.rank].push(line));
        for lines in &mut all {
            lines.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        }
        all
    }
}

/// The fields of a line.
struct ReportLine(Vec<(String, JsonValue)>);

impl ReportLine {
    fn value(&self, name: &str) -> Option<&JsonValue> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            JsonValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// A number that is not negative.
    fn number(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            JsonValue::Number(number) if *number >= 0.0 => Some(*number),
            _ => None,
        }
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.number(name).map(|number| number as u64)
    }

    fn below(&self, most: usize, name: &str) -> Option<usize> {
        self.count(name).map(|number| number as usize).filter(|number| *number < most)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A report of two ranks: rank 0 is always busy, rank 1 for the second half of the time.
    pub(crate) const REPORT: &str = r#"{"line":"report","version":1,"ranks":2,"milliseconds":500}
{"line":"rank","seconds":0,"rank":0,"busy":0,"chares":0,"queue":0,"waiting":0,"sent":0,"processed":0,"bytes":0,"migrations":0,"last":false}
{"line":"rank","seconds":0,"rank":1,"busy":0,"chares":0,"queue":0,"waiting":0,"sent":0,"processed":0,"bytes":0,"migrations":0,"last":false}
{"line":"rank","seconds":2,"rank":1,"busy":0,"chares":1,"queue":0,"waiting":0,"sent":9,"processed":9,"bytes":90,"migrations":0,"last":false}
{"line":"rank","seconds":2,"rank":0,"busy":2,"chares":3,"queue":4,"waiting":0,"sent":5,"processed":7,"bytes":50,"migrations":1,"last":false}
{"line":"rank","seconds":4,"rank":1,"busy":2,"chares":2,"queue":1,"waiting":3,"sent":10,"processed":9,"bytes":100,"migrations":0,"last":true}
{"line":"array","seconds":4,"rank":1,"id":"0.1","type":"Cell","elements":2,"waiting":3}
{"line":"rank","seconds":4,"rank":0,"busy":4,"chares":2,"queue":4,"waiting":0,"sent":5,"processed":7,"bytes":50,"migrations":2,"last":true}
{"line":"array","seconds":4,"rank":0,"id":"0.1","type":"Cell","elements":2,"waiting":0}
{"line":"ra"#;

    #[test]
    fn a_report_is_read_up_to_its_last_whole_line() {
        let samples = Samples::read(REPORT).unwrap();
        assert_eq!((samples.ranks, samples.of_ranks.len()), (2, 6));
        let by_rank = samples.by_rank();
        assert!(by_rank[0].iter().map(|line| line.busy).eq([0.0, 2.0, 4.0]));
        assert_eq!(samples.of_collections[0].name, "Cell");
        assert_eq!(samples.of_collections[0].waiting, 3);
    }

    #[test]
    fn other_files_are_refused_by_line() {
        for (text, line) in [("hello\n", 1), ("{}\n", 1), ("{\"line\":\"rank\"}\n", 1)] {
            let sentence = Samples::read(text).unwrap_err();
            assert!(sentence.contains(&format!("line {line}")), "{sentence}");
        }
        let negative = REPORT.replacen("\"rank\":1", "\"rank\":-1", 1);
        assert!(Samples::read(&negative).unwrap_err().contains("line 3"));
        let huge = REPORT.replacen("\"rank\":1", "\"rank\":1e17", 1);
        assert!(Samples::read(&huge).unwrap_err().contains("line 3"));
        let other = REPORT.replacen("\"rank\":1", "\"rank\":2", 1);
        assert!(Samples::read(&other).unwrap_err().contains("line 3"), "there are two ranks");
        let in_array = REPORT.replace("4,\"rank\":1,\"id\"", "4,\"rank\":9999999,\"id\"");
        assert!(Samples::read(&in_array).unwrap_err().contains("line 7"));
    }
}
