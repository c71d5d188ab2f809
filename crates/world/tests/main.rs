//! Whole runs: one program for all tests, so that they are linked once and share the processors.

mod causes;
mod combinations;
mod handoff;
mod lab;
mod links;
mod lte;
mod micro;
mod moving;
mod nr;
mod ns2;
mod roaming;
mod runs;
mod transports;
mod unchanged;
mod way_of_a_packet;
