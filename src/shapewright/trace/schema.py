"""The JSON Schema of a record, as ``from shapewright.trace.schema import schema``."""

from shapewright.record.json_writer import schema as schema
