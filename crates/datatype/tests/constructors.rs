//! Tests every constructor against manually computed values, its contents, and its rejection of
//! invalid arguments.

use towpath_datatype::constants::{DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC, DISTRIBUTE_DFLT_DARG, ORDER_C};
use towpath_datatype::{Basic, Combiner, Darray, Datatype, Error, Form, Result};

const SMALL: Form = Form::Small;

fn named(basic: Basic) -> Datatype {
    Datatype::named(basic)
}

/// Size, lower bound, extent, true lower bound, true extent.
fn bounds(datatype: &Datatype) -> [i64; 5] {
    [datatype.size(), datatype.lb(), datatype.extent(), datatype.true_lb(), datatype.true_extent()]
}

fn made(datatype: Result<Datatype>) -> [i64; 5] {
    bounds(&datatype.expect("valid arguments"))
}

#[test]
fn repeated_types() {
    let int = named(Basic::Int);
    assert_eq!(made(Datatype::contiguous(3, &int, SMALL)), [12, 0, 12, 0, 12]);
    assert_eq!(made(Datatype::contiguous(0, &int, SMALL)), [0; 5]);
    assert_eq!(made(Datatype::vector(3, 2, 5, &int, SMALL)), [24, 0, 48, 0, 48]);
    assert_eq!(made(Datatype::vector(3, 2, -4, &int, SMALL)), [24, -32, 40, -32, 40]);
    assert_eq!(made(Datatype::hvector(3, 1, 5, &int, SMALL)), [12, 0, 14, 0, 14]);
    assert_eq!(made(Datatype::vector(3, 0, 5, &int, SMALL)), [0; 5]);
    let pair = named(Basic::DoubleInt);
    assert_eq!(made(Datatype::contiguous(2, &pair, SMALL)), [24, 0, 32, 0, 28]);
}

#[test]
fn listed_types() {
    let double = named(Basic::Double);
    assert_eq!(made(Datatype::indexed(&[2, 0, 1], &[4, -9, 1], &double, SMALL)), [24, 8, 40, 8, 40]);
    assert_eq!(made(Datatype::hindexed(&[1, 1], &[-8, 8], &double, SMALL)), [16, -8, 24, -8, 24]);
    assert_eq!(made(Datatype::indexed_block(2, &[5, 0], &double, SMALL)), [32, 0, 56, 0, 56]);
    assert_eq!(made(Datatype::hindexed_block(1, &[3, 20], &double, SMALL)), [16, 3, 25, 3, 25]);
    assert_eq!(made(Datatype::indexed(&[], &[], &double, SMALL)), [0; 5]);
    assert_eq!(made(Datatype::indexed_block(0, &[5, 0], &double, SMALL)), [0; 5]);
}

#[test]
fn structures_are_padded_to_their_alignment() {
    let types = [Basic::Double, Basic::Int].map(named);
    let record = Datatype::structure(&[1, 1], &[0, 8], &types, SMALL).expect("a valid structure");
    assert_eq!(bounds(&record), [12, 0, 16, 0, 12]);
    assert_eq!(record.alignment(), 8);
    let types = [Basic::Int, Basic::Char].map(named);
    assert_eq!(made(Datatype::structure(&[1, 1], &[3, 9], &types, SMALL)), [5, 3, 8, 3, 7]);
    let types = [Basic::Double, Basic::Char].map(named);
    assert_eq!(made(Datatype::structure(&[0, 1], &[-50, 8], &types, SMALL)), [1, 8, 1, 8, 1]);
    assert_eq!(made(Datatype::structure(&[], &[], &[], SMALL)), [0; 5]);
    let types = [Basic::LongDouble, Basic::Char].map(named);
    assert_eq!(made(Datatype::structure(&[1, 1], &[0, 16], &types, SMALL)), [17, 0, 32, 0, 17]);
}

