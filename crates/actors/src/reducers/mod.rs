//! Reducers that every program has, with numbers below [`PROGRAM_REDUCERS`]; greater numbers are
//! the program's own ([`crate::Chares::combine`]).
//!
//! ```text
//!  numbers     sums, products, extremes, logic and bits of arrays of numbers
//!  items       lists of values, of which sets and tuples consist
//! ```
//!
//! A value becomes what is combined once an element contributes it (`prepared`), and the result
//! that the callback gets once all have (`finished`).

mod items;
mod numbers;

use bytemuck::{Pod, Zeroable};

pub use items::{parts, tuple};
pub use numbers::{NumberOperation, NumberType, of_numbers};

/// The first number of a reducer of the program.
pub const PROGRAM_REDUCERS: u32 = 1 << 16;
/// No value: tells that all elements have contributed.
pub const NOP: u32 = 1;
/// All values, one behind the other, in any order.
pub const CONCAT: u32 = 2;
/// All values in any order, as a list of [`parts`].
pub const SET: u32 = 3;
/// Each value is an array of [`Statistics`].
pub const STATISTICS: u32 = 4;
/// Several reducers at once: a list that [`tuple`] makes, and a list of [`parts`] as the result.
pub const TUPLE: u32 = 5;
/// One of the values, each with the same probability.
pub const RANDOM: u32 = 6;

pub use crate::reduction::Combine;

/// How many numbers there are, their mean, and the sum of the squares of what they differ from it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Statistics {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The sum of `(number - mean)²`; divided by `count` it is the variance.
    pub squares: f64,
}

impl Statistics {
    /// Of one number.
    #[must_use]
    pub fn of(number: f64) -> Statistics {
        Statistics { count: 1, mean: number, squares: 0.0 }
    }

    /// Of the numbers of both (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise
    /// algorithm for computing sample variances", 1979).
    #[must_use]
    pub fn with(self, other: Statistics) -> Statistics {
        let count = self.count.wrapping_add(other.count);
        if other.count == 0 || count == 0 {
            return self;
        }
        let (own, all) = (self.count as f64, count as f64);
        let (share, difference) = (other.count as f64 / all, other.mean - self.mean);
        let mean = self.mean + difference * share;
        let squares = self.squares + other.squares + difference * difference * own * share;
        Statistics { count, mean, squares }
    }
}

/// The name of a built-in reducer, for messages to the user; `None` if there is none.
#[must_use]
pub fn name(reducer: u32) -> Option<String> {
    let name = match reducer {
        NOP => "nop",
        CONCAT => "concat",
        SET => "set",
        STATISTICS => "statistics",
        TUPLE => "tuple",
        RANDOM => "random",
        _ => return numbers::name(reducer),
    };
    Some(name.into())
}

/// What is combined of a value that an element contributes.
///
/// # Errors
/// No value of this reducer has these bytes.
pub(crate) fn prepared(reducer: u32, value: Vec<u8>) -> Result<Vec<u8>, String> {
    match reducer {
        PROGRAM_REDUCERS.. | CONCAT => Ok(value),
        NOP => Ok(Vec::new()),
        SET => {
            let mut list = Vec::with_capacity(value.len() + 16);
            items::push(&mut list, 0, &value)?;
            Ok(list)
        }
        RANDOM => Ok([&1_u64.to_ne_bytes(), &value[..]].concat()),
        TUPLE => items::changed(&value, |reducer, part| prepared(reducer, part.to_vec())),
        STATISTICS if value.len().is_multiple_of(size_of::<Statistics>()) => Ok(value),
        STATISTICS => Err(format!(
            "an element contributes {} bytes to statistics, but a count, a mean and a sum of \
             squares have {}",
            value.len(),
            size_of::<Statistics>()
        )),
        _ => numbers::check(reducer, &value).map(|()| value),
    }
}

