"""`roamlab study queues`: what a queue at the base station does for a host that moves in, and who pays."""
