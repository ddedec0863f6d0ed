//! Which pairs of hosts are measured, and when: the rounds of a tournament, in each of which a host
//! is in one pair at most.

/// The rounds, each with its pairs of hosts, the lower number first. All pairs occur once if there
/// are few hosts; of more, each host has `most` partners.
///
/// This is the circle method: one place is fixed, the other hosts move around the circle by one
/// place from round to round, and those who sit opposite each other meet.
pub fn rounds(hosts: usize, most: usize) -> Vec<Vec<(usize, usize)>> {
    let places = hosts + hosts % 2;
    let all = places.saturating_sub(1);
    let held = all.min(most);
    let round = |turn: usize| {
        let at = |steps: usize| (turn + steps) % all;
        let pairs = (0..places / 2).map(|place| match place {
            0 => (turn, all),
            _ => (at(place).min(at(all - place)), at(place).max(at(all - place))),
        });
        pairs.filter(|&(_, last)| last < hosts).collect()
    };
    (0..held).map(|number| round(number * all / held)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MOST: usize = 32;

    #[test]
    fn few_hosts_meet_all_others_once() {
        for hosts in 0..=MOST {
            let mut met = BTreeSet::new();
            for round in rounds(hosts, MOST) {
                let mut busy = BTreeSet::new();
                for (one, other) in round {
                    assert!(one < other && other < hosts, "{hosts}: {one}, {other}");
                    assert!(busy.insert(one) && busy.insert(other) && met.insert((one, other)));
                }
            }
            assert_eq!(met.len(), hosts * hosts.saturating_sub(1) / 2, "{hosts}");
        }
    }

    #[test]
    fn many_hosts_have_few_partners() {
        for hosts in [33, 34, 100, 1001] {
            let pairs: BTreeSet<_> = rounds(hosts, MOST).into_iter().flatten().collect();
            for host in [0, 1, hosts - 1] {
                let partners = pairs.iter().filter(|pair| pair.0 == host || pair.1 == host);
                let partners = partners.count();
                assert!((MOST - 1..=MOST).contains(&partners), "{hosts}: {partners}");
            }
        }
    }
}
