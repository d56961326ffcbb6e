"""Networks of the frontends as source code of torch."""
