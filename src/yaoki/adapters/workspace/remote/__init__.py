"""The git remote that several machines share, if there is one."""
