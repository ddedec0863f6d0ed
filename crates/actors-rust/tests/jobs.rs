//! Jobs of chares in Rust, on ranks that are threads.

mod support;

use std::sync::mpsc;

use serde::{Deserialize, Serialize};
use towpath_actors_rust::{
    ChareContext, ChareError, ChareJob, CollectionProxy, ElementProxy, JobError, Max, MethodResult,
    Sum, TypedCallback, callback, chares, create_array, create_chare, create_group,
    create_sparse_array, exit, quiescence, rank, ranks,
};

use support::on_ranks;

const RANKS: [u32; 3] = [1, 2, 3];
const LENGTH: usize = 100_000;

/// Chares of all kinds of parameters and results.
#[derive(Serialize, Deserialize)]
struct Cell {
    start: i64,
    values: Vec<f64>,
    came_back: u32,
    moves: u32,
    received: f64,
}

#[chares(migrate)]
impl Cell {
    #[constructor]
    fn new(context: &ChareContext<Cell>, start: i64, name: String) -> Cell {
        assert_eq!(name, "cell");
        let values = vec![f64::from(context.coordinate(0)); LENGTH];
        Cell { start, values, came_back: 0, moves: 0, received: 0.0 }
    }

    /// Contributes to a sum and a maximum.
    #[entry]
    fn add(
        &mut self,
        context: &ChareContext<Cell>,
        more: i64,
        sum: TypedCallback<i64>,
        most: TypedCallback<i64>,
    ) {
        let own = self.start + more + i64::from(context.coordinate(0));
        context.contribute(Sum, &[own, 1], &sum);
        context.contribute(Max, &[own], &most);
    }

    #[entry]
    fn answer(&mut self, context: &ChareContext<Cell>, asker: ElementProxy<Asker>, words: &[u16]) {
        assert_eq!(words, &[7, 8, 9]);
        asker.told(context.index().words().to_vec(), Some("answer".to_string()));
    }

    /// Lends its values to all.
    #[entry]
    fn lend(&mut self, context: &ChareContext<Cell>, done: TypedCallback<()>) {
        let values = std::mem::take(&mut self.values);
        let lent = context.lend(values, move |cell, context, values| {
            assert_eq!(values.len(), LENGTH);
            assert_eq!(context.coordinate(0), 3);
            (cell.values, cell.came_back) = (values, cell.came_back + 1);
            done.call();
        });
        assert!(self.values.is_empty());
        context.all().take(2.0, lent, &[1, 2]);
    }

    #[entry]
    fn take(&mut self, _: &ChareContext<Cell>, factor: f64, values: &[f64], more: &[i32]) {
        assert_eq!((values.len(), more), (LENGTH, &[1, 2][..]));
        self.received += factor * values[LENGTH - 1];
    }

    #[entry]
    fn go(&mut self, context: &ChareContext<Cell>, moved: TypedCallback<()>) {
        self.moves += 1;
        context.migrate((rank() + 1) % ranks());
        context.barrier(&moved);
    }

    #[entry]
    fn report(&self, context: &ChareContext<Cell>, all: TypedCallback<f64>) {
        assert_eq!(self.values.len(), LENGTH);
        let own = [f64::from(self.moves), f64::from(self.came_back), self.received];
        context.contribute(Sum, &own, &all);
    }
}

struct Asker {
    cells: CollectionProxy<Cell>,
    told: u32,
}

#[chares]
impl Asker {
    #[constructor]
    fn new(context: &ChareContext<Asker>, cells: CollectionProxy<Cell>) -> Asker {
        cells.answer(context.this(), &vec![7, 8, 9]);
        Asker { cells, told: 0 }
    }

    #[entry]
    fn told(&mut self, context: &ChareContext<Asker>, index: Vec<i32>, text: Option<String>) {
        assert_eq!((index.len(), text.as_deref()), (1, Some("answer")));
        self.told += 1;
        if self.told == 8 {
            self.cells.element([3]).lend(context.this().lent_callback());
        }
    }

    #[entry]
    fn lent(&mut self, context: &ChareContext<Asker>) {
        self.cells.go(context.this().moved_callback());
    }

    #[entry]
    fn moved(&mut self, context: &ChareContext<Asker>) {
        self.cells.report(context.this().reported_callback());
    }

    #[entry]
    fn reported(&mut self, context: &ChareContext<Asker>, all: &[f64]) {
        // 8 cells have moved once, one has lent its threes to 8, each times 2.
        exit(if all == [8.0, 1.0, 48.0] { 0 } else { 1 });
        context.delete();
    }
}

