"""The journal as files beside the database: current lines, and archives of runs that left."""
