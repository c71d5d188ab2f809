"""Modules that every subpackage uses: errors, output, quantities with units, the style of figures."""
