"""What all images share: the bytecode step and the seccomp profile."""
