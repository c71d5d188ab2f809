"""Causes of stalls: the stalls of a flow, the suspects in the record, and reruns without them."""
