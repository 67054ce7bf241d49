"""The composition root (`build`) and one module for each use case."""
