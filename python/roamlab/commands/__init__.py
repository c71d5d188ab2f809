"""What commands share: options, inputs and output. A module of a subpackage with a `command` is a command."""
