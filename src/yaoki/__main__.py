"""`python -m yaoki` is `yaoki`."""

from __future__ import annotations

import sys

from yaoki.faces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
