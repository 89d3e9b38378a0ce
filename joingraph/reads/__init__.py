"""What is asked of a view and what is answered, as data; generators/ walk the graph."""
