"""The steps when no task of a run can be claimed: recovery, replanning, the final check."""
