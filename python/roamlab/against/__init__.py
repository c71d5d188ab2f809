"""Our model of Linux's TCP, and our queues, against a Linux kernel (`roamlab check-against linux`)."""