#[test]
fn resized_types_decide_the_bounds_of_what_contains_them() {
    let int = Datatype::resized(-100, 1000, &named(Basic::Int), SMALL).expect("a valid type");
    assert_eq!(bounds(&int), [4, -100, 1000, 0, 4]);
    assert_eq!(made(Datatype::contiguous(2, &int, SMALL)), [8, -100, 2000, 0, 1004]);
    let types = [int, named(Basic::Double)];
    assert_eq!(made(Datatype::structure(&[1, 1], &[0, 2000], &types, SMALL)), [12, -100, 1000, 0, 2008]);
    let backwards = Datatype::resized(0, -8, &named(Basic::Int), SMALL).expect("a valid type");
    assert_eq!(bounds(&backwards), [4, 0, -8, 0, 4]);
    assert_eq!(made(Datatype::contiguous(3, &backwards, SMALL)), [12, -16, 8, -16, 20]);
}

#[test]
fn the_markers_of_mpi_1_decide_one_bound_each() {
    use Basic::{Char, Double, Int, LowerBound, UpperBound};
    let structure = |places: &[i64], types: &[Basic]| {
        let (ones, types) = (vec![1; types.len()], types.iter().copied().map(named).collect::<Vec<_>>());
        Datatype::structure(&ones, places, &types, SMALL).expect("a valid structure")
    };
    let both = structure(&[-4, 0, 12], &[LowerBound, Int, UpperBound]);
    assert_eq!(bounds(&both), [4, -4, 16, 0, 4]);
    assert_eq!(made(Datatype::contiguous(2, &both, SMALL)), [8, -4, 32, 0, 20]);
    assert_eq!(bounds(&structure(&[-3, 0], &[LowerBound, Int])), [4, -3, 7, 0, 4]);
    assert_eq!(bounds(&structure(&[0, 16], &[Int, UpperBound])), [4, 0, 16, 0, 4]);
    assert_eq!(bounds(&structure(&[4, 2], &[Int, UpperBound])), [4, 4, -2, 4, 4]);
    assert_eq!(bounds(&structure(&[0, 3, 8], &[Char, LowerBound, Double])), [9, 3, 13, 0, 16]);
    let resized = Datatype::resized(-2, 10, &named(Int), SMALL).expect("a valid type");
    let wider = Datatype::structure(&[1, 1], &[0, 20], &[resized, named(UpperBound)], SMALL);
    assert_eq!(made(wider), [4, -2, 22, 0, 4]);
    assert_eq!(bounds(&named(LowerBound)), [0, 0, 0, 0, 0]);
    assert_eq!((named(UpperBound).elements(), named(UpperBound).single_basic()), (0, None));
}

#[test]
fn bounds_beyond_32_and_up_to_63_bits() {
    let double = named(Basic::Double);
    let far = Datatype::vector(3, 1, 1 << 40, &double, Form::Large).expect("a valid type");
    assert_eq!(bounds(&far), [24, 0, (1 << 44) + 8, 0, (1 << 44) + 8]);
    let many = Datatype::contiguous(1 << 40, &far, Form::Large);
    assert_eq!(many.map(|_| ()), Err(Error::Overflow { what: "bounds" }));
    let many = Datatype::contiguous(1 << 50, &double, Form::Large).expect("a valid type");
    assert_eq!((many.size(), many.extent(), many.elements()), (1 << 53, 1 << 53, 1 << 50));
    assert_eq!(many.bytes(1 << 20), i64::MAX);
    let ends = Datatype::hindexed_block(1, &[i64::MIN, i64::MAX - 8], &double, Form::Large);
    assert_eq!(ends.map(|_| ()), Err(Error::Overflow { what: "bounds" }));
    let end = Datatype::hindexed_block(1, &[i64::MAX], &double, Form::Large);
    assert_eq!(end.map(|_| ()), Err(Error::Overflow { what: "bounds" }));
    let stride = Datatype::vector(2, 1, i64::MAX, &double, Form::Large);
    assert_eq!(stride.map(|_| ()), Err(Error::Overflow { what: "bounds" }));
    let stacked = Datatype::hvector(i64::MAX, 3, 0, &double, Form::Large);
    assert_eq!(stacked.map(|_| ()), Err(Error::Overflow { what: "size" }));
    let resized = Datatype::resized(i64::MAX, 1, &double, Form::Large);
    assert!(matches!(resized, Err(Error::Argument { argument, value: 1, .. }) if argument == "extent"));
}

