"""What is to fail in the services themselves: cloud.sh fail."""

import pathlib
import re

FAULTS = pathlib.Path("/oslab/faults")


def strikes(kind, name):
    """Is a server or volume of this name to fail? FAULTS/<kind> holds a regular expression for the whole name."""
    try:
        return bool(re.fullmatch((FAULTS / kind).read_text().strip(), name or ""))
    except FileNotFoundError:
        return False
