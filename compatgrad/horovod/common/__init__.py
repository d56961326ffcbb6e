"""What Horovod's packages for all frameworks share: who the processes are, and sets of them."""
