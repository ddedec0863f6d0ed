//! Parts of arrays: subarray (MPI 5.0, section 5.1.3) and distributed array (section 5.1.4).
//!
//! Both are built one dimension at a time, innermost first; finally the bounds are set to those of
//! the whole array. In a distributed array a dimension is a sequence of equal blocks, assigned to
//! the processes round-robin, with a possibly shorter last block.

use crate::body::ElementLayout;
use crate::constants::{
    DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, DISTRIBUTE_NONE, ORDER_C, ORDER_FORTRAN,
};
use crate::datatype::{Datatype, Form};
use crate::error::{Error, Result, length};
use crate::recipe::{Darray, Recipe};

const BOUNDS: Error = Error::Overflow { what: "bounds" };

fn argument<T>(argument: impl Into<String>, value: i64, rule: impl Into<String>) -> Result<T> {
    Err(Error::Argument { argument: argument.into(), value, rule: rule.into() })
}

/// Indices of the dimensions, innermost first.
fn dimensions(count: usize, order: i64) -> Result<Vec<usize>> {
    match order {
        _ if count == 0 => argument("ndims", 0, "must be at least 1"),
        ORDER_C => Ok((0..count).rev().collect()),
        ORDER_FORTRAN => Ok((0..count).collect()),
        _ => argument("order", order, "must be MPI_ORDER_C or MPI_ORDER_FORTRAN"),
    }
}

impl Datatype {
    /// The part of an array that begins at `starts` and has `subsizes` elements per dimension
    /// (`MPI_Type_create_subarray`).
    ///
    /// # Errors
    /// If the part is not inside the array, the order is unknown, or the bounds do not fit in 63
    /// bits.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: i64,
        child: &Datatype,
        form: Form,
    ) -> Result<Datatype> {
        length("array_of_subsizes", subsizes.len(), sizes.len())?;
        length("array_of_starts", starts.len(), sizes.len())?;
        let (mut body, mut stride) = (child.body().clone(), child.extent());
        for index in dimensions(sizes.len(), order)? {
            let (size, subsize, start) = (sizes[index], subsizes[index], starts[index]);
            if size < 1 {
                return argument(format!("array_of_sizes[{index}]"), size, "must be at least 1");
            }
            if !(1..=size).contains(&subsize) {
                let rule = format!("must be between 1 and array_of_sizes[{index}], which is {size}");
                return argument(format!("array_of_subsizes[{index}]"), subsize, rule);
            }
            if !(0..=size - subsize).contains(&start) {
                let rule = format!("must be between 0 and {}: sizes less subsizes", size - subsize);
                return argument(format!("array_of_starts[{index}]"), start, rule);
            }
            let distance = start.checked_mul(stride).ok_or(BOUNDS)?;
            body = body.repeated(subsize, stride)?.shifted(distance)?;
            stride = stride.checked_mul(size).ok_or(BOUNDS)?;
        }
        let recipe = Recipe::Subarray {
            sizes: sizes.into(),
            subsizes: subsizes.into(),
            starts: starts.into(),
            order,
            child: child.clone(),
        };
        Ok(Datatype::made(body.resized(0, stride)?, recipe, form))
    }

    /// The part of a distributed array owned by one process (`MPI_Type_create_darray`).
    ///
    /// # Errors
    /// If the arguments do not describe a distribution, or the bounds do not fit in 63 bits.
    pub fn darray(arguments: Darray, child: &Datatype, form: Form) -> Result<Datatype> {
        let order = dimensions(arguments.gsizes.len(), arguments.order)?;
        let coordinates = coordinates(&arguments)?;
        let (mut body, mut stride) = (child.body().clone(), child.extent());
        for index in order {
            let block = block(&arguments, index)?;
            let part = DistributedDimension {
                size: arguments.gsizes[index],
                processes: arguments.processes[index],
                mine: coordinates[index],
                block,
            };
            body = part.of(&body, stride)?;
            stride = stride.checked_mul(part.size).ok_or(BOUNDS)?;
        }
        let recipe = Recipe::Darray { arguments: Box::new(arguments), child: child.clone() };
        Ok(Datatype::made(body.resized(0, stride)?, recipe, form))
    }
}

/// Coordinates of the process in the grid; the last dimension varies fastest, whatever the order of
/// the array.
fn coordinates(arguments: &Darray) -> Result<Vec<i64>> {
    let Darray { size, rank, gsizes, distributions, arguments: blocks, processes, .. } = arguments;
    length("array_of_distribs", distributions.len(), gsizes.len())?;
    length("array_of_dargs", blocks.len(), gsizes.len())?;
    length("array_of_psizes", processes.len(), gsizes.len())?;
    for (index, &processes) in processes.iter().enumerate() {
        if processes < 1 {
            return argument(format!("array_of_psizes[{index}]"), processes, "must be at least 1");
        }
    }
    let product = processes.iter().try_fold(1i64, |product, &processes| product.checked_mul(processes));
    if product != Some(*size) {
        return argument("size", *size, "must be the product of array_of_psizes");
    }
    if !(0..*size).contains(rank) {
        return argument("rank", *rank, format!("must be between 0 and {}", size - 1));
    }
    let mut rest = *rank;
    let mut coordinates = vec![0; processes.len()];
    for (coordinate, &processes) in coordinates.iter_mut().zip(processes).rev() {
        *coordinate = rest % processes;
        rest /= processes;
    }
    Ok(coordinates)
}

