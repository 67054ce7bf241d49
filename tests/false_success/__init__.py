"""False success: cases in which a task could be DONE without being done, by class."""
