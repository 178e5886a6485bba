"""Faults inside the services: cloud.sh fail."""

import pathlib
import re

FAULTS = pathlib.Path("/oslab/faults")


def strikes(kind, name):
    """Returns whether a server or volume of this name must fail. FAULTS/<kind> contains a regular expression for the whole name."""
    try:
        return bool(re.fullmatch((FAULTS / kind).read_text().strip(), name or ""))
    except FileNotFoundError:
        return False