/// Block size of a dimension.
fn block(arguments: &Darray, index: usize) -> Result<i64> {
    let (size, processes, block) = (arguments.gsizes[index], arguments.processes[index], arguments.arguments[index]);
    if size < 1 {
        return argument(format!("array_of_gsizes[{index}]"), size, "must be at least 1");
    }
    let default = block == DISTRIBUTE_DFLT_DARG;
    if block < 1 && arguments.distributions[index] != DISTRIBUTE_NONE {
        return argument(format!("array_of_dargs[{index}]"), block, "must be at least 1");
    }
    match arguments.distributions[index] {
        DISTRIBUTE_NONE if processes == 1 => Ok(size),
        DISTRIBUTE_NONE => {
            argument(format!("array_of_psizes[{index}]"), processes, "must be 1 where nothing is distributed")
        }
        DISTRIBUTE_BLOCK if default => Ok((size - 1) / processes + 1),
        DISTRIBUTE_BLOCK if block.saturating_mul(processes) < size => {
            let rule = format!("that times array_of_psizes[{index}] must be at least array_of_gsizes[{index}]");
            argument(format!("array_of_dargs[{index}]"), block, rule)
        }
        DISTRIBUTE_BLOCK => Ok(block),
        DISTRIBUTE_CYCLIC if default => Ok(1),
        DISTRIBUTE_CYCLIC => Ok(block),
        other => argument(
            format!("array_of_distribs[{index}]"),
            other,
            "must be MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE",
        ),
    }
}

/// One dimension of a distributed array: `size` elements in blocks, assigned round-robin.
struct DistributedDimension {
    size: i64,
    processes: i64,
    mine: i64,
    block: i64,
}

