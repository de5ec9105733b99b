"""Importing this registers the metadata rules of every operator family."""

from shapewright.operators.families import import_families

import_families("shapes")
