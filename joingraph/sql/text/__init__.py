"""SQL text -> one syntax tree, with the place in the text of whatever is refused."""
