"""The wheel and the source distribution, built and used as their users would."""
