"""What a pipeline reports of itself: status, lag, time left."""
