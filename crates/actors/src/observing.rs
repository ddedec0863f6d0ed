//! How somebody at rank 0 observes all ranks: requests go down the tree of the job, and every rank
//! answers with a sample of its own. Nothing is done as long as nobody asks, and quiescence does
//! not count these messages.
//!
//! A rank answers when its running method has returned, so samples carry their own time. An
//! observer that wants to see the end gets a last sample of every rank after it.

use std::time::Duration;

use crate::collection::{Collection, CollectionId};
use crate::control::ControlMessage;
use crate::location::HomeMap;
use crate::message::{ActorMessage, MessageKind};
use crate::quiescence::UnchangedCounts;
use crate::runtime::Runtime;
use crate::sample::{CollectionSample, ObserveMessage, Observer, RankSample, SampleRequest};
use crate::state::State;

/// How long rank 0 waits for the last samples, while no rank can go on without it anyway.
const LONGEST_END: Duration = Duration::from_secs(10);
/// Requests that ranks may leave unanswered before later ones are delayed.
const UNANSWERED: u32 = 4;

impl SampleRequest {
    /// The request as a message, which a layer gives rank 0 as if it had arrived.
    #[must_use]
    pub fn message(self) -> ActorMessage {
        ControlMessage::from(ObserveMessage::Request(self)).encoded(CollectionId::SINGLE_CHARES.0)
    }
}

impl State {
    /// What this rank has now.
    pub(crate) fn sample(&self) -> RankSample {
        let part = |(id, collection): (&CollectionId, &Collection)| CollectionSample {
            collection: *id,
            chare: collection.chare,
            is_group: *collection.location.map() == HomeMap::FirstWord,
            elements: collection.elements.len() as u64,
            waiting: collection.waiting.values().map(Vec::len).sum::<usize>() as u64
                + collection.unfilled.len() as u64,
        };
        let mut collections: Vec<CollectionSample> = self.collections.iter().map(part).collect();
        collections.sort_unstable_by_key(|part| part.collection);
        RankSample {
            rank: self.rank,
            time: self.observation.time(self.layer.time()),
            busy: self.clocks.ran(),
            queue: self.queue.len() as u64,
            waiting: self.counts.waiting,
            sent: self.counts.sent,
            processed: self.counts.processed,
            bytes: self.layer.sent_bytes(),
            migrations: self.observation.migrations,
            is_last: false,
            collections,
        }
    }
}

impl Runtime {
    /// At rank 0: gives all samples to an observer. Called before the scheduler runs.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        self.observer.borrow_mut().0 = Some(observer);
    }

    /// At rank 0: asks all ranks for a sample. Other ranks that have left too many requests
    /// unanswered are asked later, and then for the last one only.
    pub fn ask_for_samples(&self, request: SampleRequest) {
        self.state.borrow_mut().observation.delayed = Some(request);
        if !self.pass_on_request() {
            self.tell_sample(false);
        }
        self.end_if_stalled();
    }

    /// At rank 0: passes on the last request, if there is one and not too many answers are missing.
    /// Whether it has.
    fn pass_on_request(&self) -> bool {
        let mut state = self.state.borrow_mut();
        let others = state.ranks - 1;
        let observation = &mut state.observation;
        if observation.missing + others > UNANSWERED * others {
            return false;
        }
        let Some(request) = observation.delayed.take() else { return false };
        observation.missing += others;
        drop(state);
        self.give_sample(request);
        true
    }

    pub(crate) fn observe_message(&self, what: ObserveMessage) {
        match what {
            ObserveMessage::Request(request) if self.rank() == 0 => self.ask_for_samples(request),
            ObserveMessage::Request(request) => self.give_sample(request),
            ObserveMessage::Sample(sample) => {
                self.take_sample(&sample);
                self.pass_on_request();
            }
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
        } else if sample.rank != 0 {
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
        let unchanged = state.observation.counts.unchanged_for(counts, now);
        let is_idle = state.queue.is_empty();
        if is_idle && !state.quiescence.is_active() && unchanged >= state.stall.pause() {
            state.observation.counts = UnchangedCounts::default();
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
            let rest = Duration::from_nanos(end.saturating_sub(state.layer.time()));
            if state.observation.ended >= state.ranks || rest.is_zero() {
                return;
            }
            let arrived = state.layer.receive();
            if arrived.is_none() {
                state.layer.wait(Some(rest));
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
