"""Our model of Linux's TCP against a Linux kernel, in random scenarios (`roamlab check-against linux`)."""
