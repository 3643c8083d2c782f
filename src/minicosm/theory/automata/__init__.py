"""What is proved about Transformers that simulate semiautomata, as functions that run.

Numbers are those of B. Liu's thesis, Sections 3.1 to 3.4, the fuller text of Liu, Ash, Goel, Krishnamurthy
and Zhang (ICLR 2023).
"""

__all__: list[str] = []
