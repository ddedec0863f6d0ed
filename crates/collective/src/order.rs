//! The order of the blocking, nonblocking and persistent calls on a communicator. All processes
//! must call them in the same order, with the initialization of a persistent operation in its place
//! (MPI 5.0, sections 6.12 and 6.13), and a call of one form matches none of another.
//!
//! Calls of a form are numbered, and each call has the number of calls of the other forms before
//! it. Of two calls of different forms on two ranks, each rank so knows which comes first for it,
//! unless it has not come to the other one yet. If each comes before the other, the order differs.
//! That holds whatever the ranks do meanwhile, and however far they are ahead of each other.

use towpath_base::control::PLACE;

use crate::numbers::CallForm;
use towpath_schedule::CallSignature;

const FORMS: [CallForm; 3] = [CallForm::Blocking, CallForm::Nonblocking, CallForm::Persistent];

/// The place of a call in the order of its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOrder {
    /// The context of the communicator.
    pub context: u64,
    /// The form of the call.
    pub form: CallForm,
    /// How many calls of each form come before it.
    pub before: [u64; 3],
}

/// A call and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedCall {
    /// Its place.
    pub order: CallOrder,
    /// What is called.
    pub signature: CallSignature,
}

impl PlacedCall {
    /// True if each of two ranks that are in these calls has not called what the other one is in,
    /// though all must call both in the same order.
    pub fn contradicts(&self, other: &PlacedCall) -> bool {
        let (own, theirs) = (self.order, other.order);
        let (mine, yours) = (own.form as usize, theirs.form as usize);
        own.context == theirs.context
            && mine != yours
            && theirs.before[yours] >= own.before[yours]
            && own.before[mine] >= theirs.before[mine]
    }

    /// The call as words that other processes read. The last is never 0.
    pub fn words(&self) -> [u64; PLACE] {
        let [blocking, nonblocking, persistent] = self.order.before;
        let what = (self.order.form as u64 + 1) << 32 | u64::from(self.signature.0);
        [self.order.context, blocking, nonblocking, persistent, what]
    }

    /// The call in such words; `None` if they name none.
    pub fn from_words(words: [u64; PLACE]) -> Option<PlacedCall> {
        let [context, blocking, nonblocking, persistent, what] = words;
        let form = *FORMS.get(usize::try_from(what >> 32).ok()?.checked_sub(1)?)?;
        let order = CallOrder { context, form, before: [blocking, nonblocking, persistent] };
        Some(PlacedCall { order, signature: CallSignature(what as u32) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of a rank that calls in this order.
    fn calls(forms: &[CallForm]) -> Vec<PlacedCall> {
        let mut before = [0; 3];
        let place = |&form: &CallForm| {
            let order = CallOrder { context: 7, form, before };
            before[form as usize] += 1;
            PlacedCall { order, signature: CallSignature(5) }
        };
        forms.iter().map(place).collect()
    }

    #[test]
    fn ranks_in_the_same_order_never_contradict_each_other() {
        for pattern in 0..3usize.pow(6) {
            let forms: Vec<CallForm> =
                (0..6).map(|place| FORMS[pattern / 3usize.pow(place) % 3]).collect();
            let calls = calls(&forms);
            // Whoever is ahead, and by how much.
            for own in &calls {
                assert!(calls.iter().all(|theirs| !own.contradicts(theirs)));
            }
        }
    }

    #[test]
    fn a_call_of_another_form_contradicts() {
        let [blocking, nonblocking, persistent] = FORMS;
        for shared in [&[][..], &[blocking], &[nonblocking, persistent, blocking]] {
            for (own, theirs) in
                [(blocking, nonblocking), (blocking, persistent), (persistent, nonblocking)]
            {
                let own = calls(&[shared, &[own]].concat());
                // The other rank may wait for its call only after later ones of the same form.
                let theirs = calls(&[shared, &[theirs, theirs]].concat());
                let last = own.last().unwrap();
                for theirs in &theirs[shared.len()..] {
                    assert!(last.contradicts(theirs) && theirs.contradicts(last));
                    let order = CallOrder { context: 8, ..theirs.order };
                    let elsewhere = PlacedCall { order, ..*theirs };
                    assert!(!last.contradicts(&elsewhere));
                }
            }
        }
    }

    #[test]
    fn calls_in_another_order_contradict() {
        let [blocking, nonblocking, _] = FORMS;
        let (own, theirs) = (calls(&[blocking, nonblocking]), calls(&[nonblocking, blocking]));
        assert!(own[0].contradicts(&theirs[0]) && !own[1].contradicts(&theirs[1]));
    }

    #[test]
    fn a_call_is_read_back() {
        for form in FORMS {
            let order = CallOrder { context: 9, form, before: [1 << 40, 2, 3] };
            let call = PlacedCall { order, signature: CallSignature(77) };
            assert_eq!(PlacedCall::from_words(call.words()), Some(call));
        }
        assert_eq!(PlacedCall::from_words([0; PLACE]), None);
        assert_eq!(PlacedCall::from_words([1, 0, 0, 0, 9 << 32]), None);
    }
}
