"""`python -m minicosm` is the command `minicosm`."""

from minicosm.entry import main

main()