fn codes<O: MethodResult>(
    ranks: u32,
    job: impl Fn() -> ChareJob + Sync,
    main: impl Fn() -> O + Sync,
) -> Vec<Result<i32, String>> {
    on_ranks(ranks, |layer| {
        job().run_over(layer, &main).map_err(|error: JobError| error.to_string())
    })
}

fn cells() -> ChareJob {
    ChareJob::new().chare::<Cell>().chare::<Asker>()
}

fn make_cells() -> Result<CollectionProxy<Cell>, ChareError> {
    create_array::<Cell>(&[8], (10, "cell".into()))
}

#[test]
fn parameters_arrays_lent_buffers_and_migration() {
    for ranks in RANKS {
        let main = || {
            create_chare::<Asker>(None, (make_cells()?,))?;
            Ok::<(), ChareError>(())
        };
        assert_eq!(codes(ranks, cells, main), vec![Ok(0); ranks as usize]);
    }
}

#[test]
fn reductions_call_functions() {
    for ranks in RANKS {
        let main = || {
            let sum = callback(|sum: Vec<i64>| assert_eq!(sum, [8 * 15 + 28, 8]));
            let most = callback(|most: Vec<i64>| exit(most[0] as i32));
            make_cells()?.add(5, sum, most);
            Ok::<(), ChareError>(())
        };
        assert_eq!(codes(ranks, cells, main), vec![Ok(22); ranks as usize]);
    }
}

/// A branch on each rank.
struct Branch;

#[chares]
impl Branch {
    #[constructor]
    fn new(context: &ChareContext<Branch>) -> Branch {
        assert_eq!(context.coordinate(0) as u32, rank());
        Branch
    }

    /// Passes a name of its own type on.
    #[entry]
    fn pass(&mut self, context: &ChareContext<Self>, to: ElementProxy<Self>) {
        to.callback_callback().call();
        context.delete();
    }

    #[entry]
    fn count(&mut self, context: &ChareContext<Branch>, counted: TypedCallback<u32>) {
        context.contribute(Sum, &[1u32], &counted);
    }

    #[entry]
    fn fail(&mut self, _: &ChareContext<Branch>, text: String) -> Result<(), String> {
        Err(text)
    }

    #[entry]
    fn panic(&mut self, _: &ChareContext<Branch>) {
        panic!("no way");
    }

    /// Lends a buffer and drops it.
    #[entry]
    fn drop_lent(&mut self, context: &ChareContext<Branch>) {
        drop(context.lend(vec![1u8; 10], |_, _, buffer| exit(buffer.len() as i32)));
    }

    #[entry]
    fn delete(&mut self, context: &ChareContext<Branch>) {
        let lent = context.lend(vec![1u8], |_, _, _| {});
        context.all().element([0]).take(lent);
        context.delete();
    }

    #[entry]
    fn take(&mut self, _: &ChareContext<Branch>, _bytes: &[u8]) {}

    /// Its names are also those of the library and the macro.
    #[entry]
    fn send(
        &mut self,
        context: &ChareContext<Branch>,
        message: String,
        entry: &[i32],
        lifetime: i32,
    ) {
        if context.coordinate(0) == 0 {
            context.all().element([1]).send(message, &[entry[0] + lifetime], 1);
        } else {
            assert_eq!(message, "text");
            context.all().element([0]).callback_callback().call();
        }
    }

    #[entry]
    fn callback(&mut self, _: &ChareContext<Branch>) {
        exit(6);
    }
}

fn branches() -> ChareJob {
    ChareJob::new().chare::<Branch>()
}

#[test]
fn groups_sparse_arrays_and_quiescence() {
    for ranks in RANKS {
        let main = || {
            create_group::<Branch>(())?
                .count(callback(|count| assert_eq!(count, [crate::ranks()])));
            let sparse = create_sparse_array::<Cell>()?;
            for at in [5, 70_000, -3] {
                sparse.insert([at], (1, "cell".into()))?;
            }
            sparse.done_inserting();
            let sum = callback(|sum: Vec<i64>| assert_eq!(sum, [3 + 70_002, 3]));
            sparse.add(0, sum, TypedCallback::nobody());
            quiescence(|| exit(4));
            Ok::<(), ChareError>(())
        };
        let job = || branches().chare::<Cell>();
        assert_eq!(codes(ranks, job, main), vec![Ok(4); ranks as usize]);
    }
}

/// What rank 0 of two says when the main function does this with branches.
fn sentence(main: impl Fn(CollectionProxy<Branch>) -> Result<(), ChareError> + Sync) -> String {
    let codes = codes(2, branches, || main(create_group::<Branch>(())?));
    assert_eq!(codes.iter().filter(|code| code.is_err()).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| !matches!(code, Ok(0))), "{codes:?}");
    codes.into_iter().find_map(Result::err).unwrap()
}

