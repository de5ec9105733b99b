"""The name under which the documentation imports the schema of a record."""
