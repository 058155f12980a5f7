"""The right values: limits of measurements, exact values of the inventory, and waivers."""

from pydoca.qualify.limits.own import OwnLimit
from pydoca.qualify.limits.table import Limits

__all__ = ["Limits", "OwnLimit"]
