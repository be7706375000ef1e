"""Entry point of ``python -m lost_cities``."""

import sys

from lost_cities.cli import main

if __name__ == "__main__":
    sys.exit(main())
