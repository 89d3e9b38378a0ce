"""The command `joingraph`: each subcommand is a function that prints and may raise."""
