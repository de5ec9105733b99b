"""Importing this module registers the metadata rules of every operator family."""

from shapewright.operators import import_families

import_families("shapes")
