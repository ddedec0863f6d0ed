//! Tests of waiting: policy, wake-ups, and what a process learns from its yields.

use super::test_pages::TestPages;
use super::*;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use towpath_base::sync::AtomicU32;

/// Waits until `word` is not zero.
fn await_word(waiter: &mut Waiter, pages: &TestPages, word: &AtomicU32) {
    waiter.reset();
    while word.load(Ordering::Acquire) == 0 && pages.head().aborting.load(Ordering::Acquire) == 0 {
        waiter.idle(pages.sources(), || word.load(Ordering::Acquire) != 0);
    }
}

#[test]
fn posters_fence_where_a_barrier_does_not_reach_all() {
    let pages = TestPages::new();
    let mut waiter = Waiter::with_quota(1, 2, pages.head(), pages.own());
    let registered = pages.head().unregistered.load(Ordering::Relaxed) == 0;
    assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), u32::from(!registered));
    // A rank starts whose registration was refused. The waiter has chosen its policy already,
    // and notices it before it sleeps.
    pages.head().unregistered.store(1, Ordering::SeqCst);
    waiter.sleep(pages.sources(), || panic!("it must stay awake this once"));
    assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), 1);
    assert_eq!(pages.head().wake_fences.load(Ordering::Relaxed), 1);
    waiter.choose(pages.head(), pages.own());
    assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), 1);
    let later = TestPages::new();
    later.head().unregistered.store(1, Ordering::SeqCst);
    Waiter::with_quota(1, 2, later.head(), later.own());
    assert_eq!(later.own().wake_fence.load(Ordering::Relaxed), 1);
}

#[test]
fn no_wake_up_is_lost_between_two_threads() {
    let modes = [
        (1, false, false),
        (1000, false, false),
        (1, true, false),
        (1000, true, false),
        (1000, true, true),
    ];
    for (local_ranks, with_bell, within_host) in modes {
        let pages = TestPages::new();
        let (ping, pong) = (AtomicU32::new(0), AtomicU32::new(0));
        let mut waiter = Waiter::with_quota(local_ranks, 2, pages.head(), pages.own());
        let (reader, _writer) = std::io::pipe().unwrap();
        if with_bell {
            let bell = Bell::beside(&[std::os::fd::AsFd::as_fd(&reader)]).unwrap();
            waiter.watch(bell, true, pages.own());
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..2000u32 {
                    if round % 500 == 0 {
                        std::thread::sleep(Duration::from_millis(3));
                    }
                    ping.store(1, Ordering::Release);
                    notify(pages.own());
                    while pong.swap(0, Ordering::AcqRel) == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            for _ in 0..2000 {
                waiter.wait_within_host(within_host);
                await_word(&mut waiter, &pages, &ping);
                ping.store(0, Ordering::Relaxed);
                pong.store(1, Ordering::Release);
            }
        });
        assert!(waiter.sleeps() > 0, "the pauses of the sender must have put the waiter to sleep");
    }
}

#[test]
fn the_policy_follows_the_ranks_that_announce_their_cores() {
    let pages = TestPages::new();
    let mask = |cpu: usize| {
        let mut mask = [0; cores::MASK_WORDS];
        mask[cpu / 64] = 1 << (cpu % 64);
        mask
    };
    cores::announce(pages.head(), &mask(0));
    let mut waiter = Waiter::with_quota(2, 8, pages.head(), pages.own());
    assert!(waiter.crowded(), "one core is known, for two ranks");
    assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), 1);
    cores::announce(pages.head(), &mask(70));
    waiter.idle(pages.sources(), || true);
    assert!(!waiter.crowded() && waiter.cores() == 2);
}

#[test]
fn a_wait_is_short_while_ranks_of_other_hosts_take_turns_on_the_core() {
    let pages = TestPages::new();
    let (head, sources) = (pages.head(), pages.sources());
    let fences = || pages.own().wake_fence.load(Ordering::Relaxed) == 1;
    let mut waiter = Waiter::with_quota(1, 2, head, pages.own());
    let fences_always = fences();
    waiter.learn(head, TURN.start);
    waiter.idle(sources, || true);
    assert!(waiter.shares_core > 0 && !waiter.crowded(), "these are no ranks of the job");

    waiter.watch(Bell::beside(&[]).unwrap(), true, pages.own());
    waiter.learn(head, TURN.start);
    waiter.idle(sources, || true);
    assert!(waiter.crowded() && fences(), "it sleeps often from now on");
    assert!(waiter.sleeps_soon(), "it is the only rank of its host");
    waiter.reset();
    let (mut calls, mut lies_down) = (0, false);
    while !lies_down {
        calls += 1;
        waiter.idle(sources, || {
            lies_down = true;
            true
        });
    }
    assert!(calls <= waiter.yields_before_sleep + 1, "{calls} calls");

    waiter.learn(head, TURN.start);
    let quick = Duration::ZERO;
    (1..ALONE_AMONG_HOSTS).for_each(|_| assert!(waiter.learn(head, quick)));
    assert!(waiter.is_crowded(), "one more");
    waiter.learn(head, quick);
    waiter.choose_anew(head, pages.own());
    assert!(!waiter.crowded() && fences() == fences_always);
    waiter.learn(head, TURN.start);
    waiter.give_way(sources);
    assert!(waiter.crowded(), "calls that do not wait learn too");
}

