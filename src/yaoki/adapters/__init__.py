"""Everything that touches the outside world: each package reaches one part of it."""
