"""What studies share: pictures that many claims have."""
