"""What is proved about shallow Transformers that simulate semiautomata, as functions that run.

Numbers are those of B. Liu's thesis, Sections 3.1 to 3.4.
"""
