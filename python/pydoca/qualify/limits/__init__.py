"""What is right: limits of measurements, exact values of the inventory, and what is waived."""

from pydoca.qualify.limits.own import OwnLimit
from pydoca.qualify.limits.table import Limits

__all__ = ["Limits", "OwnLimit"]
