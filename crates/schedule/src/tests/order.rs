//! Which steps of a rank follow others, and whether that keeps apart those which access the same
//! bytes, and those whose messages match in order.

use std::collections::{BTreeMap, HashMap};

/// Bytes that a step reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) first: i64,
    pub(super) end: i64,
    pub(super) writes: bool,
}

/// The last accesses to some bytes.
#[derive(Clone, Debug, Default)]
struct Accessed {
    end: i64,
    writer: Option<u32>,
    /// Those that have read since.
    readers: Vec<u32>,
}

/// The steps of a rank, which wait only for earlier ones.
#[derive(Debug, Default)]
pub(super) struct Order {
    before: Vec<Vec<u32>>,
    /// For each step a number of steps, from the first one on, that are all before it.
    all_before: Vec<u32>,
    /// By their first address.
    bytes: BTreeMap<i64, Accessed>,
    /// The last message of each partner, turn and direction.
    messages: HashMap<(usize, u16, bool), u32>,
    /// The search in which a step was visited last.
    visited: Vec<u32>,
    searches: u32,
}

/// So many steps are visited to find the steps that are all before one, unless it is a join.
const MOST_VISITED: usize = 64;

impl Order {
    pub(super) fn length(&self) -> u32 {
        self.before.len() as u32
    }

    /// Adds a step that waits for these. Returns its number.
    pub(super) fn add(&mut self, before: Vec<u32>, is_join: bool) -> u32 {
        let own = self.length();
        let mut all = before.iter().map(|&step| self.all_before[step as usize]).max().unwrap_or(0);
        if let [only] = before[..]
            && self.all_before[only as usize] == only
        {
            all = only + 1;
        }
        self.visited.push(0);
        self.before.push(before);
        self.all_before.push(all);
        let most = if is_join { usize::MAX } else { MOST_VISITED };
        let mut seen = Vec::new();
        if self.before[own as usize].len() > 1 {
            self.search(own, all, |step| {
                seen.push(step);
                seen.len() >= most
            });
        }
        seen.sort_unstable();
        for step in seen {
            if step == all {
                all += 1;
            }
        }
        self.all_before[own as usize] = all;
        own
    }

    /// Visits the steps from `least` on that are before `step`, until `visit` returns true.
    fn search(&mut self, step: u32, least: u32, mut visit: impl FnMut(u32) -> bool) -> bool {
        self.searches += 1;
        let mut left = vec![step];
        while let Some(step) = left.pop() {
            for &earlier in &self.before[step as usize] {
                let visited = &mut self.visited[earlier as usize];
                if earlier < least || *visited == self.searches {
                    continue;
                }
                *visited = self.searches;
                if visit(earlier) {
                    return true;
                }
                left.push(earlier);
            }
        }
        false
    }

    /// True if `later` starts only after `earlier` has ended.
    pub(super) fn follows(&mut self, later: u32, earlier: u32) -> bool {
        if earlier < self.all_before[later as usize] {
            return true;
        }
        let all = std::mem::take(&mut self.all_before);
        let found = earlier < later
            && self.search(later, earlier, |step| step == earlier || earlier < all[step as usize]);
        self.all_before = all;
        found
    }

    /// Notes an access of the newest step, or of an earlier one that has not accessed anything.
    /// Fails with a step that may access the same bytes at the same time.
    pub(super) fn access(&mut self, step: u32, access: Access) -> Result<(), u32> {
        let Access { first, end, writes } = access;
        match self.bytes.range_mut(..end).next_back() {
            Some((&begin, accessed)) if begin == first && accessed.end == end => {
                let mut accessed = std::mem::take(accessed);
                let found = self.add_access(step, writes, &mut accessed);
                self.bytes.insert(first, accessed);
                return found;
            }
            Some((_, accessed)) if accessed.end > first => {}
            _ => {
                self.bytes.insert(first, Accessed::by(step, end, writes));
                return Ok(());
            }
        }
        self.split(first);
        self.split(end);
        let touched: Vec<i64> = self.bytes.range(first..end).map(|(&begin, _)| begin).collect();
        let mut at = first;
        let mut found = Ok(());
        for begin in touched {
            if at < begin {
                self.bytes.insert(at, Accessed::by(step, begin, writes));
            }
            let mut accessed = self.bytes.remove(&begin).expect("it was found");
            found = found.and(self.add_access(step, writes, &mut accessed));
            at = accessed.end;
            self.bytes.insert(begin, accessed);
        }
        if at < end {
            self.bytes.insert(at, Accessed::by(step, end, writes));
        }
        found
    }

    /// Adds an access of a step to others of the same bytes.
    fn add_access(&mut self, step: u32, writes: bool, accessed: &mut Accessed) -> Result<(), u32> {
        let readers = accessed.readers.iter().filter(|_| writes);
        let mut others = accessed.writer.iter().chain(readers);
        let rival = others.find(|&&other| !self.follows(step, other)).copied();
        match writes {
            true => {
                accessed.writer = Some(step);
                accessed.readers.clear();
            }
            false => accessed.readers.push(step),
        }
        rival.map_or(Ok(()), Err)
    }

    /// Cuts what is known at an address.
    fn split(&mut self, address: i64) {
        if let Some((&first, accessed)) = self.bytes.range_mut(..address).next_back()
            && first < address
            && address < accessed.end
        {
            let after = accessed.clone();
            accessed.end = address;
            self.bytes.insert(address, after);
        }
    }

    /// Notes a message of the newest step. Messages of one key match in the order in which they
    /// start, so the earlier one must not start later.
    pub(super) fn message(&mut self, step: u32, key: (usize, u16, bool)) -> Result<(), String> {
        let Some(earlier) = self.messages.insert(key, step) else { return Ok(()) };
        let before = self.before[earlier as usize].clone();
        // Steps that one event releases start in the order of their numbers.
        match before.into_iter().find(|&one| !self.follows(step, one)) {
            None => Ok(()),
            Some(_) => Err(format!("steps {earlier} and {step} send or receive in no fixed order")),
        }
    }
}

impl Accessed {
    fn by(step: u32, end: i64, writes: bool) -> Accessed {
        let (writer, readers) = if writes { (Some(step), Vec::new()) } else { (None, vec![step]) };
        Accessed { end, writer, readers }
    }
}
