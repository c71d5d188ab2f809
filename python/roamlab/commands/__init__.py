"""The commands, one module each, with the options that they share. A module's `command` is the command."""
