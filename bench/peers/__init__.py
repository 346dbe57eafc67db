"""Other task queues, one program each, run in an environment of their own."""
