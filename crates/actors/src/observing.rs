//! How somebody at rank 0 observes all ranks: requests go down the tree of the job, and every rank
//! answers with a sample of its own. Nothing is done as long as nobody asks, and quiescence does
//! not count these messages.
//!
//! A rank answers when its running method has returned, so samples carry their own time. An
//! observer that wants to see the end gets a last sample of every rank after it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::collection::CollectionId;
use crate::control::ControlMessage;
use crate::message::{ActorMessage, MessageKind};
use crate::quiescence::MessageCounts;
use crate::runtime::Runtime;
use crate::sample::RankSample;

/// How long rank 0 waits for the last samples, while no rank can go on without it anyway.
const LONGEST_END: Duration = Duration::from_secs(10);
/// Requests that a rank may leave unanswered before nobody asks any more.
const UNANSWERED: u32 = 4;

/// Who observes the program, at rank 0.
pub trait Observer {
    /// A rank has said what it has. `name` gives the names of types.
    fn sampled(&mut self, sample: &RankSample, name: &dyn Fn(u32) -> String);
}

/// What rank 0 asks of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRequest {
    /// Whether they measure from now on how long methods run.
    pub measures: bool,
    /// Whether they give a last sample when the program has ended.
    pub until_end: bool,
}

/// What runtimes tell each other about samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ObserveMessage {
    /// Answer rank 0, and pass this on in the tree of rank 0.
    Request(SampleRequest),
    /// The answer.
    Sample(RankSample),
}

impl From<ObserveMessage> for ControlMessage {
    fn from(what: ObserveMessage) -> ControlMessage {
        ControlMessage::Observe(what)
    }
}

impl SampleRequest {
    /// The request as a message, which a layer gives rank 0 as if it had arrived.
    #[must_use]
    pub fn message(self) -> ActorMessage {
        ControlMessage::from(ObserveMessage::Request(self)).encoded(CollectionId::SINGLE_CHARES.0)
    }
}

/// A rank's part of the observation.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// When it began, by the layer's clock.
    begun: Option<u64>,
    until_end: bool,
    /// Nanoseconds in which methods have run, while that was measured.
    pub(crate) busy: u64,
    /// Chares that have left.
    pub(crate) migrations: u64,
    /// At rank 0: answers that are missing, and last ones that have come.
    missing: u32,
    ended: u32,
    /// At rank 0: what it had counted when it was asked, and since when it has not changed.
    unchanged: Option<(MessageCounts, u64)>,
}

impl Observation {
    /// The time since it began.
    pub(crate) fn time(&self, now: u64) -> u64 {
        now.saturating_sub(self.begun.unwrap_or(now))
    }

    /// How long these counts have not changed.
    fn unchanged(&mut self, counts: MessageCounts, now: u64) -> Duration {
        let before = self.unchanged.filter(|(before, _)| *before == counts);
        let (_, since) = *self.unchanged.insert(before.unwrap_or((counts, now)));
        Duration::from_nanos(now.saturating_sub(since))
    }
}

/// The observer of a runtime, which has no state that can be shown.
#[derive(Default)]
pub(crate) struct ObserverPlace(Option<Box<dyn Observer>>);

impl fmt::Debug for ObserverPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ObserverPlace")
    }
}

impl Runtime {
    /// At rank 0: gives all samples to an observer. Called before the scheduler runs.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        self.observer.borrow_mut().0 = Some(observer);
    }

    /// At rank 0: asks all ranks for a sample.
    pub fn ask_for_samples(&self, request: SampleRequest) {
        let mut state = self.state.borrow_mut();
        let ranks = state.ranks;
        if state.observation.missing >= UNANSWERED * ranks {
            return;
        }
        state.observation.missing += ranks;
        drop(state);
        self.give_sample(request);
        self.end_if_stalled();
    }

    pub(crate) fn observe_message(&self, what: ObserveMessage) {
        match what {
            ObserveMessage::Request(request) if self.rank() == 0 => self.ask_for_samples(request),
            ObserveMessage::Request(request) => self.give_sample(request),
            ObserveMessage::Sample(sample) => self.take_sample(&sample),
        }
    }

    fn give_sample(&self, request: SampleRequest) {
        let mut state = self.state.borrow_mut();
        state.tell_below(&ObserveMessage::Request(request).into());
        let now = state.layer.time();
        state.observation.begun.get_or_insert(now);
        state.observation.until_end = request.until_end;
        drop(state);
        self.measure_methods(request.measures);
        self.tell_sample(false);
    }

    /// Tells rank 0 what this rank has.
    fn tell_sample(&self, is_last: bool) {
        let sample = RankSample { is_last, ..self.state.borrow().sample() };
        if self.rank() == 0 {
            return self.take_sample(&sample);
        }
        let mut state = self.state.borrow_mut();
        state.tell(0, CollectionId::SINGLE_CHARES, ObserveMessage::Sample(sample));
    }

    /// At rank 0: a rank has said what it has.
    fn take_sample(&self, sample: &RankSample) {
        let mut state = self.state.borrow_mut();
        let observation = &mut state.observation;
        if sample.is_last {
            observation.ended += 1;
        } else {
            observation.missing = observation.missing.saturating_sub(1);
        }
        drop(state);
        if let Some(observer) = &mut self.observer.borrow_mut().0 {
            observer.sampled(sample, &|chare| self.chares.chare_name(chare));
        }
    }

    /// At rank 0: samples keep this rank from waiting for long, after which it would see whether
    /// anything is left to do.
    fn end_if_stalled(&self) {
        let mut state = self.state.borrow_mut();
        let (counts, now) = (state.counts, state.layer.time());
        let unchanged = state.observation.unchanged(counts, now);
        let is_idle = state.queue.is_empty() && counts.outside == 0;
        if is_idle && !state.quiescence.is_active() && unchanged >= state.stall.pause() {
            state.observation.unchanged = None;
            state.stall.begin(now);
            drop(state);
            self.count_messages();
        }
    }

    /// The program has ended: gives the last sample. Rank 0 waits for those of all ranks.
    pub(crate) fn end_observation(&self) {
        if !self.state.borrow().observation.until_end {
            return;
        }
        self.tell_sample(true);
        if self.rank() != 0 {
            return;
        }
        let end = self.state.borrow().layer.time() + LONGEST_END.as_nanos() as u64;
        loop {
            let mut state = self.state.borrow_mut();
            if state.observation.ended >= state.ranks || state.layer.time() >= end {
                return;
            }
            let arrived = state.layer.receive();
            if arrived.is_none() {
                state.layer.wait(Some(LONGEST_END));
            }
            drop(state);
            if let Some(sample) = arrived.and_then(|(_, message)| sample_in(&message)) {
                self.take_sample(&sample);
            }
        }
    }
}

/// The sample that a message brings.
fn sample_in(message: &ActorMessage) -> Option<RankSample> {
    if message.header().kind() != Some(MessageKind::Control) {
        return None;
    }
    match ControlMessage::decoded(message) {
        Some(ControlMessage::Observe(ObserveMessage::Sample(sample))) => Some(sample),
        _ => None,
    }
}
