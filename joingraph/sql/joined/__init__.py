"""How a view's aliases are joined: trees of inner and outer joins, and of what is asked of rows."""
