"""Changes of the program's text that may repair a failure; each is then tried."""
