"""Commands about scenarios, models and the program itself."""
