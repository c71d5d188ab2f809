//! Runs with flows over a Linux kernel, where the build can start one.

use crate::errors::{MemoryLimitError, SimulationError};
use pyo3::PyErr;
#[cfg(not(all(feature = "linux", target_os = "linux")))]
use roamlab_scenario::{Located, Scenario};
use roamlab_world::Failure;
#[cfg(not(all(feature = "linux", target_os = "linux")))]
use roamlab_world::{Replication, RunOptions, Table};

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The simulation's reason.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The kernel's.
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[error(transparent)]
    Kernel(roamlab_outside::Error),
}

impl Stop {
    /// Its part for Python.
    pub fn exception(&self, report: String) -> PyErr {
        match self {
            Stop::Failure(Failure::Memory(_)) => MemoryLimitError::new_err(report),
            _ => SimulationError::new_err(report),
        }
    }
}

#[cfg(all(feature = "linux", target_os = "linux"))]
mod linux {
    use crate::kernel::Stop;
    use roamlab_outside::{Error, Kernel, MOST_FLOWS, MOST_HOSTS};
    use roamlab_scenario::{Located, Scenario};
    use roamlab_world::{Replication, RunOptions, Table};

    /// The place in the scenario of its first flow over a kernel, and the version that it names.
    fn version(scenario: &Scenario) -> Option<(usize, &str)> {
        let mut flows = scenario.flows.iter().enumerate();
        flows.find_map(|(place, flow)| Some((place, flow.transport.stack_version()?)))
    }

    /// The kernel that a scenario's flows name is built, and it takes all of them.
    pub fn check(scenario: &Scenario, text: &str, name: &str) -> Result<(), Box<Located>> {
        let Some((place, version)) = version(scenario) else { return Ok(()) };
        let refuse = |field: &str, message: String, help: &str| {
            Err(scenario.refuse((format!("flows[{place}].{field}"), message, help), text, name))
        };
        if Kernel::find(version).is_none() {
            let message = format!("Linux {version} is not built on this machine");
            let help = format!(
                "run `roamlab kernel build --version {version}`, or write kind = \"tcp\" and the profile \"linux-6\""
            );
            return refuse("transport.version", message, &help);
        }
        let over: Vec<_> =
            scenario.flows.iter().filter(|flow| flow.transport.stack_version().is_some()).collect();
        let mut hosts: Vec<&str> = over.iter().flat_map(|flow| &flow.path).map(String::as_str).collect();
        hosts.sort_unstable();
        hosts.dedup();
        if hosts.len() > MOST_HOSTS || over.len() > MOST_FLOWS {
            let message = format!("a kernel has at most {MOST_HOSTS} hosts and {MOST_FLOWS} flows");
            return refuse("transport", message, "write kind = \"tcp\" for some of the flows");
        }
        match roamlab_outside::check_settings(scenario) {
            Ok(()) => Ok(()),
            Err((flow, message, help)) => {
                let place = format!("flows[{flow}].transport.sysctls");
                Err(scenario.refuse((place, message, &help), text, name))
            }
        }
    }

    /// One run, with the kernel that its flows name.
    pub fn run(scenario: &Scenario, draw: Replication, options: &RunOptions<'_>) -> Result<Vec<Table>, Stop> {
        let Some((_, version)) = version(scenario) else {
            return Ok(roamlab_world::run(scenario, draw, options)?);
        };
        let gone = || Stop::Kernel(Error::Refused(format!("Linux {version} is not built any more")));
        let kernel = Kernel::find(version).ok_or_else(gone)?;
        match roamlab_outside::run(&kernel, scenario, draw, options) {
            Ok((tables, _)) => Ok(tables),
            Err(Error::Simulation(failure)) => Err(failure.into()),
            Err(other) => Err(Stop::Kernel(other)),
        }
    }
}

#[cfg(all(feature = "linux", target_os = "linux"))]
pub use linux::{check, run};

/// The check of a scenario has refused flows over a kernel.
#[cfg(not(all(feature = "linux", target_os = "linux")))]
pub fn check(_scenario: &Scenario, _text: &str, _name: &str) -> Result<(), Box<Located>> {
    Ok(())
}

/// One run.
#[cfg(not(all(feature = "linux", target_os = "linux")))]
pub fn run(scenario: &Scenario, draw: Replication, options: &RunOptions<'_>) -> Result<Vec<Table>, Stop> {
    Ok(roamlab_world::run(scenario, draw, options)?)
}
