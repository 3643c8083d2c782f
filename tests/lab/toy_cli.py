"""The command line with the toy study in place of the real ones."""

import sys
import types

import toy_study

from minicosm.cli import main

if __name__ == "__main__":
    studies = types.ModuleType("minicosm.studies")
    studies.STUDIES = (toy_study.STUDY,)
    sys.modules["minicosm.studies"] = studies
    main()
