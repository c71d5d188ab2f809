"""The notebooks of the package: files of Jupyter, each with a question, and what lists and copies them."""
