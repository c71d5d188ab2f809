//! The exceptions of the engine.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use roamlab_capture::Fault;
use roamlab_scenario::Located;

pyo3::create_exception!(
    _roamlab,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A bad scenario: the text is the whole report, with file, line and field."
);
pyo3::create_exception!(
    _roamlab,
    CaptureError,
    pyo3::exceptions::PyValueError,
    "A capture that cannot be read: which file, packet and byte, the problem, what was expected, and a remedy."
);
pyo3::create_exception!(
    _roamlab,
    SimulationError,
    PyRuntimeError,
    "A run violated a law of the simulator; there is no result."
);
pyo3::create_exception!(
    _roamlab,
    MemoryLimitError,
    SimulationError,
    "A run would have taken more memory than its limit: the text names the largest part and what to write."
);

/// The fault of a capture as an exception; its parts are attributes. `file`: the place of the file among those that were named.
pub fn capture_error(file: usize, fault: &Fault) -> PyErr {
    let raised = CaptureError::new_err(fault.to_string());
    Python::attach(|py| {
        let value = raised.value(py);
        let set = || {
            value.setattr("file", file)?;
            value.setattr("packet", fault.packet)?;
            value.setattr("byte", fault.byte)?;
            value.setattr("problem", &fault.problem)?;
            value.setattr("expected", &fault.expected)?;
            value.setattr("remedy", &fault.remedy)
        };
        set().err().unwrap_or(raised.clone_ref(py))
    })
}

/// The report as an exception; its parts are attributes, for a text that no file holds.
pub fn scenario_error(error: &Located) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let parts =
        [("field", &error.problem.field), ("problem", &error.problem.message), ("help", &error.problem.help)];
    Python::attach(|py| {
        for (name, part) in parts {
            if let Err(other) = raised.value(py).setattr(name, part) {
                return other;
            }
        }
        raised
    })
}
