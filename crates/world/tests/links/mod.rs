//! Links, queues and media, in whole runs.

mod channels;
mod dcf;
mod forced;
mod link;
mod medium;
mod outages;
mod queues;
mod random_loss;
mod recorded;
mod scheduler;
mod steps;
mod validation;
