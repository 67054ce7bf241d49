"""Tests name the rules they prove: `@pytest.mark.spec("4.3")`."""
