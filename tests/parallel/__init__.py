"""Tests in parallel processes that are forked after one collection."""
