"""What every room uses: errors, output, quantities with units, the style of figures."""