/// A waiter of one of `local_ranks` ranks that fit on two cores, after a yield to a rank of another
/// host.
fn after_a_turn(pages: &TestPages, local_ranks: usize, costly: bool) -> Waiter {
    let mut waiter = Waiter::with_quota(local_ranks, 2, pages.head(), pages.own());
    waiter.watch(Bell::beside(&[]).unwrap(), costly, pages.own());
    waiter.learn(pages.head(), TURN.start);
    waiter.choose_anew(pages.head(), pages.own());
    waiter
}

#[test]
fn a_rank_whose_polls_are_cheap_yields_on() {
    let pages = TestPages::new();
    let waiter = after_a_turn(&pages, 1, false);
    assert!(waiter.shares_core > 0 && !waiter.crowded());
}

#[test]
fn ranks_with_neighbours_yield_for_longer_while_ranks_of_other_hosts_take_turns() {
    let pages = TestPages::new();
    let waiter = after_a_turn(&pages, 2, true);
    assert!(waiter.crowded() && !waiter.sleeps_soon());
    let oversubscribed = Waiter::with_quota(3, 2, pages.head(), pages.own());
    assert!(oversubscribed.crowded() && oversubscribed.sleeps_soon());
}

#[test]
fn processes_that_compute_do_not_make_a_rank_with_a_core_of_its_own_wait_less() {
    let pages = TestPages::new();
    let mut waiter = Waiter::with_quota(1, 2, pages.head(), pages.own());
    waiter.watch(Bell::beside(&[]).unwrap(), true, pages.own());
    assert!(!waiter.learn(pages.head(), 2 * waiter.slow_yield));
    waiter.choose_anew(pages.head(), pages.own());
    assert!(external_load::is_present(pages.head()) && !waiter.crowded());
}

#[test]
fn ranks_of_other_hosts_on_the_same_core_are_not_kept_from_it_by_spinning() {
    let pages = [TestPages::new(), TestPages::new()];
    let (turns, noticed) = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicU32::new(0));
    let begin = Instant::now();
    let is_over =
        || noticed.load(Ordering::Relaxed) == 2 || begin.elapsed() > Duration::from_secs(20);
    let play = |own: usize| {
        let mut core = CpuSet::new();
        core.set(sched_getaffinity(None).map_or(0, |allowed| {
            (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap_or(0)
        }));
        sched_setaffinity(None, &core).unwrap();
        let mut waiter = Waiter::with_quota(1, 2, pages[own].head(), pages[own].own());
        let mut has_noticed = false;
        for turn in 1.. {
            turns[own].store(turn, Ordering::Release);
            waiter.reset();
            while turns[1 - own].load(Ordering::Acquire) < turn {
                if is_over() {
                    return;
                }
                waiter.idle(pages[own].sources(), || true);
            }
            if waiter.shares_core > 0 && !std::mem::replace(&mut has_noticed, true) {
                noticed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        [0, 1].map(|own| scope.spawn(move || play(own))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(noticed.load(Ordering::Relaxed), 2);
}

#[test]
fn an_abort_ends_the_sleep() {
    let pages = TestPages::new();
    let never = AtomicU32::new(0);
    let mut waiter = Waiter::with_quota(100, 1, pages.head(), pages.own());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            abort(pages.head(), std::iter::once(pages.own()));
        });
        await_word(&mut waiter, &pages, &never);
    });
}

#[test]
fn long_sleeps_make_the_next_wait_yield_less() {
    let (short, long) = (Duration::from_micros(20), Duration::from_millis(2));
    assert_eq!(patience(10, 10, long), 5);
    assert_eq!((patience(1, 10, long), patience(0, 10, short)), (0, 2));
    assert_eq!(patience(8, 10, short), 10);
    assert_eq!(patience(1, 1, short), 1, "never more than the policy says");
}

#[test]
fn a_wait_within_the_host_leaves_the_bell_for_some_milliseconds() {
    let pages = TestPages::new();
    let mut waiter = Waiter::with_quota(1000, 1, pages.head(), pages.own());
    waiter.watch(Bell::beside(&[]).unwrap(), true, pages.own());
    for (within_host, place) in [(false, ON_BELL), (true, ON_WORD)] {
        waiter.wait_within_host(within_host);
        let mut seen = None;
        let begin = Instant::now();
        waiter.sleep(pages.sources(), || {
            seen = Some(pages.own().sleep.load(Ordering::Relaxed));
            !within_host
        });
        assert_eq!(seen, Some(place));
        assert!(begin.elapsed() >= WITHIN_HOST || !within_host, "it must sleep");
        assert_eq!(pages.own().sleep.load(Ordering::Relaxed), sleep::AWAKE);
    }
}
