//! How a datatype was constructed: the arguments of its constructor, for `MPI_Type_get_envelope`,
//! `MPI_Type_get_contents` and for all code that depends on the order of the basic elements (MPI
//! 5.0, section 5.1.13).
//!
//! Invariant: every recipe other than that of a structure repeats a single child, so its basic
//! elements are those of `size / child.size` consecutive children.

use crate::basic::Basic;
use crate::datatype::{Datatype, Form};

/// The constructor that made a type; the numbers are the standard's `MPI_COMBINER_` constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
}

/// The result of `MPI_Type_get_contents_c`. The lengths of the lists are the result of
/// `MPI_Type_get_envelope_c`.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type `int`.
    pub integers: Vec<i64>,
    /// Arguments of type `MPI_Aint`.
    pub addresses: Vec<i64>,
    /// Arguments of type `MPI_Count`; only for types made by a large-count constructor.
    pub counts: Vec<i64>,
    /// The component types.
    pub datatypes: Vec<Datatype>,
}

/// Arguments of `MPI_Type_create_darray`, with the standard's constants.
#[derive(Clone, Debug)]
pub struct Darray {
    /// Number of processes.
    pub size: i64,
    /// Rank whose part the type describes.
    pub rank: i64,
    /// Global sizes of the array.
    pub gsizes: Vec<i64>,
    /// `MPI_DISTRIBUTE_` constant of each dimension.
    pub distributions: Vec<i64>,
    /// Block size of each dimension, or `MPI_DISTRIBUTE_DFLT_DARG`.
    pub arguments: Vec<i64>,
    /// Shape of the process grid.
    pub processes: Vec<i64>,
    /// `MPI_ORDER_C` or `MPI_ORDER_FORTRAN`.
    pub order: i64,
}

/// A constructor and its arguments.
#[derive(Debug)]
pub(crate) enum Recipe {
    Named(Basic),
    Dup(Datatype),
    Contiguous { count: i64, child: Datatype },
    Vector { count: i64, blocklength: i64, stride: i64, child: Datatype },
    Hvector { count: i64, blocklength: i64, stride: i64, child: Datatype },
    Indexed { lengths: Box<[i64]>, displacements: Box<[i64]>, child: Datatype },
    Hindexed { lengths: Box<[i64]>, displacements: Box<[i64]>, child: Datatype },
    IndexedBlock { blocklength: i64, displacements: Box<[i64]>, child: Datatype },
    HindexedBlock { blocklength: i64, displacements: Box<[i64]>, child: Datatype },
    Struct { lengths: Box<[i64]>, displacements: Box<[i64]>, children: Box<[Datatype]> },
    Subarray { sizes: Box<[i64]>, subsizes: Box<[i64]>, starts: Box<[i64]>, order: i64, child: Datatype },
    Darray { arguments: Box<Darray>, child: Datatype },
    Resized { lb: i64, extent: i64, child: Datatype },
    F90Real { basic: Basic, precision: i64, range: i64 },
    F90Complex { basic: Basic, precision: i64, range: i64 },
    F90Integer { basic: Basic, range: i64 },
}

/// The next level of a type map.
pub(crate) enum MapLevel<'a> {
    /// One basic element.
    Basic(Basic),
    /// Repeated copies of this type.
    Copies(&'a Datatype),
    /// For each type, its number of copies.
    Members(&'a [i64], &'a [Datatype]),
}

