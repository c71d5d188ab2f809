//! Loss detection and congestion control of a path (RFC 9002).

pub(crate) mod careful_resume;
pub(crate) mod congestion;
#[cfg(test)]
mod oracle;
pub(crate) mod pacer;
#[cfg(test)]
mod pseudocode;
pub(crate) mod rtt;
pub(crate) mod sent_packets;
