"""What the embedded store's library can do at best with the rows of a task."""
