//! Nonblocking and persistent collectives on boards of their own.
//!
//! A team on one host gets a board with its first nonblocking call. Calls use it one after another,
//! in the order in which the program starts them, which is the same on all members (MPI 5.0,
//! section 6.12). That costs hardly any overlap, since the processors of this host do all of the
//! work. A call that all members have started can always be completed, because they have started
//! all earlier ones too. A persistent operation has a board and a queue of its own, since members
//! may start several in different orders, unless the program asserts that they do not.
//!
//! Whatever needs messages (finding the board, and calls that cannot use it) waits in the same
//! queue. The messages of a call have one sequence number. A member goes on to the next exchange
//! only once it has received all of the last one, and messages of a pair arrive in order, so they
//! match.

use std::sync::{Arc, Mutex};

use towpath_engine::messages::Messages;
use towpath_schedule::barrier::barrier;
use towpath_schedule::broadcast::bcast;
use towpath_schedule::{
    Buffer, Call, CallSignature, Element, HostCopies, Operation, PlanError, Selection, Team,
};

use super::limits::longest_message;
use super::queue::{BoardQueue, BoardState};
use super::{
    BoardOffer, BoardOutcome, CallState, CompleteCall, Member, NumberedCall, PendingCall, TeamBoard,
};
use crate::device_agreement::{self, DeviceAgreement, DeviceWords, ReductionSite};
use crate::failure::Failure;
use crate::memory::copy_pieces;
use crate::order::CallOrder;
use crate::run::{Progress, Run};

/// The member that calls, with what a call in a queue needs to know of its team and host.
pub trait QueueOwner: Member + Clone + 'static {
    /// The engine of the process.
    type Engine: Messages;
    /// The team, with the context of its collectives.
    fn team(&self) -> Team;
    /// The algorithms by messages.
    fn selection(&self) -> &Selection;
    /// Makes a board and offers it, on member 0; [`BoardOffer::NOTHING`] if there is no memory for
    /// it, and on other members. One that serves a single operation, in which a member posts
    /// `longest` bytes at most, leaves memory for others.
    fn offer(&self, engine: &mut Self::Engine, longest: Option<usize>) -> BoardOffer;
    /// The offer once all members have announced their affinity, on member 0.
    fn look_again(&self, offer: BoardOffer) -> BoardOffer;
    /// Joins the board that was offered.
    fn join(&self, engine: &Self::Engine, offer: BoardOffer) -> TeamBoard;
}

/// A call in a queue, nonblocking or persistent.
pub struct QueuedCall<O> {
    /// Dropped first: what is under way accesses the other parts.
    stage: Stage,
    owner: O,
    queue: Arc<Mutex<BoardQueue>>,
    is_persistent: bool,
    /// True if no other call uses the queue.
    owns_queue: bool,
    /// True if this is a part of a call, whose other parts may use the board too.
    is_part: bool,
    /// `None` while the call is under way on the board.
    operation: Option<Operation>,
    copies: HostCopies,
    /// Where it is computed, once the members know that of a long reduction.
    site: Option<ReductionSite>,
    /// What its messages and lines say of it.
    signature: CallSignature,
    /// Its number among the calls that may use the board: from its sequence number, or for a
    /// persistent operation that of the start.
    number: u64,
    /// The turn that the call has or waits for; `None` if it is over, or runs by messages whatever
    /// others do.
    turn: Option<u32>,
    /// The sequence number of its messages.
    sequence: u64,
    /// How a persistent operation runs by messages, once it has done so.
    run: Option<Box<Run>>,
    /// Its place among the calls of its communicator, if it is told to other processes.
    pub(crate) order: Option<CallOrder>,
    /// Why it must end.
    failure: Option<Failure>,
}

/// How far a nonblocking call has come at its beginning.
pub enum Begun<O> {
    /// It is over.
    Over {
        /// True if another rank sent more than this one expects.
        is_truncated: bool,
    },
    /// It waits for other members, or for its turn.
    Waiting(Box<QueuedCall<O>>),
    /// It must run by messages.
    ByMessages((Operation, HostCopies)),
}

