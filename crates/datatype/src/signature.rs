//! Type signatures: the sequence of basic elements of a datatype (MPI 5.0, sections 3.3.1 and 5.1).
//!
//! Packed data consists of the signature's elements in order. The signature alone therefore
//! determines how many elements a number of received bytes contains and how to convert packed
//! bytes.

use crate::basic::Basic;
use crate::datatype::Datatype;
use crate::recipe::MapLevel;

/// Hashes are computed modulo this prime (2^61 - 1).
const PRIME: u128 = (1 << 61) - 1;

/// Base of the polynomial hash: an arbitrary large number below the prime.
const BASE: u128 = 0x1234_5678_9abc_def1;

/// Hash of a sequence, and the base raised to its length. Two of them determine the hash of the
/// concatenation.
#[derive(Clone, Copy)]
struct Hash {
    value: u128,
    power: u128,
}

impl Hash {
    const EMPTY: Hash = Hash { value: 0, power: 1 };

    fn basic(basic: Basic) -> Hash {
        Hash { value: u128::from(basic.number()), power: BASE }
    }

    fn then(self, next: Hash) -> Hash {
        Hash { value: (self.value * next.power + next.value) % PRIME, power: self.power * next.power % PRIME }
    }

    fn repeated(self, mut count: i64) -> Hash {
        let (mut square, mut result) = (self, Hash::EMPTY);
        while count > 0 {
            if count & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            count >>= 1;
        }
        result
    }
}

impl Datatype {
    /// Number of basic elements in one element of this type; a pair counts as two.
    pub fn elements(&self) -> i64 {
        self.body().elements
    }

    /// Number of whole elements of this type in `bytes` received bytes (`MPI_Get_count`); `None`
    /// means `MPI_UNDEFINED`. A type without data has 0 elements in 0 bytes.
    pub fn count_in(&self, bytes: i64) -> Option<i64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => (bytes % size == 0).then_some(bytes / size),
        }
    }

    /// Number of basic elements in `bytes` received bytes (`MPI_Get_elements`); `None` means
    /// `MPI_UNDEFINED`: the bytes end inside a basic element.
    pub fn elements_in(&self, bytes: i64) -> Option<i64> {
        let size = self.size();
        if size == 0 {
            return (bytes == 0).then_some(0);
        }
        let whole = (bytes / size).checked_mul(self.elements())?;
        let rest = bytes % size;
        if rest == 0 {
            return Some(whole);
        }
        self.elements_in_part(rest)?.checked_add(whole)
    }

    /// Returns the type below duplicates, resized types and other constructors that do not repeat
    /// anything. Each level below it holds less data. Recursion through the levels is therefore at
    /// most 63 deep through repeating types, however many constructors a program nests, and through
    /// structures no deeper than the number of members with data.
    fn core(&self) -> &Datatype {
        let mut core = self;
        loop {
            core = match core.recipe().level() {
                MapLevel::Copies(child) if child.size() == core.size() => child,
                MapLevel::Members(lengths, children) => match only_with_data(lengths, children, core.size()) {
                    Some(child) => child,
                    None => return core,
                },
                _ => return core,
            }
        }
    }

    /// `elements_in` for less than one element.
    fn elements_in_part(&self, mut bytes: i64) -> Option<i64> {
        match self.core().recipe().level() {
            MapLevel::Basic(basic) => match basic.pair() {
                Some((value, ..)) if bytes == value.size() as i64 => Some(1),
                _ => None,
            },
            MapLevel::Copies(child) => child.elements_in(bytes),
            MapLevel::Members(lengths, children) => {
                let mut elements = 0;
                for (&length, child) in lengths.iter().zip(children) {
                    let size = child.bytes(length);
                    if bytes <= size {
                        return Some(elements + child.elements_in(bytes)?);
                    }
                    bytes -= size;
                    elements += length * child.elements();
                }
                None
            }
        }
    }

    /// Calls `visit` with the basic elements of `count` elements in order, merging equal ones into
    /// a run if their number is known without traversing them.
    pub fn for_each_run(&self, count: i64, visit: &mut dyn FnMut(Basic, i64)) {
        if count <= 0 || self.size() == 0 {
            return;
        }
        if let Some(basic) = self.single_basic() {
            return visit(basic, self.bytes(count) / basic.size() as i64);
        }
        match self.core().recipe().level() {
            MapLevel::Basic(basic) => visit(basic, count),
            MapLevel::Copies(child) => child.for_each_run(self.bytes(count) / child.size(), visit),
            MapLevel::Members(lengths, children) => {
                for _ in 0..count {
                    lengths.iter().zip(children).for_each(|(&length, child)| child.for_each_run(length, visit));
                }
            }
        }
    }

    /// Returns a hash of the sequence of basic types: equal for equal sequences, and very likely
    /// different for different ones.
    pub fn signature_hash(&self, count: i64) -> u64 {
        self.hash().repeated(count).value as u64
    }

    fn hash(&self) -> Hash {
        if self.size() == 0 {
            return Hash::EMPTY;
        }
        if let Some(basic) = self.single_basic() {
            return Hash::basic(basic).repeated(self.size() / basic.size() as i64);
        }
        match self.core().recipe().level() {
            MapLevel::Basic(basic) => Hash::basic(basic),
            MapLevel::Copies(child) => child.hash().repeated(self.size() / child.size()),
            MapLevel::Members(lengths, children) => lengths
                .iter()
                .zip(children)
                .fold(Hash::EMPTY, |hash, (&length, child)| hash.then(child.hash().repeated(length))),
        }
    }
}