impl DistributedDimension {
    /// The process's blocks of `inner`, whose copies are `stride` bytes apart.
    fn of(&self, inner: &ElementLayout, stride: i64) -> Result<ElementLayout> {
        let bytes = |elements: i64| elements.checked_mul(stride).ok_or(BOUNDS);
        let whole = self.size / self.block;
        let mine = if self.mine < whole { (whole - self.mine - 1) / self.processes + 1 } else { 0 };
        let mut body = ElementLayout::empty();
        if mine > 0 {
            // The distance to the next block is not needed for a single block, and may overflow.
            let round = if mine > 1 { bytes(self.processes * self.block)? } else { 0 };
            body =
                inner.repeated(self.block, stride)?.repeated(mine, round)?.shifted(bytes(self.mine * self.block)?)?;
        }
        let rest = self.size % self.block;
        if rest > 0 && whole % self.processes == self.mine {
            let last = inner.repeated(rest, stride)?.shifted(bytes(whole * self.block)?)?;
            body = ElementLayout::structure(&[body, last])?;
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::Basic;
    use crate::cursor::pack;

    /// Indices of the elements that `datatype` selects from an array of `size` integers.
    fn picked(datatype: &Datatype, size: i32) -> Vec<i32> {
        let array: Vec<i32> = (0..size).collect();
        let mut packed = vec![0i32; datatype.size() as usize / 4];
        // SAFETY: `array` holds one element of `datatype`, and `packed` the `size` bytes that are
        // written; `capacity` claims more, so that `pack` is limited by the datatype only.
        let done = unsafe { pack(datatype, array.as_ptr().cast(), 1, 0, packed.as_mut_ptr().cast(), usize::MAX / 2) };
        assert_eq!((done as i64, datatype.extent()), (datatype.size(), i64::from(size) * 4));
        packed
    }

    fn int() -> Datatype {
        Datatype::named(Basic::Int)
    }

    #[test]
    fn subarrays_in_both_orders() {
        let c = Datatype::subarray(&[3, 4], &[2, 2], &[1, 2], ORDER_C, &int(), Form::Small).expect("valid");
        assert_eq!(picked(&c, 12), [6, 7, 10, 11]);
        let fortran = Datatype::subarray(&[3, 4], &[2, 2], &[1, 2], ORDER_FORTRAN, &int(), Form::Small).expect("valid");
        assert_eq!(picked(&fortran, 12), [7, 8, 10, 11]);
    }

    #[test]
    fn parts_outside_the_array_are_refused() {
        let make = |size, subsize, start, order| {
            Datatype::subarray(&[9, size], &[1, subsize], &[0, start], order, &int(), Form::Small)
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert_eq!(make(4, 2, 2, ORDER_C), Ok(()));
        let sentences = [
            make(0, 2, 2, ORDER_C),
            make(4, 0, 2, ORDER_C),
            make(4, 5, 0, ORDER_C),
            make(4, 2, 3, ORDER_C),
            make(4, 2, -1, ORDER_C),
            make(4, 2, 2, 1),
        ];
        let beginnings = [
            "array_of_sizes[1] is 0",
            "array_of_subsizes[1] is 0",
            "array_of_subsizes[1] is 5",
            "array_of_starts[1] is 3",
            "array_of_starts[1] is -1",
            "order is 1",
        ];
        for (sentence, beginning) in sentences.into_iter().zip(beginnings) {
            let sentence = sentence.expect_err("an error");
            assert!(sentence.starts_with(beginning), "{sentence}");
        }
    }

    fn distributed(distribution: i64, block: i64, rank: i64) -> Vec<i32> {
        let arguments = Darray {
            size: 3,
            rank,
            gsizes: vec![10],
            distributions: vec![distribution],
            arguments: vec![block],
            processes: vec![3],
            order: ORDER_C,
        };
        picked(&Datatype::darray(arguments, &int(), Form::Small).expect("a valid distribution"), 10)
    }

    #[test]
    fn one_dimension_is_dealt_out() {
        let all = |distribution, block| [0, 1, 2].map(|rank| distributed(distribution, block, rank));
        assert_eq!(all(DISTRIBUTE_BLOCK, DISTRIBUTE_DFLT_DARG), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
        assert_eq!(all(DISTRIBUTE_BLOCK, 5), [vec![0, 1, 2, 3, 4], vec![5, 6, 7, 8, 9], vec![]]);
        assert_eq!(all(DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG), [vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]]);
        assert_eq!(all(DISTRIBUTE_CYCLIC, 2), [vec![0, 1, 6, 7], vec![2, 3, 8, 9], vec![4, 5]]);
        assert_eq!(all(DISTRIBUTE_CYCLIC, 4), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    }

    #[test]
    fn two_dimensions_by_definition() {
        let (gsizes, processes, blocks) = ([7i64, 5], [2i64, 3], [2i64, 1]);
        for order in [ORDER_C, ORDER_FORTRAN] {
            for rank in 0..6 {
                let arguments = Darray {
                    size: 6,
                    rank,
                    gsizes: gsizes.to_vec(),
                    distributions: vec![DISTRIBUTE_CYCLIC; 2],
                    arguments: blocks.to_vec(),
                    processes: processes.to_vec(),
                    order,
                };
                let datatype = Datatype::darray(arguments, &int(), Form::Small).expect("a valid distribution");
                let place = [rank / 3, rank % 3];
                let held = |index: usize, at: i64| at / blocks[index] % processes[index] == place[index];
                let rows = (0..gsizes[0]).filter(|&row| held(0, row));
                let columns = || (0..gsizes[1]).filter(|&column| held(1, column));
                let mut expected: Vec<i32> = if order == ORDER_C {
                    rows.flat_map(|row| columns().map(move |column| (row * 5 + column) as i32)).collect()
                } else {
                    rows.flat_map(|row| columns().map(move |column| (column * 7 + row) as i32)).collect()
                };
                expected.sort_unstable();
                assert_eq!(picked(&datatype, 35), expected, "rank {rank}, order {order}");
            }
        }
    }

    #[test]
    fn impossible_distributions_are_refused() {
        let valid = Darray {
            size: 2,
            rank: 1,
            gsizes: vec![4],
            distributions: vec![DISTRIBUTE_BLOCK],
            arguments: vec![2],
            processes: vec![2],
            order: ORDER_C,
        };
        let bad = [
            Darray { rank: 2, ..valid.clone() },
            Darray { size: 3, ..valid.clone() },
            Darray { gsizes: vec![0], ..valid.clone() },
            Darray { gsizes: vec![5], ..valid.clone() },
            Darray { arguments: vec![0], ..valid.clone() },
            Darray { distributions: vec![DISTRIBUTE_NONE], ..valid.clone() },
            Darray { distributions: vec![3], ..valid.clone() },
            Darray { processes: vec![-2], size: -2, ..valid.clone() },
            Darray { order: 0, ..valid.clone() },
            Darray { processes: vec![], ..valid.clone() },
            Darray { gsizes: vec![], ..valid.clone() },
        ];
        assert!(Datatype::darray(valid, &int(), Form::Small).is_ok());
        for arguments in bad {
            let shown = format!("{arguments:?}");
            assert!(Datatype::darray(arguments, &int(), Form::Small).is_err(), "{shown}");
        }
    }
}
