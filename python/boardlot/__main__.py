"""`python -m boardlot`: the command line."""

import sys

from boardlot.cli import main

if __name__ == "__main__":
    sys.exit(main())
