//! Sleeping on a word of shared memory until another process changes it (futex(2), process-shared).

use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{Flags, Timespec};
use towpath_base::sync::AtomicU32;

/// Pause that replaces a wait that the system refuses.
pub(crate) const REFUSED: Duration = Duration::from_micros(200);

/// Blocks while `word` contains `value`, for at most `limit` (`None`: no limit). May return
/// spuriously.
pub fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    match rustix::thread::futex::wait(word, Flags::empty(), value, limit.as_ref()) {
        // It makes no difference to the caller whether the word has changed, a signal arrived or
        // the time limit has passed: it checks the word again.
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
        // The system refuses to wait (a sandbox); do not let the caller's loop burn a core.
        Err(_) => std::thread::sleep(REFUSED),
    }
}

/// Wakes at most `count` processes that wait on `word`; returns how many it woke.
pub fn wake(word: &AtomicU32, count: u32) -> usize {
    rustix::thread::futex::wake(word, Flags::empty(), count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;
    use towpath_base::sync::Ordering;

    #[test]
    fn a_changed_word_does_not_block() {
        let word = AtomicU32::new(1);
        wait(&word, 2, None);
    }

    #[test]
    fn the_limit_ends_the_wait() {
        let word = AtomicU32::new(1);
        let begin = Instant::now();
        wait(&word, 1, Some(Duration::from_millis(5)));
        assert!(begin.elapsed() >= Duration::from_millis(4));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = Arc::new(AtomicU32::new(1));
        let sleeper = {
            let word = word.clone();
            std::thread::spawn(move || {
                while word.load(Ordering::Acquire) == 1 {
                    wait(&word, 1, None);
                }
            })
        };
        std::thread::sleep(Duration::from_millis(5));
        word.store(0, Ordering::Release);
        wake(&word, 1);
        sleeper.join().unwrap();
    }
}