enum Stage {
    /// It is another call's turn, or what comes next is not decided yet.
    Waiting,
    /// The members exchange something about the board.
    Agreeing(Box<Agreement>),
    OnBoard(PendingCall),
    ByMessages(Box<Run>),
    /// The blocks that are too long for the board come by messages.
    Apart(Box<Run>),
    Over,
}

// SAFETY: the pointers of a call are dereferenced only by its own functions, which need it
// exclusively, and it moves between threads as a whole.
unsafe impl<O: Send> Send for QueuedCall<O> {}

/// What the members exchange about the board.
#[derive(Clone, Copy, Debug)]
enum Subject {
    /// Whether there is a board, and where.
    Offer,
    /// Where a long reduction is computed.
    Site,
    /// Nothing: all members reach this point.
    Presence(BoardOffer),
    /// The offer, when member 0 has looked again.
    CertainOffer,
    /// Whether the board has areas.
    Areas,
}

/// An exchange about the board.
struct Agreement {
    /// Dropped before the words that it writes.
    run: Run,
    words: Box<DeviceWords>,
    subject: Subject,
}

impl<O: QueueOwner> QueuedCall<O> {
    /// The nonblocking call with this turn in the queue of its communicator.
    ///
    /// # Safety
    /// The memory that the operation and the copies name must live until the call is over.
    pub unsafe fn new(
        owner: O,
        queue: Arc<Mutex<BoardQueue>>,
        work: (Operation, HostCopies),
        (turn, sequence): (u32, u64),
    ) -> QueuedCall<O> {
        let mut call = QueuedCall::hold(owner, queue, work, (Some(turn), sequence));
        // SAFETY: this function has the same contract.
        unsafe { call.start_again() };
        call
    }

    /// Begins the nonblocking call that comes next in a queue. If the board is there and no other
    /// call uses it, the call is tried to its end.
    ///
    /// # Safety
    /// The memory that the operation and the copies name must live until the call is over.
    pub unsafe fn begin(
        member: &mut dyn Member,
        owner: impl FnOnce() -> O,
        queue: &Arc<Mutex<BoardQueue>>,
        (operation, copies): (Operation, HostCopies),
        sequence: u64,
    ) -> Begun<O> {
        let mut held = queue.lock().unwrap();
        let board = if copies.is_empty() { held.take_idle_board(&operation) } else { None };
        let Some(board) = board else {
            let owner = owner();
            let turn = held.enter(&operation, owner.selection(), owner.team().size());
            let Some(turn) = turn else { return Begun::ByMessages((operation, copies)) };
            drop(held);
            let work = (operation, copies);
            // SAFETY: this function has the same contract.
            let call = unsafe { QueuedCall::new(owner, queue.clone(), work, (turn, sequence)) };
            return Begun::Waiting(Box::new(call));
        };
        let (signature, number) = (CallSignature::of(&operation), number_of(sequence, 0));
        let mut call = held.spare.take().unwrap_or_default();
        let numbered = NumberedCall { mark: signature.mark(), number };
        // SAFETY: the buffers live until the call is over (this function's contract).
        unsafe { call.start(operation, numbered, board) };
        let state = call.poll(member);
        if let CallState::Complete(CompleteCall { operation, board, outcome }) = &state
            && !board.sends_apart(operation, *outcome)
        {
            let is_truncated = *outcome == BoardOutcome::Truncated;
            if let CallState::Complete(complete) = state {
                held.give_back(complete.board, call, complete.outcome);
            }
            return Begun::Over { is_truncated };
        }
        let turn = held.take_turn();
        drop(held);
        let mut waiting = QueuedCall {
            stage: Stage::OnBoard(call),
            signature,
            number,
            owner: owner(),
            queue: queue.clone(),
            is_persistent: false,
            owns_queue: false,
            is_part: false,
            operation: None,
            copies,
            site: None,
            turn: Some(turn),
            sequence,
            run: None,
            order: None,
            failure: None,
        };
        if let CallState::Complete(complete) = state {
            waiting.leave_board(complete);
        }
        Begun::Waiting(Box::new(waiting))
    }

