//! Factors of a number that are near each other, for the dimensions of a grid (MPI_Dims_create;
//! MPI 5.0, section 8.5.2).

/// With this many factors of an `int`, at least one is 1, because 2^31 does not fit in an `int`.
const FACTORS: usize = 31;

/// `count` factors of `number` in descending order, with the least difference between the largest
/// and the smallest; among several such solutions, the lexicographically first.
pub fn balanced(number: i64, count: usize) -> Vec<i64> {
    let mut factors = most_balanced(number, count.min(FACTORS));
    // With [`FACTORS`] factors the smallest is 1, and so are all further ones.
    factors.resize(count, 1);
    factors
}

fn most_balanced(number: i64, count: usize) -> Vec<i64> {
    let divisors = divisors(number);
    let mut best: Option<Vec<i64>> = None;
    for &largest in divisors.iter().filter(|&&divisor| at_least(divisor, count, number)) {
        let difference = best.as_ref().map_or(largest, |best| best[0] - best[count - 1]);
        // A solution better than the best so far has no factor below this.
        let mut least = (largest - difference + 1).max(1);
        while let Some(rest) = factors(number / largest, count - 1, least, largest, &divisors) {
            least = rest.last().map_or(largest, |&last| last) + 1;
            best = Some([vec![largest], rest].concat());
        }
        // A larger first factor leaves a smaller quotient for the others, which must be larger too.
        if !at_most(least, count - 1, number / largest) {
            break;
        }
    }
    best.expect("number itself and ones are a solution")
}

/// The lexicographically first `count` factors of `number` in descending order, all between `least`
/// and `most`; `divisors` must be in ascending order.
fn factors(number: i64, count: usize, least: i64, most: i64, divisors: &[i64]) -> Option<Vec<i64>> {
    if count == 0 {
        return (number == 1 && least <= most).then(Vec::new);
    }
    let first =
        divisors.partition_point(|&divisor| divisor < least || !at_least(divisor, count, number));
    let end = divisors.partition_point(|&divisor| divisor <= most);
    let candidates = divisors.get(first..end).unwrap_or_default().iter().copied();
    let dividing = candidates.filter(|&divisor| number % divisor == 0);
    dividing.take_while(|&divisor| at_most(least, count - 1, number / divisor)).find_map(
        |divisor| {
            let rest = factors(number / divisor, count - 1, least, divisor, divisors)?;
            Some([vec![divisor], rest].concat())
        },
    )
}

/// Whether `factor` to the power of `count` is at least `number`.
fn at_least(factor: i64, count: usize, number: i64) -> bool {
    factor.checked_pow(count as u32).is_none_or(|power| power >= number)
}

/// Whether `factor` to the power of `count` is at most `number`.
fn at_most(factor: i64, count: usize, number: i64) -> bool {
    factor.checked_pow(count as u32).is_some_and(|power| power <= number)
}

/// All divisors of a positive number, in ascending order.
fn divisors(number: i64) -> Vec<i64> {
    let small: Vec<i64> =
        (1..).take_while(|d| d * d <= number).filter(|d| number % d == 0).collect();
    let large = small.iter().rev().map(|d| number / d).filter(|d| d * d > number);
    small.iter().copied().chain(large).collect()
}

#[cfg(test)]
mod tests {
    use super::balanced;

    #[test]
    fn dimensions_are_balanced_and_falling() {
        for (number, count, expected) in [
            (6, 2, vec![3, 2]),
            (7, 2, vec![7, 1]),
            (24, 3, vec![4, 3, 2]),
            (1, 3, vec![1, 1, 1]),
            (48, 2, vec![8, 6]),
            (64, 3, vec![4, 4, 4]),
            (2_147_483_647, 3, vec![2_147_483_647, 1, 1]),
            (1_073_741_824, 30, vec![2; 30]),
            (7488, 3, vec![26, 18, 16]),
            (5, 1, vec![5]),
            (12, 40, [vec![3, 2, 2], vec![1; 37]].concat()),
            (1_073_741_824, 1_000_000, [vec![2; 30], vec![1; 999_970]].concat()),
        ] {
            assert_eq!(balanced(number, count), expected);
        }
    }

    /// The least difference between the largest and the smallest of `count` factors, by brute
    /// force.
    fn least_difference(number: i64, count: usize, largest: i64, smallest: i64) -> Option<i64> {
        if count == 0 {
            return (number == 1).then_some(largest - smallest);
        }
        let divisors = (1..=number.min(smallest)).filter(|divisor| number % divisor == 0);
        let next =
            |divisor| least_difference(number / divisor, count - 1, largest.max(divisor), divisor);
        divisors.filter_map(next).min()
    }

    #[test]
    fn no_other_factors_are_closer_to_each_other() {
        for number in (1..1500).chain([2310, 4096, 5040, 7488, 7560, 9240, 9973, 10_000]) {
            for count in 1..=4 {
                let found = balanced(number, count);
                assert_eq!((found.len(), found.iter().product()), (count, number), "{found:?}");
                assert!(found.is_sorted_by(|one, other| one >= other), "{found:?}");
                let least = least_difference(number, count, 0, number);
                assert_eq!(Some(found[0] - found[count - 1]), least, "{number} as {found:?}");
            }
        }
    }

    #[test]
    fn numbers_with_many_divisors_are_no_burden() {
        for number in
            [1_396_755_360, 223_092_870, 2_095_133_040, 1_073_741_824, 1_549_681_956, 2_147_483_647]
        {
            for count in 1..=30 {
                let found = balanced(number, count);
                assert_eq!(found.iter().product::<i64>(), number);
            }
        }
    }
}
