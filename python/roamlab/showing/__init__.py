"""Results for people: tables in the terminal, message charts, reports."""