    /// A call that is over until [`QueuedCall::start_again`]: a persistent one, or one that has
    /// its turn already and must be started once.
    pub fn hold(
        owner: O,
        queue: Arc<Mutex<BoardQueue>>,
        (operation, copies): (Operation, HostCopies),
        (turn, sequence): (Option<u32>, u64),
    ) -> QueuedCall<O> {
        let signature = CallSignature::of(&operation);
        QueuedCall {
            stage: Stage::Over,
            signature,
            number: number_of(sequence, 0),
            owner,
            queue,
            is_persistent: turn.is_none(),
            owns_queue: turn.is_none(),
            is_part: false,
            operation: Some(operation),
            copies,
            site: None,
            turn,
            sequence,
            run: None,
            order: None,
            failure: None,
        }
    }

    /// Makes the messages and lines of the call name another one, of which it is the part with this
    /// index.
    pub fn as_part(mut self, part: u64, signature: CallSignature) -> QueuedCall<O> {
        (self.number, self.signature) = (number_of(self.sequence, part), signature);
        self.is_part = true;
        self
    }

    /// Makes a persistent operation one of several in its queue, which all members start in the
    /// same order.
    pub fn among_others(mut self) -> QueuedCall<O> {
        self.owns_queue = false;
        self
    }

    /// Makes a call that is over another one, with a sequence number and a turn of its own.
    ///
    /// # Panics
    /// If the call is under way.
    pub fn renew(&mut self, sequence: u64) {
        assert!(matches!(self.stage, Stage::Over), "a call was renewed before it was over");
        self.sequence = sequence;
        self.number = renumbered(self.number, sequence);
        self.run.iter_mut().for_each(|run| run.renumber(sequence));
        let operation = self.operation.as_ref().expect("the call is not under way");
        let (selection, ranks) = (self.owner.selection(), self.owner.team().size());
        self.turn = self.queue.lock().unwrap().enter(operation, selection, ranks);
    }