/// The result of what was combined.
///
/// # Errors
/// Nobody has combined this.
pub(crate) fn finished(reducer: u32, mut combined: Vec<u8>) -> Result<Vec<u8>, String> {
    match reducer {
        RANDOM => {
            combined.drain(..size_of::<u64>().min(combined.len()));
            Ok(combined)
        }
        TUPLE => items::changed(&combined, |reducer, part| finished(reducer, part.to_vec())),
        _ => Ok(combined),
    }
}

/// Combines the second value into the first.
///
/// # Errors
/// They do not fit together, or there is no such reducer.
pub(crate) fn combine(
    reducer: u32,
    into: &mut Vec<u8>,
    value: &[u8],
    program: Combine,
) -> Result<(), String> {
    match reducer {
        PROGRAM_REDUCERS.. => return program(reducer, into, value),
        NOP => {}
        CONCAT | SET => into.extend_from_slice(value),
        STATISTICS if into.len() == value.len() => numbers::each(into, value, Statistics::with),
        STATISTICS => return Err(lengths(reducer, into, value)),
        RANDOM => {
            let counts = [&into[..], value].map(|bytes| bytes.first_chunk().copied());
            let [Some(one), Some(other)] = counts.map(|count| count.map(u64::from_ne_bytes)) else {
                return Err(lengths(reducer, into, value));
            };
            let all = one.saturating_add(other).max(1);
            if fastrand::u64(..all) < other {
                into.clear();
                into.extend_from_slice(value);
            }
            into[..size_of::<u64>()].copy_from_slice(&all.to_ne_bytes());
        }
        TUPLE => items::combine_tuples(into, value, program)?,
        _ => {
            numbers::check(reducer, value)?;
            if into.len() != value.len() || !numbers::combine(reducer, into, value) {
                return Err(lengths(reducer, into, value));
            }
        }
    }
    Ok(())
}

