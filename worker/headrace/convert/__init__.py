"""Conversion of canonical records into every protocol, with nothing silently lost (design section 8)."""

from headrace.convert.codes import CODES, Loss
from headrace.convert.conversion import Conversion, Policy, check, convert

__all__ = ["CODES", "Conversion", "Loss", "Policy", "check", "convert"]
