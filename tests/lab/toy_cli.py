"""The command line with the toy study as its only study."""

import toy_study

import minicosm.studies
from minicosm.cli import main

if __name__ == "__main__":
    minicosm.studies.STUDIES = (toy_study.STUDY,)
    main()
