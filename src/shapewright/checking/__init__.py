"""What `check` does: a run that goes on after errors, their causes, and tried fixes."""
