"""A failure is never called a success: cases by the ways in which DONE was false."""
