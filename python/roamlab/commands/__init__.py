"""Options, inputs and output that commands share. A module of a subpackage with a `command` is a command."""
