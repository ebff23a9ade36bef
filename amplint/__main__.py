"""`python -m amplint` is the `amplint` command."""

import sys

from amplint.cli import main

if __name__ == "__main__":
    sys.exit(main())