impl Recipe {
    /// The next level of the type map.
    pub(crate) fn level(&self) -> MapLevel<'_> {
        match self {
            Recipe::Named(basic)
            | Recipe::F90Real { basic, .. }
            | Recipe::F90Complex { basic, .. }
            | Recipe::F90Integer { basic, .. } => MapLevel::Basic(*basic),
            Recipe::Dup(child)
            | Recipe::Contiguous { child, .. }
            | Recipe::Vector { child, .. }
            | Recipe::Hvector { child, .. }
            | Recipe::Indexed { child, .. }
            | Recipe::Hindexed { child, .. }
            | Recipe::IndexedBlock { child, .. }
            | Recipe::HindexedBlock { child, .. }
            | Recipe::Subarray { child, .. }
            | Recipe::Darray { child, .. }
            | Recipe::Resized { child, .. } => MapLevel::Copies(child),
            Recipe::Struct { lengths, children, .. } => MapLevel::Members(lengths, children),
        }
    }

    /// Moves the component types to `into`; the recipe must not be used afterwards.
    pub(crate) fn take_children(&mut self, into: &mut Vec<Datatype>) {
        match std::mem::replace(self, Recipe::Named(Basic::Byte)) {
            Recipe::Named(_) | Recipe::F90Real { .. } | Recipe::F90Complex { .. } | Recipe::F90Integer { .. } => {}
            Recipe::Dup(child)
            | Recipe::Contiguous { child, .. }
            | Recipe::Vector { child, .. }
            | Recipe::Hvector { child, .. }
            | Recipe::Indexed { child, .. }
            | Recipe::Hindexed { child, .. }
            | Recipe::IndexedBlock { child, .. }
            | Recipe::HindexedBlock { child, .. }
            | Recipe::Subarray { child, .. }
            | Recipe::Darray { child, .. }
            | Recipe::Resized { child, .. } => into.push(child),
            Recipe::Struct { children, .. } => into.extend(children),
        }
    }

    fn combiner(&self) -> Combiner {
        match self {
            Recipe::Named(_) => Combiner::Named,
            Recipe::Dup(_) => Combiner::Dup,
            Recipe::Contiguous { .. } => Combiner::Contiguous,
            Recipe::Vector { .. } => Combiner::Vector,
            Recipe::Hvector { .. } => Combiner::Hvector,
            Recipe::Indexed { .. } => Combiner::Indexed,
            Recipe::Hindexed { .. } => Combiner::Hindexed,
            Recipe::IndexedBlock { .. } => Combiner::IndexedBlock,
            Recipe::HindexedBlock { .. } => Combiner::HindexedBlock,
            Recipe::Struct { .. } => Combiner::Struct,
            Recipe::Subarray { .. } => Combiner::Subarray,
            Recipe::Darray { .. } => Combiner::Darray,
            Recipe::Resized { .. } => Combiner::Resized,
            Recipe::F90Real { .. } => Combiner::F90Real,
            Recipe::F90Complex { .. } => Combiner::F90Complex,
            Recipe::F90Integer { .. } => Combiner::F90Integer,
        }
    }

    /// The arguments that are `int` in both forms, those that are `int` or `MPI_Count`, and those
    /// that are `MPI_Aint` or `MPI_Count`, each in the order of the standard's lists.
    fn arguments(&self) -> [Vec<i64>; 3] {
        let list = |first: &[i64], lists: &[&[i64]]| [first, &lists.concat()].concat();
        match self {
            Recipe::Named(_) | Recipe::Dup(_) => [vec![], vec![], vec![]],
            Recipe::Contiguous { count, .. } => [vec![], vec![*count], vec![]],
            Recipe::Vector { count, blocklength, stride, .. } => [vec![], vec![*count, *blocklength, *stride], vec![]],
            Recipe::Hvector { count, blocklength, stride, .. } => [vec![], vec![*count, *blocklength], vec![*stride]],
            Recipe::Indexed { lengths, displacements, .. } => {
                [vec![], list(&[lengths.len() as i64], &[lengths, displacements]), vec![]]
            }
            Recipe::Hindexed { lengths, displacements, .. } | Recipe::Struct { lengths, displacements, .. } => {
                [vec![], list(&[lengths.len() as i64], &[lengths]), displacements.to_vec()]
            }
            Recipe::IndexedBlock { blocklength, displacements, .. } => {
                [vec![], list(&[displacements.len() as i64, *blocklength], &[displacements]), vec![]]
            }
            Recipe::HindexedBlock { blocklength, displacements, .. } => {
                [vec![], vec![displacements.len() as i64, *blocklength], displacements.to_vec()]
            }
            // The arguments that stay `int` are on both sides of the others; `contents` orders
            // them.
            Recipe::Subarray { sizes, subsizes, starts, order, .. } => {
                [vec![sizes.len() as i64, *order], list(&[], &[sizes, subsizes, starts]), vec![]]
            }
            Recipe::Darray { arguments: darray, .. } => {
                let head = [darray.size, darray.rank, darray.gsizes.len() as i64];
                let lists: [&[i64]; 4] = [&darray.distributions, &darray.arguments, &darray.processes, &[darray.order]];
                [list(&head, &lists), darray.gsizes.clone(), vec![]]
            }
            Recipe::Resized { lb, extent, .. } => [vec![], vec![], vec![*lb, *extent]],
            Recipe::F90Real { precision, range, .. } | Recipe::F90Complex { precision, range, .. } => {
                [vec![*precision, *range], vec![], vec![]]
            }
            Recipe::F90Integer { range, .. } => [vec![*range], vec![], vec![]],
        }
    }

    /// Index among the arguments that stay `int` at which the small form inserts the others.
    fn position(&self) -> usize {
        match self {
            Recipe::Subarray { .. } => 1,
            Recipe::Darray { .. } => 3,
            _ => 0,
        }
    }

    fn datatypes(&self) -> Vec<Datatype> {
        match self.level() {
            MapLevel::Basic(_) => Vec::new(),
            MapLevel::Copies(child) => vec![child.clone()],
            MapLevel::Members(_, children) => children.to_vec(),
        }
    }
}

impl Datatype {
    /// Returns the constructor and its arguments, in the order of the tables of MPI 5.0, section
    /// 5.1.13.
    pub fn contents(&self) -> Contents {
        let recipe = self.recipe();
        let [mut integers, changing, addresses] = recipe.arguments();
        let (combiner, datatypes) = (recipe.combiner(), recipe.datatypes());
        if self.form() == Form::Large {
            let counts = [changing, addresses].concat();
            return Contents { combiner, integers, addresses: Vec::new(), counts, datatypes };
        }
        integers.splice(recipe.position()..recipe.position(), changing);
        Contents { combiner, integers, addresses, counts: Vec::new(), datatypes }
    }
}
