"""The page and its JSON API: a face like the command line; it holds no rules."""
