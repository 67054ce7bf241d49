# `make X` is `python3 dev.py X`, for those whose fingers know it.
PY ?= python3

.PHONY: help demo test near generate real full mutants chromium postgres agents bench docs lint format lock clean setup

help demo test near generate real full mutants chromium postgres agents bench docs lint format lock release clean setup:
	@$(PY) dev.py $@ $(FLAGS)