    /// Bytes of memory that a call that is over occupies, besides its operation.
    pub fn bytes(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.bytes())
    }

    /// Starts a call that is held.
    ///
    /// # Safety
    /// The contract of [`QueuedCall::new`] applies.
    ///
    /// # Panics
    /// If the call is under way.
    pub unsafe fn start_again(&mut self) {
        assert!(matches!(self.stage, Stage::Over), "a call was started again before it was over");
        self.stage = Stage::Waiting;
        if self.is_persistent {
            (self.turn, self.number) = self.take_turn();
        }
    }

    /// The turn of a persistent operation that is started, and the number of the start.
    fn take_turn(&self) -> (Option<u32>, u64) {
        let mut queue = self.queue.lock().unwrap();
        let number = queue.count_start();
        if self.owns_queue {
            return (Some(queue.take_turn()), number);
        }
        let operation = self.operation.as_ref().expect("the call is not under way");
        (queue.enter(operation, self.owner.selection(), self.owner.team().size()), number)
    }

    /// Goes on with the call as far as possible without waiting, like [`Run::post`]. Also returns
    /// true if it has moved: before a thread sleeps, it must announce its sleep once more and then
    /// call this again ([`CallState::Pending`]).
    pub fn post(&mut self, engine: &mut O::Engine) -> (Progress, bool) {
        let mut has_moved = false;
        loop {
            let progress = match &mut self.stage {
                Stage::Waiting if self.failure.is_some() => return (self.abandon(), true),
                Stage::Waiting => match self.next_stage(engine) {
                    Ok(None) => return (Progress::Running, has_moved),
                    next => self.enter(next.map(|stage| stage.expect("there is a stage"))),
                },
                Stage::Agreeing(agreement) => match agreement.run.post(engine) {
                    Progress::Running => return (Progress::Running, has_moved),
                    Progress::Compute => {
                        agreement.run.compute();
                        None
                    }
                    Progress::Done => {
                        let (subject, words) = (agreement.subject, *agreement.words);
                        let next = self.learn(subject, words, engine);
                        self.enter(next)
                    }
                    failed @ Progress::Failed(_) => Some(failed),
                },
                Stage::OnBoard(call) => match call.poll(&mut self.owner) {
                    CallState::Pending { has_moved: moved } => {
                        return (Progress::Running, has_moved | moved);
                    }
                    CallState::Complete(call) => match self.leave_board(call) {
                        Some(progress) => return (progress, true),
                        None => None,
                    },
                },
                Stage::ByMessages(run) | Stage::Apart(run) => match run.post(engine) {
                    progress @ (Progress::Running | Progress::Compute) => {
                        return (progress, has_moved);
                    }
                    over => Some(over),
                },
                Stage::Over => unreachable!("a call that is over is not posted"),
            };
            has_moved = true;
            if let Some(outcome) = progress {
                self.end(outcome);
                return (outcome, has_moved);
            }
        }
    }

    /// Enters the next stage, or returns the failure to build its plan.
    fn enter(&mut self, next: Result<Stage, PlanError>) -> Option<Progress> {
        match next {
            Ok(stage) => {
                self.stage = stage;
                None
            }
            Err(error) => Some(Progress::Failed(Failure::Plan(error))),
        }
    }

    /// Ends a call that is complete on the board, and takes back its operation and the board.
    /// `None` if it goes on by messages.
    fn leave_board(&mut self, call: CompleteCall) -> Option<Progress> {
        let CompleteCall { operation, mut board, outcome } = call;
        // A call that was to end may have been complete already.
        let failure = self.failure.take();
        let mut next = Stage::Over;
        let progress = match outcome {
            _ if board.sends_apart(&operation, outcome) => {
                next = self.apart(&mut board, &operation, outcome);
                None
            }
            BoardOutcome::Complete => Some(Progress::Done),
            BoardOutcome::Truncated => Some(Progress::Failed(Failure::Truncated)),
            BoardOutcome::OutOfStep => {
                Some(Progress::Failed(failure.unwrap_or_else(|| board.mismatch())))
            }
        };
        self.operation = Some(operation);
        if progress.is_some() {
            self.copy_results();
        }
        let mut queue = self.queue.lock().unwrap();
        if let Stage::OnBoard(pending) = std::mem::replace(&mut self.stage, next) {
            queue.give_back(board, pending, outcome);
        }
        if let Some(turn) = self.turn.take() {
            queue.pass(turn);
        }
        progress
    }

    /// Copies what a call has received to where it belongs, if it has host copies.
    fn copy_results(&self) {
        // SAFETY: the buffers live until the call is over (contract of `new`), and the copies are
        // memory of their own.
        unsafe { copy_pieces(self.copies.after(), &mut std::thread::yield_now) };
    }

    /// Starts the messages of a call that sends blocks apart. Without them it fails.
    fn apart(
        &mut self,
        board: &mut TeamBoard,
        operation: &Operation,
        outcome: BoardOutcome,
    ) -> Stage {
        let team = self.owner.team();
        let call = Call { team: &team, selection: self.owner.selection() };
        // SAFETY: the buffers live until the call is over (contract of `new`).
        let run = unsafe { board.messages_apart(operation, outcome, &call, Some(self.sequence)) };
        match run {
            Ok(run) => Stage::Apart(run),
            Err(error) => {
                self.failure = Some(Failure::Plan(error));
                Stage::Waiting
            }
        }
    }

    /// Executes the copies and reductions that are ready, like [`Run::compute`].
    pub fn compute(&mut self) {
        if let Stage::ByMessages(run) | Stage::Apart(run) = &mut self.stage {
            run.compute();
        }
    }

    /// Looks for members in other calls, like [`Run::find_mismatch`]. A call on the board looks
    /// when it is posted next, so the result is true.
    pub fn find_mismatch(&mut self, engine: &mut O::Engine) -> bool {
        match &mut self.stage {
            Stage::ByMessages(run) | Stage::Apart(run) => run.find_mismatch(engine),
            Stage::Agreeing(agreement) => agreement.run.find_mismatch(engine),
            Stage::OnBoard(call) => {
                call.look_for_mismatch();
                true
            }
            Stage::Waiting | Stage::Over => false,
        }
    }

    /// Ends the call, like [`CollectiveRun::fail`](crate::CollectiveRun::fail).
    pub fn fail(&mut self, failure: Failure, engine: &mut O::Engine) {
        match &mut self.stage {
            Stage::ByMessages(run) | Stage::Apart(run) => run.fail(failure, engine),
            Stage::Agreeing(agreement) => agreement.run.fail(failure, engine),
            Stage::OnBoard(call) => {
                call.stop();
                self.failure = Some(failure);
            }
            Stage::Waiting => self.failure = Some(failure),
            Stage::Over => {}
        }
    }

    /// Ends a call that must end before its turn.
    #[cold]
    fn abandon(&mut self) -> Progress {
        self.stage = Stage::Over;
        if let Some(turn) = self.turn.take() {
            self.queue.lock().unwrap().abandon(turn);
        }
        Progress::Failed(self.failure.take().expect("a call that is abandoned has failed"))
    }

    /// What it calls.
    pub(crate) fn signature(&self) -> CallSignature {
        self.signature
    }

    /// True while the call waits for members on the board.
    pub fn is_on_board(&self) -> bool {
        matches!(self.stage, Stage::OnBoard(_))
    }

    /// Number of copies and reductions that devices work on, like [`Run::device_work`].
    pub fn device_work(&self) -> usize {
        match &self.stage {
            Stage::ByMessages(run) | Stage::Apart(run) => run.device_work(),
            _ => 0,
        }
    }

    /// Ends a call that is not on the board. The next one has its turn. If an exchange about the
    /// board has failed, because a member was lost or there is no memory, later calls of this
    /// member go by messages.
    fn end(&mut self, outcome: Progress) {
        let failure = match outcome {
            Progress::Failed(failure) => Some(failure),
            _ => None,
        };
        // After other failures messages may still be on their way.
        if matches!(self.stage, Stage::Apart(_)) && !failure.is_some_and(Failure::leaves_steps) {
            self.copy_results();
        }
        let mut queue = self.queue.lock().unwrap();
        let has_failed = matches!(failure, Some(Failure::Plan(_)));
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::ByMessages(run) => self.run = Some(run),
            Stage::Agreeing(agreement) => {
                queue.board = BoardState::Missing;
                // Messages to the members that are left may still read it.
                Box::leak(agreement.words);
            }
            Stage::Apart(_) if failure.is_some_and(Failure::is_out_of_step) => queue.leave(),
            _ if has_failed => queue.board = BoardState::Missing,
            _ => {}
        }
        if let Some(turn) = self.turn.take() {
            queue.pass(turn);
        }
    }

    /// What follows once it is this call's turn; `None` before.
    fn next_stage(&mut self, engine: &mut O::Engine) -> Result<Option<Stage>, PlanError> {
        let Some(turn) = self.turn else { return self.by_messages().map(Some) };
        let mut queue = self.queue.lock().unwrap();
        if queue.over != turn {
            return Ok(None);
        }
        let operation = self.operation.as_ref().expect("the call is not under way");
        let may_use = !matches!(self.site, Some(ReductionSite::Vectors(_)));
        match std::mem::take(&mut queue.board) {
            BoardState::Unknown => {
                let longest = || match self.is_part {
                    true => usize::MAX,
                    false => longest_message(operation, self.owner.team().size()),
                };
                let offer = self.owner.offer(engine, self.owns_queue.then(longest));
                self.ask(Subject::Offer, offer.word()).map(Some)
            }
            BoardState::Made(board)
                if self.site.is_none() && !self.is_part && board.must_ask_for_site(operation) =>
            {
                queue.board = BoardState::Made(board);
                self.ask(Subject::Site, 0).map(Some)
            }
            BoardState::Made(board) if may_use && board.must_ask_for_areas(operation) => {
                let provided = u64::from(board.provide_areas());
                queue.board = BoardState::Made(board);
                self.ask(Subject::Areas, provided).map(Some)
            }
            BoardState::Made(board) if may_use && board.serves(operation) => {
                let call = queue.spare.take().unwrap_or_default();
                drop(queue);
                Ok(Some(self.on_board(board, call)))
            }
            // A persistent operation gives up a board of its own that serves none of its phases.
            board => {
                let is_unused = matches!(&board, BoardState::Made(board) if board.calls() == 0);
                let gives_up = self.owns_queue && is_unused;
                queue.board = if gives_up { BoardState::Missing } else { board };
                drop(queue);
                self.by_messages().map(Some)
            }
        }
    }

    /// Starts the call on the board.
    fn on_board(&mut self, board: Box<TeamBoard>, mut call: PendingCall) -> Stage {
        let operation = self.operation.take().expect("the call is not under way");
        let numbered = NumberedCall { mark: self.signature.mark(), number: self.number };
        // SAFETY: the buffers live until the call is over (contract of `new`), and the copies are
        // memory of their own.
        unsafe {
            copy_pieces(self.copies.before(), &mut std::thread::yield_now);
            call.start(operation, numbered, board);
        }
        Stage::OnBoard(call)
    }

    /// Starts the call by messages.
    fn by_messages(&mut self) -> Result<Stage, PlanError> {
        let mut run = match self.run.take() {
            Some(run) => run,
            None => {
                let operation = self.operation.as_ref().expect("the call is not under way");
                let team = self.owner.team();
                let call = Call { team: &team, selection: self.owner.selection() };
                let spread = match self.site {
                    Some(ReductionSite::Vectors(spread)) => spread,
                    _ => None,
                };
                let mut plan = self.copies.plan(&call, operation, spread)?;
                plan.signature = self.signature;
                Box::new(Run::hold(plan, self.sequence))
            }
        };
        self.queue.lock().unwrap().attend(&mut run, self.number);
        // SAFETY: the memory that the plan names lives until the call is over (contract of `new`).
        unsafe { run.start_again() };
        Ok(Stage::ByMessages(run))
    }

    /// Starts an exchange in which all members get the word of member 0, or what follows from the
    /// words of all.
    fn ask(&self, subject: Subject, word: u64) -> Result<Stage, PlanError> {
        let team = self.owner.team();
        let call = Call { team: &team, selection: self.owner.selection() };
        let mut words = Box::new([word, 0]);
        let mut plan = match subject {
            Subject::Presence(_) => barrier(&call)?,
            Subject::Site => {
                let operation = self.operation.as_ref().expect("the call is not under way");
                let mut agreement = DeviceAgreement::new(operation, &self.copies, team.rank);
                let plan = agreement.exchange().plan(&call)?;
                words = agreement.into_words();
                plan
            }
            _ => {
                let pointer = words.as_mut_ptr().cast();
                bcast(&call, 0, &Buffer { pointer, count: 1, element: Element::dense(8) })?
            }
        };
        plan.signature = self.signature.about_board();
        // SAFETY: the plan names only `words`, which are dropped after the run.
        let run = unsafe { Run::start(plan, self.sequence) };
        Ok(Stage::Agreeing(Box::new(Agreement { run, words, subject })))
    }

    /// Keeps what the members have agreed on, and returns what follows.
    fn learn(
        &mut self,
        subject: Subject,
        words: DeviceWords,
        engine: &mut O::Engine,
    ) -> Result<Stage, PlanError> {
        let word = words[0];
        let board = match subject {
            Subject::Offer if BoardOffer::from_word(word).is_uncertain() => {
                return self.ask(Subject::Presence(BoardOffer::from_word(word)), 0);
            }
            Subject::Presence(offer) => {
                return self.ask(Subject::CertainOffer, self.owner.look_again(offer).word());
            }
            Subject::Offer | Subject::CertainOffer => {
                let offer = BoardOffer::from_word(word);
                match offer.is_made() {
                    true => BoardState::Made(Box::new(self.owner.join(engine, offer))),
                    false => BoardState::Missing,
                }
            }
            Subject::Site => {
                self.site = Some(device_agreement::site(words));
                return Ok(Stage::Waiting);
            }
            Subject::Areas => {
                if let BoardState::Made(board) = &mut self.queue.lock().unwrap().board {
                    board.areas = Some(word != 0);
                }
                return Ok(Stage::Waiting);
            }
        };
        self.queue.lock().unwrap().keep(board);
        Ok(Stage::Waiting)
    }
}

/// The number of a part of the call with this sequence number.
pub fn number_of(sequence: u64, part: u64) -> u64 {
    sequence << 1 | part
}

/// The number of the same part of the call with this sequence number.
pub(crate) fn renumbered(number: u64, sequence: u64) -> u64 {
    number_of(sequence, number & 1)
}

impl<O> Drop for QueuedCall<O> {
    /// Gives up the turn of a call that is dropped before it is over.
    fn drop(&mut self) {
        if let (Some(turn), Ok(mut queue)) = (self.turn, self.queue.lock()) {
            queue.abandon(turn);
        }
    }
}
