"""The long coverage: other people's operators and models, against torch itself."""
