//! The kernels, and their names in `kernels/`.

use towpath_datatype::Basic;
use towpath_datatype::basic::{Class, Float};
use towpath_datatype::reduce::Operation;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// Moves words of so many bytes.
    Move { word: usize },
    /// Moves words of any size, with 64-bit numbers.
    MoveWide,
    /// Makes several moves, of words of any size.
    MoveMany,
    /// Reduces vectors.
    Reduce(Operation, Basic),
}

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KernelFile {
    Move,
    Reduce,
}

impl Kernel {
    /// The file that it is in.
    pub(crate) fn file(self) -> KernelFile {
        match self {
            Kernel::Move { .. } | Kernel::MoveWide | Kernel::MoveMany => KernelFile::Move,
            Kernel::Reduce(..) => KernelFile::Reduce,
        }
    }

    /// Its name in the source; `None` if there is none.
    pub(crate) fn name(self) -> Option<String> {
        match self {
            Kernel::Move { word } => Some(format!("towpath_move_{word}")),
            Kernel::MoveWide => Some("towpath_move_wide".to_owned()),
            Kernel::MoveMany => Some("towpath_move_many".to_owned()),
            Kernel::Reduce(operation, basic) => reduction_name(operation, basic),
        }
    }
}

/// The name of the kernel of an operation that is defined for this type; `None` if devices lack
/// numbers of this format.
fn reduction_name(operation: Operation, basic: Basic) -> Option<String> {
    let what = match operation {
        Operation::Sum => "sum",
        Operation::Product => "product",
        Operation::Min => "min",
        Operation::Max => "max",
        Operation::BitwiseAnd => "and",
        Operation::BitwiseOr => "or",
        Operation::BitwiseXor => "xor",
        Operation::LogicalAnd => "land",
        Operation::LogicalOr => "lor",
        Operation::LogicalXor => "lxor",
        Operation::MinLocation => "minloc",
        Operation::MaxLocation => "maxloc",
        Operation::Replace | Operation::NoOp => return None,
    };
    let is_sum = matches!(operation, Operation::Sum | Operation::Product);
    let is_extremum = matches!(operation, Operation::Min | Operation::Max);
    let of = match basic.class() {
        Class::Signed(size) | Class::Character(size) if is_extremum => of_words("_signed", size)?,
        Class::Unsigned(size) if is_extremum => of_words("_unsigned", size)?,
        Class::Signed(size) | Class::Unsigned(size) | Class::Character(size) if is_sum => {
            of_words("_int", size)?
        }
        Class::Signed(size)
        | Class::Unsigned(size)
        | Class::Character(size)
        | Class::Logical(size) => of_words("", size)?,
        Class::Byte => of_words("", 1)?,
        Class::Float(float) => of_words("_float", bytes_of(float)?)?,
        Class::Complex(float) => of_words("_complex", bytes_of(float)?)?,
        Class::Pair(..) => pair_name(basic)?.to_owned(),
        Class::Packed | Class::Marker => return None,
    };
    Some(format!("towpath_reduce_{what}{of}"))
}

/// The end of the name of a kernel for elements of `size` bytes.
fn of_words(kind: &str, size: usize) -> Option<String> {
    (size <= 8).then(|| format!("{kind}_{size}"))
}

fn bytes_of(float: Float) -> Option<usize> {
    match float {
        Float::Half => Some(2),
        Float::Single => Some(4),
        Float::Double => Some(8),
        Float::Extended | Float::Quad => None,
    }
}

fn pair_name(basic: Basic) -> Option<&'static str> {
    Some(match basic {
        Basic::FloatInt => "_float_int",
        Basic::DoubleInt => "_double_int",
        Basic::LongInt => "_long_int",
        Basic::IntInt | Basic::IntegerInteger => "_int_int",
        Basic::ShortInt => "_short_int",
        Basic::RealReal => "_float_float",
        Basic::DoublePrecisionPair => "_double_double",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use towpath_datatype::basic;
    use towpath_datatype::reduce::{self, supports};

    use super::*;
    use crate::ptx::source_of;

    #[test]
    fn every_operation_on_a_type_that_devices_have_has_a_kernel() {
        let mut kernels = std::collections::BTreeSet::new();
        for &basic in basic::ALL {
            for &operation in reduce::ALL.iter().filter(|&&operation| supports(operation, basic)) {
                match Kernel::Reduce(operation, basic).name() {
                    Some(name) => {
                        assert!(source_of(&name).is_some(), "{name}");
                        kernels.insert(name);
                    }
                    None => assert!(
                        basic.size() >= 16 && basic != Basic::DoublePrecisionPair,
                        "{} of {}",
                        operation.name(),
                        basic.name()
                    ),
                }
            }
        }
        assert!(kernels.len() > 60, "{}", kernels.len());
    }
}
