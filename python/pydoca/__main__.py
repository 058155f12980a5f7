"""`python -m pydoca`: the command `pydoca`, also where no script of that name is installed."""

import sys

from pydoca.cli import main

if __name__ == "__main__":
    sys.exit(main())
