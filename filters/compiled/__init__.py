"""The first stage, compiled: entries of a batch become ops over rows of words."""
