"""Edits for warnings, to be tried like the fixes of errors."""
