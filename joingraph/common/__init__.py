"""What every folder may use: errors, names in messages, progress, forks, files, what is closed."""
