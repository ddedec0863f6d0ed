//! What rank 0 writes of the samples of all ranks: into the file that the setting
//! `TOWPATH_CHARES_REPORT` names, and for `towpath info --chares`. Both are lines of JSON.

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::rc::Rc;

use towpath_actors::CollectionId;
use towpath_actors::collection::NO_TYPE;
use towpath_actors::sample::{CollectionSample, Observer, RankSample};
use towpath_base::json::quoted;
use towpath_machine::chares::ChareFile;

thread_local! {
    /// How many jobs of this process have begun a report: one thread runs all.
    static REPORTS: Cell<u32> = const { Cell::new(0) };
}

/// The file for the report of the next job of this process: a report is that of one job.
fn next_file(path: &str) -> String {
    let number = REPORTS.get() + 1;
    REPORTS.set(number);
    if number == 1 { path.to_owned() } else { format!("{path}.{number}") }
}

/// The lines of a sample: one of the rank, and one of each collection that is no empty one.
fn lines(sample: &RankSample, name: &dyn Fn(u32) -> String) -> String {
    let (rank, seconds) = (sample.rank, sample.time as f64 / 1e9);
    let chares: u64 = sample.collections.iter().map(|part| part.elements).sum();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{{\"line\":\"rank\",\"seconds\":{seconds:.6},\"rank\":{rank},\"busy\":{:.6},\
         \"chares\":{chares},\"queue\":{},\"waiting\":{},\"sent\":{},\"processed\":{},\
         \"bytes\":{},\"migrations\":{},\"last\":{}}}",
        sample.busy as f64 / 1e9,
        sample.queue,
        sample.waiting,
        sample.sent,
        sample.processed,
        sample.bytes,
        sample.migrations,
        sample.is_last,
    );
    for part in &sample.collections {
        let CollectionSample { collection, chare, is_group, elements, waiting } = part;
        let kind = match *collection {
            CollectionId::SINGLE_CHARES if elements + waiting == 0 => continue,
            CollectionId::SINGLE_CHARES => "chares",
            _ if *is_group => "group",
            _ => "array",
        };
        let (root, number) = (collection.0 >> 32, collection.0 as u32);
        let (id, name) = match *collection {
            CollectionId::SINGLE_CHARES => (kind.to_owned(), "single chares".to_owned()),
            _ if *chare == NO_TYPE => (format!("{root}.{number}"), "chare".to_owned()),
            _ => (format!("{root}.{number}"), name(*chare)),
        };
        let _ = writeln!(
            text,
            "{{\"line\":\"{kind}\",\"seconds\":{seconds:.6},\"rank\":{rank},\"id\":\"{id}\",\
             \"type\":{},\"elements\":{elements},\"waiting\":{waiting}}}",
            quoted(&name),
        );
    }
    text
}

/// Writes samples.
pub(crate) struct SampleWriter {
    /// The report and its name, unless it could not be written.
    report: Option<(File, String)>,
    file: Option<Rc<ChareFile>>,
    /// For `towpath info`: the last lines of each rank, which ranks have answered, and how many.
    latest: Vec<String>,
    request: u32,
    has_answered: Vec<bool>,
    answers: u32,
}

impl SampleWriter {
    /// The file is that of the job, which has so many ranks.
    pub(crate) fn new(file: Option<Rc<ChareFile>>, ranks: u32) -> SampleWriter {
        let ranks = ranks as usize;
        let (latest, has_answered) = (vec![String::new(); ranks], vec![false; ranks]);
        SampleWriter { report: None, file, latest, request: 0, has_answered, answers: 0 }
    }

    /// Begins a report of samples in a period of so many milliseconds, in the file that the user
    /// has named, or beside it for a later job. Whether it can be written.
    pub(crate) fn begin(&mut self, named: &str, milliseconds: u64) -> bool {
        let (path, ranks) = (next_file(named), self.latest.len());
        let written = File::create(&path).and_then(|mut file| {
            writeln!(
                file,
                "{{\"line\":\"report\",\"version\":1,\"ranks\":{ranks},\
                 \"milliseconds\":{milliseconds}}}"
            )?;
            Ok(file)
        });
        match written {
            Ok(file) => self.report = Some((file, path)),
            Err(error) => eprintln!(
                "towpath: TOWPATH_CHARES_REPORT={path} cannot be written: {error}; the program runs \
                 without a report."
            ),
        }
        self.report.is_some()
    }

    fn write_report(&mut self, text: &str) {
        let Some((file, path)) = &mut self.report else { return };
        if let Err(error) = file.write_all(text.as_bytes()) {
            eprintln!("towpath: the report {path} ends, as it cannot be written: {error}.");
            self.report = None;
        }
    }

    /// Answers `towpath info`, if it has asked, once all ranks have: the text is long.
    fn answer(&mut self, rank: u32, text: String) {
        let Some(file) = &self.file else { return };
        self.latest[rank as usize] = text;
        let request = file.request();
        if request == 0 {
            return;
        }
        if request != self.request {
            (self.request, self.answers) = (request, 0);
            self.has_answered.fill(false);
        }
        if std::mem::replace(&mut self.has_answered[rank as usize], true) {
            return;
        }
        self.answers += 1;
        let is_complete = self.answers as usize == self.latest.len();
        // Without memory for it, the person is told that a rank has not answered.
        if !is_complete || file.write(&self.latest.concat()).is_ok() {
            file.set_answers(request, self.answers);
        }
    }
}

impl Observer for SampleWriter {
    fn sampled(&mut self, sample: &RankSample, name: &dyn Fn(u32) -> String) {
        let text = lines(sample, name);
        self.write_report(&text);
        self.answer(sample.rank, text);
    }
}

#[cfg(test)]
mod tests {
    use towpath_base::json::{JsonValue, fields};

    use super::*;

    fn sample(rank: u32) -> RankSample {
        let part = |id, chare, elements| CollectionSample {
            collection: id,
            chare,
            is_group: false,
            elements,
            waiting: 2,
        };
        let none = CollectionSample { waiting: 0, ..part(CollectionId::SINGLE_CHARES, NO_TYPE, 0) };
        let collections = vec![part(CollectionId::new(1, 4), 7, 5), none];
        RankSample { rank, time: 1_500_000_000, collections, ..RankSample::default() }
    }

    fn name(chare: u32) -> String {
        format!("Cell \"{chare}\"")
    }

    #[test]
    fn a_sample_is_lines_of_json() {
        let text = lines(&sample(3), &name);
        let all: Vec<Vec<(String, JsonValue)>> =
            text.lines().map(|line| fields(line).unwrap()).collect();
        assert_eq!(all.len(), 2, "the empty collection is left out: {text}");
        let find = |line: usize, name: &str| {
            all[line].iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())
        };
        assert_eq!(find(0, "seconds"), Some(JsonValue::Number(1.5)));
        assert_eq!(find(0, "chares"), Some(JsonValue::Number(5.0)));
        assert_eq!(find(1, "type"), Some(JsonValue::Text("Cell \"7\"".to_owned())));
        assert_eq!(find(1, "id"), Some(JsonValue::Text("1.4".to_owned())));
        assert_eq!(find(1, "waiting"), Some(JsonValue::Number(2.0)));
    }

    #[test]
    fn a_person_gets_what_all_ranks_have_answered() {
        let file = Rc::new(ChareFile::create(2).unwrap());
        let mut reporter = SampleWriter::new(Some(file.clone()), 2);
        reporter.sampled(&sample(0), &name);
        assert_eq!(file.read().unwrap(), "", "nobody has asked");
        let request = file.ask(true);
        reporter.sampled(&sample(0), &name);
        reporter.sampled(&sample(0), &name);
        assert_eq!(file.answers(request), 1);
        assert_eq!(file.read().unwrap(), "", "a rank is missing");
        reporter.sampled(&sample(1), &name);
        assert_eq!(file.answers(request), 2);
        let answer = lines(&sample(0), &name) + &lines(&sample(1), &name);
        assert_eq!(file.read().unwrap(), answer);
        let later = RankSample { sent: 7, ..sample(1) };
        reporter.sampled(&later, &name);
        assert_eq!(file.read().unwrap(), answer, "it is written once for each request");
        let request = file.ask(false);
        reporter.sampled(&later, &name);
        reporter.sampled(&sample(0), &name);
        assert_eq!(file.answers(request), 2);
        assert_eq!(file.read().unwrap(), lines(&sample(0), &name) + &lines(&later, &name));
    }

    #[test]
    fn jobs_of_a_process_have_a_report_each() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report").to_str().unwrap().to_owned();
        for job in 1..=3 {
            let mut reporter = SampleWriter::new(None, 2);
            assert!(reporter.begin(&path, 500));
            reporter.sampled(&sample(job % 2), &name);
        }
        for (file, rank) in [(path.clone(), 1), (format!("{path}.2"), 0), (format!("{path}.3"), 1)]
        {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.ends_with(&lines(&sample(rank), &name)), "{text}");
            assert_eq!(text.matches("\"line\":\"report\"").count(), 1);
        }
    }

    #[test]
    fn a_report_that_cannot_be_written_is_none() {
        let mut reporter = SampleWriter::new(None, 1);
        assert!(!reporter.begin("/nonexistent/report", 500));
        reporter.sampled(&sample(0), &name);
    }
}
