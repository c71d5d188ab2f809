"""Why a flow stalled: its stalls, what the record says led to them, and reruns without it."""