#[test]
fn a_method_that_fails_ends_the_job() {
    let said = sentence(|all| {
        all.element([1]).fail("it is late".into());
        Ok(())
    });
    assert_eq!(said, "Branch::fail of Branch[1] failed: it is late");
    let said = sentence(|all| {
        all.element([1]).panic();
        Ok(())
    });
    assert_eq!(said, "Branch::panic of Branch[1] failed: it has panicked: no way");
}

#[test]
fn what_the_runtime_refuses_is_a_sentence() {
    let said = sentence(|all| {
        all.element([7]).panic();
        Ok(())
    });
    assert!(
        said.contains("Branch::panic was invoked on Branch[7], but the array has no"),
        "{said}"
    );
    let said = sentence(|_| create_chare::<Branch>(Some(9), ()).map(|_| ()));
    assert!(said.contains("rank 9 was named, but the job has 2 ranks"), "{said}");
    let said = sentence(|_| {
        create_group::<Asker>((CollectionProxy::clone(&create_sparse_array()?),)).map(|_| ())
    });
    assert!(said.contains("Cell is no type of this job; name it by ChareJob::chare"), "{said}");
    let said = sentence(|all| {
        all.element([0]).delete();
        Ok(())
    });
    assert!(said.contains("cannot migrate or be deleted while"), "{said}");
    assert!(said.contains("memory of it is lent"), "{said}");
}

#[test]
fn a_function_is_called_once() {
    let said = sentence(|_| {
        // It is told while the first one runs.
        let (told, again) = mpsc::channel::<TypedCallback<u8>>();
        let first = callback(move |_: Vec<u8>| {
            let _other = callback(|_: Vec<u8>| panic!("another function is called"));
            again.recv().expect("it was sent").call_with_values(&[2]);
        });
        told.send(first.clone()).expect("it is received");
        first.call_with_values(&[1]);
        Ok(())
    });
    assert!(said.contains("a callback of a function was called twice"), "{said}");
}

#[test]
fn a_buffer_that_is_not_sent_comes_back() {
    let main = || {
        create_group::<Branch>(())?.element([0]).drop_lent();
        Ok::<(), ChareError>(())
    };
    assert_eq!(codes(2, branches, main), [Ok(10), Ok(10)]);
}

#[test]
fn parameters_may_name_their_chare_self() {
    let main = || {
        let all = create_group::<Branch>(())?;
        all.element([1]).pass(all.element([0]));
        Ok::<(), ChareError>(())
    };
    assert_eq!(codes(2, branches, main), [Ok(6), Ok(6)]);
}

#[test]
fn names_do_not_collide() {
    let main = || {
        create_group::<Branch>(())?.element([0]).send("text".into(), &[1], 2);
        Ok::<(), ChareError>(())
    };
    assert_eq!(codes(2, branches, main), [Ok(6), Ok(6)]);
}

/// Sends when it is dropped, and makes a group that does so later.
struct Last {
    all: CollectionProxy<Last>,
    is_first: bool,
}

#[chares]
impl Last {
    #[constructor]
    fn new(context: &ChareContext<Last>, is_first: bool) -> Last {
        Last { all: context.all(), is_first }
    }

    #[entry]
    fn tell(&mut self, _: &ChareContext<Last>, _bytes: &[u8]) {}
}

impl Drop for Last {
    fn drop(&mut self) {
        self.all.element([0]).tell(&[1; 100_000]);
        self.all.element([1]).tell(&[2]);
        self.all.tell(&[3]);
        if self.is_first {
            create_group::<Last>((false,)).expect("groups have no extents");
        }
    }
}

#[test]
fn chares_may_send_when_they_are_dropped() {
    let main = || {
        create_group::<Last>((true,))?;
        quiescence(|| exit(3));
        Ok::<(), ChareError>(())
    };
    assert_eq!(codes(2, || ChareJob::new().chare::<Last>(), main), [Ok(3), Ok(3)]);
}

#[test]
fn ranks_with_other_types_do_not_begin() {
    let codes = on_ranks(2, |layer| {
        let job = if layer.rank() == 0 { branches() } else { cells() };
        job.run_over(layer, || create_group::<Branch>(()).map(|_| ())).map_err(|e| e.to_string())
    });
    let said = codes.into_iter().find_map(Result::err).unwrap();
    assert!(said.contains("rank 1 cannot begin: its program has other chares"), "{said}");
}
