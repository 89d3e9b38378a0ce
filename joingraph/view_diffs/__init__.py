"""What a batch did to the view: rows, i-diffs, nested lists, and the formats between them."""
