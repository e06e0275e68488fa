"""`python -m exactcp` is the command line."""

from exactcp.cli import main

if __name__ == "__main__":
    main()