/// The member of a structure of `size` bytes whose one element holds all of the data, if there is
/// one.
fn only_with_data<'a>(lengths: &[i64], children: &'a [Datatype], size: i64) -> Option<&'a Datatype> {
    let (_, child) = lengths.iter().zip(children).find(|(length, child)| **length > 0 && child.size() > 0)?;
    (child.size() == size).then_some(child)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Form;

    fn record() -> Datatype {
        let children = [Basic::Double, Basic::Int, Basic::Char].map(Datatype::named);
        Datatype::structure(&[1, 2, 3], &[0, 8, 16], &children, Form::Small).expect("a valid structure")
    }

    #[test]
    fn counts_whole_elements() {
        let record = record();
        assert_eq!(record.count_in(38), Some(2));
        assert_eq!(record.count_in(37), None);
        let empty = Datatype::contiguous(0, &record, Form::Small).expect("a valid type");
        assert_eq!((empty.count_in(0), empty.count_in(1)), (Some(0), None));
    }

    #[test]
    fn counts_basic_elements_up_to_the_middle() {
        let record = record();
        let expected = [
            (0, Some(0)),
            (4, None),
            (8, Some(1)),
            (12, Some(2)),
            (16, Some(3)),
            (17, Some(4)),
            (19, Some(6)),
            (27, Some(7)),
            (28, None),
            (190, Some(60)),
        ];
        for (bytes, elements) in expected {
            assert_eq!(record.elements_in(bytes), elements, "{bytes} bytes");
        }
        let pair = Datatype::named(Basic::DoubleInt);
        assert_eq!([8, 12, 20, 24, 4].map(|bytes| pair.elements_in(bytes)), [Some(1), Some(2), Some(3), Some(4), None]);
        let huge = Datatype::contiguous(1 << 40, &Datatype::named(Basic::Int), Form::Large).expect("a valid type");
        assert_eq!(huge.elements_in(1 << 50), Some(1 << 48));
    }

    #[test]
    fn equal_signatures_have_equal_hashes() {
        let int = Datatype::named(Basic::Int);
        let column = Datatype::vector(6, 2, 9, &int, Form::Small).expect("a valid vector");
        assert_eq!(column.signature_hash(5), int.signature_hash(60));
        assert_ne!(column.signature_hash(5), int.signature_hash(59));
        let record = record();
        let two = Datatype::contiguous(2, &record, Form::Small).expect("a valid type");
        assert_eq!(record.signature_hash(4), two.signature_hash(2));
        let children = [Basic::Int, Basic::Double, Basic::Char].map(Datatype::named);
        let other = Datatype::structure(&[2, 1, 3], &[0, 8, 16], &children, Form::Small).expect("a valid structure");
        assert_ne!(record.signature_hash(1), other.signature_hash(1));
    }

    #[test]
    fn runs_come_in_order() {
        let mut runs = Vec::new();
        record().for_each_run(2, &mut |basic, count| runs.push((basic, count)));
        let once = [(Basic::Double, 1), (Basic::Int, 2), (Basic::Char, 3)];
        assert_eq!(runs, [once, once].concat());
    }
}
