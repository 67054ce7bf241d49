"""How people and programs talk to yaoki.  Faces hold no rules and do not know each other."""
