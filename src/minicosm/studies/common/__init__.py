"""What studies share: how executed statements are collected, judged and drawn."""
