import sys

from armies.cli import main

sys.exit(main())
