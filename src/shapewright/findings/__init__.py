"""Findings: data only."""

from shapewright.findings.finding import Finding, Related, Severity
from shapewright.findings.fix import Edit, Fix, Grade

__all__ = ["Edit", "Finding", "Fix", "Grade", "Related", "Severity"]
