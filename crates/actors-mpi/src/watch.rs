//! When rank 0 asks all ranks for samples: for a report, and when `towpath info --chares` asks.

use std::rc::Rc;
use std::time::Duration;

use towpath_actors::ActorMessage;
use towpath_actors::sample::SampleRequest;
use towpath_machine::chares::ChareFile;
use towpath_machine::clock;

/// How long rank 0 waits at most while somebody may ask. A rank that waits for a limited time looks
/// much more often.
const LONGEST: Duration = Duration::from_secs(1);

/// What rank 0 looks at when nothing has arrived.
#[derive(Debug)]
pub(crate) struct RequestWatch {
    /// Where `towpath info --chares` asks, and its last request that was seen.
    file: Option<Rc<ChareFile>>,
    seen: u32,
    report: Option<ReportTimes>,
}

/// Nanoseconds between two samples of a report, and when the next one is due.
#[derive(Debug)]
struct ReportTimes {
    period: u64,
    next: u64,
}

impl RequestWatch {
    /// The file is that of the job. A report wants samples in this period, in nanoseconds.
    pub(crate) fn new(file: Option<Rc<ChareFile>>, period: Option<u64>) -> RequestWatch {
        let times = |period| ReportTimes { period, next: clock::nanoseconds() + period };
        RequestWatch { file, seen: 0, report: period.map(times) }
    }

    /// The request that somebody has, as a message to this rank.
    #[inline]
    pub(crate) fn look(&mut self) -> Option<ActorMessage> {
        let request = self.file.as_ref().map_or(0, |file| file.request());
        if request == self.seen && self.report.is_none() {
            return None;
        }
        self.request(request).map(SampleRequest::message)
    }

    /// How long a rank may wait, unless nobody can ask.
    pub(crate) fn limit(&self) -> Option<Duration> {
        let period = self.report.as_ref().map(|times| Duration::from_nanos(times.period));
        let longest = self.file.as_ref().map(|_| LONGEST);
        period.into_iter().chain(longest).min()
    }

    fn request(&mut self, request: u32) -> Option<SampleRequest> {
        let is_asked = request != self.seen;
        self.seen = request;
        let now = clock::nanoseconds();
        match &mut self.report {
            Some(times) if is_asked || now >= times.next => {
                times.next = now + times.period;
                Some(SampleRequest { measures: true, until_end: true })
            }
            Some(_) => None,
            None => is_asked.then(|| {
                let measures = !request.is_multiple_of(2);
                SampleRequest { measures, until_end: false }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_of_a_person_is_seen_once() {
        let file = Rc::new(ChareFile::create(2).unwrap());
        let mut watch = RequestWatch::new(Some(file.clone()), None);
        assert!(watch.look().is_none() && watch.limit() == Some(LONGEST));
        for measures in [true, false, true, true] {
            let request = file.ask(measures);
            let expected = SampleRequest { measures, until_end: false };
            assert_eq!(watch.request(request), Some(expected));
            assert!(watch.look().is_none());
        }
        file.ask(false);
        assert!(watch.look().is_some() && watch.look().is_none());
    }

    #[test]
    fn a_report_has_its_period() {
        let mut watch = RequestWatch::new(None, Some(20_000_000));
        assert!(watch.look().is_none(), "the first one is due after a period");
        std::thread::sleep(watch.limit().unwrap());
        assert!(watch.look().is_some());
        assert!(watch.look().is_none());
        assert_eq!(RequestWatch::new(None, None).limit(), None, "nobody can ask");
    }
}
