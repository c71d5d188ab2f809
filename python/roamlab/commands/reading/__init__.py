"""Commands that read runs and traces, and draw them."""