#[test]
fn spans_for_temporary_buffers() {
    let column = Datatype::vector(3, 1, -2, &named(Basic::Int), SMALL).expect("a valid vector");
    assert_eq!(column.span(1), (-16, 20));
    assert_eq!(column.span(3), (-16, 60));
    assert_eq!(column.span(0), (0, 0));
    let backwards = Datatype::resized(0, -8, &named(Basic::Int), SMALL).expect("a valid type");
    assert_eq!(backwards.span(3), (-16, 20));
}

#[test]
fn bad_arguments_are_named() {
    let int = named(Basic::Int);
    let sentence = |result: Result<Datatype>| result.expect_err("an error").to_string();
    assert_eq!(sentence(Datatype::contiguous(-1, &int, SMALL)), "count is -1, but must not be negative");
    assert_eq!(sentence(Datatype::vector(1, -2, 1, &int, SMALL)), "blocklength is -2, but must not be negative");
    assert_eq!(
        sentence(Datatype::hindexed(&[1, -7], &[0, 1], &int, SMALL)),
        "array_of_blocklengths[1] is -7, but must not be negative"
    );
    assert_eq!(
        sentence(Datatype::indexed(&[1, 1], &[0], &int, SMALL)),
        "array_of_displacements has 1 entries, but 2 are needed"
    );
    assert_eq!(sentence(Datatype::structure(&[1], &[0], &[], SMALL)), "array_of_types has 0 entries, but 1 are needed");
}

#[test]
fn duplicates_and_commitment() {
    let int = named(Basic::Int);
    assert!(int.is_predefined() && int.is_committed() && int.is_contiguous());
    let column = Datatype::vector(4, 1, 3, &int, SMALL).expect("a valid vector");
    assert!(!column.is_predefined() && !column.is_committed() && !column.is_contiguous());
    assert!(!column.dup().is_committed());
    column.commit();
    assert!(column.clone().is_committed() && column.dup().is_committed());
    assert!(column.same(&column.clone()) && !column.same(&column.dup()));
    assert_eq!(column.dup().contents().combiner, Combiner::Dup);
    assert_eq!((column.single_basic(), column.as_named()), (Some(Basic::Int), None));
}

/// Combiner, integers, addresses, counts and number of datatypes.
fn contents(datatype: Result<Datatype>) -> (Combiner, Vec<i64>, Vec<i64>, Vec<i64>, usize) {
    let contents = datatype.expect("valid arguments").contents();
    (contents.combiner, contents.integers, contents.addresses, contents.counts, contents.datatypes.len())
}

fn darray() -> Darray {
    Darray {
        size: 6,
        rank: 4,
        gsizes: vec![10, 11],
        distributions: vec![DISTRIBUTE_BLOCK, DISTRIBUTE_CYCLIC],
        arguments: vec![5, DISTRIBUTE_DFLT_DARG],
        processes: vec![2, 3],
        order: ORDER_C,
    }
}

