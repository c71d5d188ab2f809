"""The playground: a page that runs scenarios in a browser."""
