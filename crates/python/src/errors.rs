//! The exceptions of the engine.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use roamlab_scenario::Located;

pyo3::create_exception!(
    _roamlab,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A bad scenario: the text is the whole report, with file, line and field."
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
