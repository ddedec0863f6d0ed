//! Constructors of derived datatypes from strides, lists and members (MPI 5.0, sections 5.1.2 and
//! 5.1.7).
//!
//! Counts and displacements are always `i64`; [`Form`] tells which form of the function the program
//! called. The constructors check their arguments, compute bounds without overflow and compose the
//! plan from the plans of the component types.

use crate::body::ElementLayout;
use crate::datatype::{Datatype, Form};
use crate::error::{Error, Result, count, counts, length};
use crate::recipe::Recipe;

const LENGTHS: &str = "array_of_blocklengths";
const DISPLACEMENTS: &str = "array_of_displacements";

/// `displacement * extent` for every entry.
fn in_bytes(displacements: &[i64], extent: i64) -> Result<Vec<i64>> {
    let scaled = displacements.iter().map(|displacement| displacement.checked_mul(extent));
    scaled.collect::<Option<_>>().ok_or(Error::Overflow { what: "bounds" })
}

impl Datatype {
    /// `count` copies, one extent apart (`MPI_Type_contiguous`).
    ///
    /// # Errors
    /// If the count is negative or the bounds do not fit in 63 bits. This applies to all
    /// constructors below.
    pub fn contiguous(count: i64, child: &Datatype, form: Form) -> Result<Datatype> {
        let body = child.body().contiguous(self::count("count", count)?)?;
        Ok(Datatype::made(body, Recipe::Contiguous { count, child: child.clone() }, form))
    }

    /// `count` blocks of `blocklength` copies, `stride` extents apart (`MPI_Type_vector`).
    pub fn vector(count: i64, blocklength: i64, stride: i64, child: &Datatype, form: Form) -> Result<Datatype> {
        let bytes = stride.checked_mul(child.extent()).ok_or(Error::Overflow { what: "bounds" })?;
        let body = strided(count, blocklength, bytes, child)?;
        Ok(Datatype::made(body, Recipe::Vector { count, blocklength, stride, child: child.clone() }, form))
    }

    /// `count` blocks of `blocklength` copies, `stride` bytes apart (`MPI_Type_create_hvector`).
    pub fn hvector(count: i64, blocklength: i64, stride: i64, child: &Datatype, form: Form) -> Result<Datatype> {
        let body = strided(count, blocklength, stride, child)?;
        Ok(Datatype::made(body, Recipe::Hvector { count, blocklength, stride, child: child.clone() }, form))
    }

    /// Blocks of any lengths at displacements given in extents (`MPI_Type_indexed`).
    pub fn indexed(lengths: &[i64], displacements: &[i64], child: &Datatype, form: Form) -> Result<Datatype> {
        counts(LENGTHS, lengths)?;
        length(DISPLACEMENTS, displacements.len(), lengths.len())?;
        let body = child.body().in_blocks(lengths, &in_bytes(displacements, child.extent())?)?;
        let (lengths, displacements) = (lengths.into(), displacements.into());
        Ok(Datatype::made(body, Recipe::Indexed { lengths, displacements, child: child.clone() }, form))
    }

    /// Blocks of any lengths at displacements in bytes (`MPI_Type_create_hindexed`).
    pub fn hindexed(lengths: &[i64], displacements: &[i64], child: &Datatype, form: Form) -> Result<Datatype> {
        counts(LENGTHS, lengths)?;
        length(DISPLACEMENTS, displacements.len(), lengths.len())?;
        let body = child.body().in_blocks(lengths, displacements)?;
        let (lengths, displacements) = (lengths.into(), displacements.into());
        Ok(Datatype::made(body, Recipe::Hindexed { lengths, displacements, child: child.clone() }, form))
    }

    /// Blocks of equal length at displacements given in extents (`MPI_Type_create_indexed_block`).
    pub fn indexed_block(blocklength: i64, displacements: &[i64], child: &Datatype, form: Form) -> Result<Datatype> {
        let block = child.body().contiguous(count("blocklength", blocklength)?)?;
        let body = block.at_offsets(&in_bytes(displacements, child.extent())?)?;
        let displacements = displacements.into();
        Ok(Datatype::made(body, Recipe::IndexedBlock { blocklength, displacements, child: child.clone() }, form))
    }

    /// Blocks of equal length at displacements in bytes (`MPI_Type_create_hindexed_block`).
    pub fn hindexed_block(blocklength: i64, displacements: &[i64], child: &Datatype, form: Form) -> Result<Datatype> {
        let block = child.body().contiguous(count("blocklength", blocklength)?)?;
        let body = block.at_offsets(displacements)?;
        let displacements = displacements.into();
        Ok(Datatype::made(body, Recipe::HindexedBlock { blocklength, displacements, child: child.clone() }, form))
    }

    /// Blocks of different types (`MPI_Type_create_struct`).
    pub fn structure(lengths: &[i64], displacements: &[i64], children: &[Datatype], form: Form) -> Result<Datatype> {
        counts(LENGTHS, lengths)?;
        length(DISPLACEMENTS, displacements.len(), lengths.len())?;
        length("array_of_types", children.len(), lengths.len())?;
        let part = |index: usize| children[index].body().contiguous(lengths[index])?.shifted(displacements[index]);
        let parts = (0..lengths.len()).map(part).collect::<Result<Vec<ElementLayout>>>()?;
        let body = ElementLayout::structure(&parts)?;
        let recipe =
            Recipe::Struct { lengths: lengths.into(), displacements: displacements.into(), children: children.into() };
        Ok(Datatype::made(body, recipe, form))
    }

    /// The same data with another lower bound and extent (`MPI_Type_create_resized`).
    pub fn resized(lb: i64, extent: i64, child: &Datatype, form: Form) -> Result<Datatype> {
        let body = child.body().clone().resized(lb, extent)?;
        Ok(Datatype::made(body, Recipe::Resized { lb, extent, child: child.clone() }, form))
    }
}

fn strided(count: i64, blocklength: i64, stride: i64, child: &Datatype) -> Result<ElementLayout> {
    let (count, blocklength) = (self::count("count", count)?, self::count("blocklength", blocklength)?);
    match blocklength {
        1 => child.body().repeated(count, stride),
        _ => child.body().contiguous(blocklength)?.repeated(count, stride),
    }
}
