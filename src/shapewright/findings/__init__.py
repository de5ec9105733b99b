"""Findings: data only."""

from shapewright.findings.finding import Finding, Related, Severity

__all__ = ["Finding", "Related", "Severity"]
