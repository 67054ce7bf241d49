"""HumanEval with hidden halves: work that fits only the visible half of the tests never lands."""
