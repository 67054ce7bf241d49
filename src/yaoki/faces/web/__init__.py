"""The web page and its JSON API; like the command line, it contains no rules."""
