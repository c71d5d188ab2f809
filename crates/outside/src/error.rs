//! Why a run with a kernel has no result.

/// Why a run with a kernel has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The simulation's reason.
    #[error(transparent)]
    Simulation(#[from] roamlab_world::Failure),
    /// The process in the kernel could not do its order.
    #[error("the kernel refused: {0}")]
    Refused(String),
    /// A run in real time is of two nodes.
    #[error("the scenario has no two flows of programs, one each way")]
    NoProgram,
    /// The kernel waits for nothing.
    #[error("the kernel makes no progress")]
    Stopped,
    /// The kernel has gone, or sends an invalid message.
    #[error("the kernel: {0}")]
    Kernel(#[from] std::io::Error),
    /// The same, with the last output of the kernel.
    #[error("the kernel: {0}\n{1}")]
    Ended(String, String),
    /// The run is not wanted any more.
    #[error("the run was stopped")]
    Unwanted,
}

impl From<rustix::io::Errno> for Error {
    fn from(error: rustix::io::Errno) -> Error {
        Error::Kernel(error.into())
    }
}
