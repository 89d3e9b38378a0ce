"""`joingraph demo`: timelines of a small social network, maintained while you watch."""
