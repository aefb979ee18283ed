"""`python -m plait.cli`: the same as the `plait` command."""

from . import main

if __name__ == "__main__":
    main()
