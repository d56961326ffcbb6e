"""Programs in several processes. Each test starts at most three, and has 30 seconds for the processes of a launch."""
