"""Where the real data set would be."""

URL = {"train": "", "valid": "", "test": ""}
