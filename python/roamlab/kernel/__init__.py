"""The Linux kernel as an end of flows: where it is built, and how (`roamlab kernel build`)."""
