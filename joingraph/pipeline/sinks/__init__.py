"""Where view diffs go; a sink is one file."""
