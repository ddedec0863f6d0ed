//! A program of chares in Rust that is observed: `mpiexec -n RANKS chare_observed`. Each chare of
//! an array computes for a while, and messages to another array are not delivered.

use std::time::{Duration, Instant};

use towpath_actors_rust::{
    ChareContext, ChareError, ChareJob, TypedCallback, callback, chares, create_array,
    create_sparse_array, exit,
};

struct Worker;

#[chares]
impl Worker {
    #[constructor]
    fn new(_: &ChareContext<Worker>) -> Worker {
        Worker
    }

    #[entry]
    fn work(&mut self, context: &ChareContext<Worker>, milliseconds: u64, done: TypedCallback<()>) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(milliseconds) {}
        context.barrier(&done);
    }
}

fn main() {
    let code = ChareJob::new().chare::<Worker>().run(|| {
        let absent = create_sparse_array::<Worker>()?;
        for _ in 0..3 {
            absent.element([5]).work(0, TypedCallback::nobody());
        }
        let done = callback(|_: Vec<()>| exit(0));
        create_array::<Worker>(&[8], ())?.work(20, done);
        Ok::<(), ChareError>(())
    });
    std::process::exit(code.unwrap_or_else(|error| {
        eprintln!("chare_observed: {error}");
        1
    }));
}
