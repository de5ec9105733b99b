"""Findings: data only."""

from shapewright.findings.finding import Edit, Finding, Fix, Grade, Related, Severity

__all__ = ["Edit", "Finding", "Fix", "Grade", "Related", "Severity"]
