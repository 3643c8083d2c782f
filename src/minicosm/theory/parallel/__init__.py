"""What masked prediction teaches, and how fast the chains built from it mix, by enumeration."""
