"""Inputs for a target when nobody gave any, found from what it does with them."""
