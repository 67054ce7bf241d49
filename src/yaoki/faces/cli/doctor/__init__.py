"""The conditions that `yaoki doctor` examines."""
