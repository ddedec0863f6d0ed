//! Prevents a job from running as N times "rank 0 of 1". If the environment shows a launcher of
//! several processes whose server this process cannot reach, MPI_Init fails with an error message
//! that names the launcher.

use towpath_base::config;

use crate::error::Error;

/// Checks the environment variables that launchers set.
///
/// # Errors
/// [`Error::NoServer`] if they show a job of several processes.
pub(super) fn no_other_launcher() -> Result<(), Error> {
    match foreign_launcher(&config::environment) {
        Some(sentence) => Err(Error::NoServer(sentence)),
        None => Ok(()),
    }
}

/// The error message about the launcher that the variables show; `None` if they show none, or a job
/// of one process.
fn foreign_launcher(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(port) = variable("PMI_PORT") {
        return Some(format!(
            "The launcher waits for this process on the PMI port {port}, which Towpath does not speak; \
             start the program with Towpath's mpiexec, or with a launcher that sets PMI_FD."
        ));
    }
    // `srun` sets the size of the step. Inside `salloc` or `sbatch` without `srun` it is not set,
    // and the process is a singleton.
    if let Some(tasks) = number("SLURM_STEP_NUM_TASKS").filter(|&tasks| tasks > 1) {
        return Some(format!(
            "srun started {tasks} processes of this program, but offers them neither PMI nor PMIx; use \
             `srun --mpi=pmi2` or `srun --mpi=pmix`, or start the program with Towpath's mpiexec."
        ));
    }
    if let Some(ranks) = number("OMPI_COMM_WORLD_SIZE").filter(|&ranks| ranks > 1) {
        return Some(format!(
            "Open MPI's launcher (mpirun, prterun) started {ranks} processes of this program, but its PMIx variables are \
             missing; do not remove them, or start the program with Towpath's mpiexec."
        ));
    }
    if let Some(ranks) = number("PMI_SIZE").filter(|&ranks| ranks > 1) {
        return Some(format!(
            "The environment says that this process is one of {ranks} (PMI_SIZE), but there is no connection to their \
             launcher (PMI_FD). If this program was started by a process of another MPI job, clear the PMI variables \
             first; else start it with mpiexec."
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(variables: &[(&str, &str)]) -> Option<String> {
        foreign_launcher(&|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn several_processes_without_a_server_are_refused() {
        for (variables, name) in [
            (&[("OMPI_COMM_WORLD_SIZE", "4")][..], "Open MPI"),
            (&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")], "srun"),
            (&[("PMI_SIZE", "3")], "PMI_SIZE"),
            (&[("PMI_PORT", "host:99")], "PMI port"),
        ] {
            assert!(sentence(variables).unwrap().contains(name), "{variables:?}");
        }
    }

    #[test]
    fn one_process_runs_alone() {
        for variables in [
            &[][..],
            &[("OMPI_COMM_WORLD_SIZE", "1")],
            &[("SLURM_NTASKS", "8"), ("SLURM_JOB_ID", "5")],
            &[("SLURM_STEP_NUM_TASKS", "1")],
            &[("PMI_SIZE", "1")],
        ] {
            assert_eq!(sentence(variables), None, "{variables:?}");
        }
    }
}
