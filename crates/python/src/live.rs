//! Runs in real time, where the build has them.

use pyo3::prelude::*;

#[cfg(not(all(feature = "linux", target_os = "linux")))]
pub fn add(_: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}

#[cfg(all(feature = "linux", target_os = "linux"))]
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(linux::live, module)?)
}

#[cfg(all(feature = "linux", target_os = "linux"))]
mod linux {
    use crate::arrays::tables_to_python;
    use crate::errors::{SimulationError, scenario_error};
    use crate::kernel::Stop;
    use crate::scenarios::parsed_within;
    use numpy::{IntoPyArray, PyArray1};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use roamlab_engine::Bytes;
    use roamlab_outside::{Error, Live, Timing};
    use roamlab_world::{Replication, RunOptions};
    use std::os::fd::IntoRawFd;

    /// Tables; how late each packet was in ns; the end in ns; packets for another address; packets that a card did not take;
    /// events, and late ones.
    type Outcome<'py> = (Bound<'py, PyDict>, Bound<'py, PyArray1<u64>>, u64, u64, u64, u64, u64);

    fn failed(error: Error) -> PyErr {
        match error {
            Error::Simulation(failure) => {
                let report = failure.to_string();
                Stop::from(failure).exception(report)
            }
            other => SimulationError::new_err(other.to_string()),
        }
    }

    /// One run in real time of a scenario with two flows of programs. `hand(socket, addresses)` is called once it can begin:
    /// it sends the files of the cards and of the program's end by the socket with this number, which it closes.
    #[pyfunction]
    #[pyo3(signature = (text, name, seed, run, memory, hand))]
    pub fn live<'py>(
        py: Python<'py>,
        text: &str,
        name: &str,
        seed: u64,
        run: u64,
        memory: u64,
        hand: Py<PyAny>,
    ) -> PyResult<Outcome<'py>> {
        let scenario = parsed_within(text, name, memory)?;
        scenario.check_seed(seed, text, name).map_err(|error| scenario_error(&error))?;
        let draw = Replication { seed, run, trace: None };
        let outcome: PyResult<_> = py.detach(|| {
            let options = RunOptions { memory: Some(Bytes(memory)), ..RunOptions::default() };
            let (live, socket) = Live::new(&scenario, draw, &options).map_err(failed)?;
            Python::attach(|py| hand.call1(py, (socket.into_raw_fd(), live.addresses())))?;
            live.run(&options).map_err(failed)
        });
        let (tables, timing) = outcome?;
        let Timing { end, misaddressed, refused, events, late_events, late_ns } = timing;
        let late = late_ns.into_pyarray(py);
        let tables = tables_to_python(py, tables)?;
        Ok((tables, late, end.as_nanos(), misaddressed, refused, events, late_events))
    }
}