#[test]
fn contents_of_types_made_by_small_forms() {
    let int = named(Basic::Int);
    let rows = [
        (Datatype::contiguous(3, &int, SMALL), Combiner::Contiguous, vec![3], vec![], 1),
        (Datatype::vector(3, 2, 5, &int, SMALL), Combiner::Vector, vec![3, 2, 5], vec![], 1),
        (Datatype::hvector(3, 2, 50, &int, SMALL), Combiner::Hvector, vec![3, 2], vec![50], 1),
        (Datatype::indexed(&[1, 2], &[7, 9], &int, SMALL), Combiner::Indexed, vec![2, 1, 2, 7, 9], vec![], 1),
        (Datatype::hindexed(&[1, 2], &[7, 90], &int, SMALL), Combiner::Hindexed, vec![2, 1, 2], vec![7, 90], 1),
        (Datatype::indexed_block(4, &[7, 19], &int, SMALL), Combiner::IndexedBlock, vec![2, 4, 7, 19], vec![], 1),
        (Datatype::hindexed_block(4, &[7, 190], &int, SMALL), Combiner::HindexedBlock, vec![2, 4], vec![7, 190], 1),
        (
            Datatype::structure(&[1, 2], &[0, 8], &[int.clone(), named(Basic::Char)], SMALL),
            Combiner::Struct,
            vec![2, 1, 2],
            vec![0, 8],
            2,
        ),
        (
            Datatype::subarray(&[9, 8], &[2, 3], &[1, 0], ORDER_C, &int, SMALL),
            Combiner::Subarray,
            vec![2, 9, 8, 2, 3, 1, 0, ORDER_C],
            vec![],
            1,
        ),
        (
            Datatype::darray(darray(), &int, SMALL),
            Combiner::Darray,
            vec![6, 4, 2, 10, 11, 17, 18, 5, 19, 2, 3, ORDER_C],
            vec![],
            1,
        ),
        (Datatype::resized(-4, 40, &int, SMALL), Combiner::Resized, vec![], vec![-4, 40], 1),
        (Ok(int.dup()), Combiner::Dup, vec![], vec![], 1),
        (Ok(int), Combiner::Named, vec![], vec![], 0),
    ];
    for (datatype, combiner, integers, addresses, datatypes) in rows {
        assert_eq!(contents(datatype), (combiner, integers, addresses, vec![], datatypes));
    }
}

#[test]
fn contents_of_types_made_by_large_forms() {
    let (int, large) = (named(Basic::Int), Form::Large);
    let rows = [
        (Datatype::contiguous(3, &int, large), vec![], vec![3]),
        (Datatype::vector(3, 2, 5, &int, large), vec![], vec![3, 2, 5]),
        (Datatype::hvector(3, 2, 50, &int, large), vec![], vec![3, 2, 50]),
        (Datatype::indexed(&[1, 2], &[7, 9], &int, large), vec![], vec![2, 1, 2, 7, 9]),
        (Datatype::hindexed(&[1, 2], &[7, 90], &int, large), vec![], vec![2, 1, 2, 7, 90]),
        (Datatype::indexed_block(4, &[7, 19], &int, large), vec![], vec![2, 4, 7, 19]),
        (Datatype::hindexed_block(4, &[7, 190], &int, large), vec![], vec![2, 4, 7, 190]),
        (Datatype::structure(&[1], &[8], &[named(Basic::Char)], large), vec![], vec![1, 1, 8]),
        (Datatype::subarray(&[9, 8], &[2, 3], &[1, 0], ORDER_C, &int, large), vec![2, ORDER_C], vec![9, 8, 2, 3, 1, 0]),
        (Datatype::darray(darray(), &int, large), vec![6, 4, 2, 17, 18, 5, 19, 2, 3, ORDER_C], vec![10, 11]),
        (Datatype::resized(-4, 40, &int, large), vec![], vec![-4, 40]),
    ];
    for (datatype, integers, counts) in rows {
        let found = contents(datatype);
        assert_eq!((found.1, found.2, found.3, found.4), (integers, vec![], counts, 1));
    }
}

#[test]
fn piled_up_constructors_need_no_stack() {
    let types = [Basic::Double, Basic::Int].map(named);
    let record = Datatype::structure(&[1, 1], &[0, 8], &types, SMALL).expect("a valid structure");
    let mut pile = record.clone();
    for level in 0..300_000 {
        pile = match level % 4 {
            0 => pile.dup(),
            1 => Datatype::structure(&[1, 0], &[0, 0], &[pile, named(Basic::Int)], SMALL).expect("a valid structure"),
            2 => Datatype::contiguous(1, &pile, SMALL).expect("a valid type"),
            _ => Datatype::structure(&[1], &[0], &[pile], SMALL).expect("a valid structure"),
        };
    }
    assert_eq!((pile.elements_in(20), pile.elements_in(14)), (Some(3), None));
    assert_eq!(pile.signature_hash(2), record.signature_hash(2));
    let mut runs = 0;
    pile.for_each_run(2, &mut |_, _| runs += 1);
    assert_eq!(runs, 4);
    drop(pile);
}
