//! A queue between given arrivals and a link.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use roamlab_engine::{Bytes, Rate, Time};
use roamlab_packet::{FlowId, Tos};
use roamlab_qdisc::replay::{Arrival, replay};
use roamlab_qdisc::{Parameters, QueueSpec};

/// Arrivals: times in ns, sizes in bytes, flows, ToS octets.
pub type Arrivals<'py> = (
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u8>,
);

/// When each packet left the queue, in ns, and how: 0 served, 1 marked, 2 dropped.
pub type Ends<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u8>>);

/// Passes arrivals through a queue, given as JSON, before a link with these rates: from when in ns, and bit/s.
pub fn replayed<'py>(
    py: Python<'py>,
    queue: &str,
    seed: u64,
    arrivals: &Arrivals<'py>,
    rates: &[(u64, u64)],
) -> PyResult<Ends<'py>> {
    let refused = |text: String| PyValueError::new_err(text);
    let queue: QueueSpec = serde_json::from_str(queue).map_err(|error| refused(error.to_string()))?;
    queue.validate().map_err(|(field, fault)| refused(format!("{field}: {fault}")))?;
    let arrivals = checked_arrivals(arrivals).ok_or_else(|| {
        refused("the arrays have one length, in order of time, with sizes and flows of packets".into())
    })?;
    let is_whole = rates.first().is_some_and(|(from, _)| *from == 0)
        && rates.iter().all(|(_, bps)| *bps > 0)
        && rates.is_sorted_by_key(|(from, _)| *from);
    if !is_whole {
        return Err(refused("rates are in order of time, the first from 0, none of them 0".into()));
    }
    let rates: Vec<_> =
        rates.iter().map(|(from, bps)| (Time::from_nanos(*from), Rate::from_bps(*bps))).collect();
    let ends = py.detach(|| replay(&queue, seed, &arrivals, &rates));
    let times: Vec<u64> = ends.iter().map(|end| end.at.as_nanos()).collect();
    let fates: Vec<u8> = ends.iter().map(|end| end.fate as u8).collect();
    Ok((times.into_pyarray(py), fates.into_pyarray(py)))
}

fn checked_arrivals((times, sizes, flows, tos): &Arrivals<'_>) -> Option<Vec<Arrival>> {
    let (times, sizes) = (times.as_slice().ok()?, sizes.as_slice().ok()?);
    let (flows, tos) = (flows.as_slice().ok()?, tos.as_slice().ok()?);
    let is_one_length = [sizes.len(), flows.len(), tos.len()].iter().all(|length| *length == times.len());
    let are_packets =
        sizes.iter().all(|size| *size > 0) && flows.iter().all(|flow| FlowId(*flow) != FlowId::CONTROL);
    if !is_one_length || !are_packets || !times.is_sorted() {
        return None;
    }
    let arrivals = times.iter().zip(sizes).zip(flows).zip(tos).map(|(((at, size), flow), tos)| Arrival {
        at: Time::from_nanos(*at),
        size: Bytes(u64::from(*size)),
        flow: *flow,
        tos: Tos(*tos),
    });
    Some(arrivals.collect())
}