fn lengths(reducer: u32, into: &[u8], value: &[u8]) -> String {
    format!(
        "elements contribute {} and {} bytes to {}; all must contribute as many",
        into.len(),
        value.len(),
        name(reducer).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reducer: u32, values: &[&[u8]]) -> Result<Vec<u8>, String> {
        let own: Combine = &|_, into, value| {
            into.extend(value.iter().rev());
            Ok(())
        };
        let mut values = values.iter().map(|value| prepared(reducer, value.to_vec()));
        let mut combined = values.next().unwrap()?;
        for value in values {
            combine(reducer, &mut combined, &value?, own)?;
        }
        finished(reducer, combined)
    }

    #[test]
    fn lists_have_all_values() {
        assert_eq!(all(CONCAT, &[b"ab", b"", b"c"]).unwrap(), b"abc");
        assert_eq!(all(NOP, &[b"ab", b"c"]).unwrap(), b"");
        let set = all(SET, &[b"ab", b"", b"123456789"]).unwrap();
        let values: Vec<&[u8]> = parts(&set).unwrap().into_iter().map(|(_, part)| part).collect();
        assert_eq!(values, [&b"ab"[..], b"", b"123456789"]);
    }

    #[test]
    fn a_tuple_combines_each_part_by_its_own_reducer() {
        let sum = of_numbers(NumberOperation::Sum, NumberType::I32);
        let own = PROGRAM_REDUCERS + 3;
        let value = |number: i32, name: &[u8]| {
            tuple(&[(sum, &number.to_ne_bytes()), (own, name), (SET, name), (RANDOM, b"x")])
        };
        let (one, two) = (value(40, b"ab").unwrap(), value(2, b"cd").unwrap());
        let result = all(TUPLE, &[&one, &two]).unwrap();
        let parts = parts(&result).unwrap();
        assert_eq!(parts[0], (sum, &42_i32.to_ne_bytes()[..]));
        assert_eq!(parts[1], (own, &b"abdc"[..]));
        assert_eq!(super::parts(parts[2].1).unwrap().len(), 2);
        assert_eq!(parts[3], (RANDOM, &b"x"[..]));
        let other = tuple(&[(sum, &[0; 4])]).unwrap();
        assert!(all(TUPLE, &[&one, &other]).unwrap_err().contains("different"));
        assert!(all(TUPLE, &[b"123"]).is_err(), "no list");
        assert!(all(TUPLE, &[&tuple(&[(TUPLE, b"")]).unwrap()]).is_err(), "a tuple in a tuple");
    }

    #[test]
    fn a_tuple_grows_in_place_and_its_parts_do_not_mix() {
        let sum = of_numbers(NumberOperation::Sum, NumberType::I32);
        let own: Combine = &|_, into, value| {
            into.truncate(into.len().abs_diff(value.len()));
            Ok(())
        };
        let value = |number: u8| {
            let text = &[number; 11][..usize::from(number % 11)];
            let number = i32::from(number).to_ne_bytes();
            let parts = [(SET, text), (PROGRAM_REDUCERS, text), (CONCAT, text), (sum, &number[..])];
            prepared(TUPLE, tuple(&[&parts[..], &[(SET, &text[..3.min(text.len())])]].concat())?)
        };
        let mut all = value(0).unwrap();
        all.reserve(100_000);
        let place = all.as_ptr();
        for number in 1..=200 {
            combine(TUPLE, &mut all, &value(number).unwrap(), own).unwrap();
        }
        assert_eq!(all.as_ptr(), place, "nothing was copied");
        let parts_of_all = parts(&all).unwrap();
        let texts = |longest: usize| {
            (0..=200_u8).map(move |number| vec![number; usize::from(number % 11).min(longest)])
        };
        for (at, longest) in [(0, 11), (4, 3)] {
            let values = parts(parts_of_all[at].1).unwrap();
            assert!(values.into_iter().map(|(_, value)| value.to_vec()).eq(texts(longest)));
        }
        assert_eq!(parts_of_all[2].1, texts(11).flatten().collect::<Vec<u8>>());
        assert_eq!(parts_of_all[3].1, (200 * 201 / 2_i32).to_ne_bytes());
    }

    #[test]
    fn statistics_are_those_of_all_numbers() {
        let numbers = [1.0, 4.0, 4.0, 7.0];
        let values = numbers.map(|number| bytemuck::bytes_of(&Statistics::of(number)).to_vec());
        let values: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
        let result: Statistics = bytemuck::pod_read_unaligned(&all(STATISTICS, &values).unwrap());
        assert_eq!(result, Statistics { count: 4, mean: 4.0, squares: 18.0 });
        assert!(all(STATISTICS, &[b"12"]).is_err());
    }

    #[test]
    fn every_value_is_chosen_at_random_about_as_often() {
        fastrand::seed(1);
        let mut chosen = [0; 3];
        for _ in 0..3000 {
            let result = all(RANDOM, &[b"0", b"1", b"2"]).unwrap();
            chosen[usize::from(result[0] - b'0')] += 1;
        }
        assert!(chosen.iter().all(|times| (900..1100).contains(times)), "{chosen:?}");
    }

    #[test]
    fn values_that_do_not_fit_are_refused_with_a_sentence() {
        let sum = of_numbers(NumberOperation::Sum, NumberType::F64);
        let lengths = all(sum, &[&[0; 16], &[0; 8]]).unwrap_err();
        assert_eq!(
            lengths,
            "elements contribute 16 and 8 bytes to sum of f64; all must contribute as many"
        );
        assert!(all(sum, &[&[0; 7]]).unwrap_err().contains("7 bytes"), "no whole number");
        assert!(all(0, &[b""]).unwrap_err().contains("no reducer 0"));
        let and = of_numbers(NumberOperation::BitAnd, NumberType::F64);
        assert!(all(and, &[&[0; 8]]).is_err(), "numbers with a point have no bits");
    }
}
