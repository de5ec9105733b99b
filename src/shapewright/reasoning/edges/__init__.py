"""What breaks only at sizes that nobody gave."""
