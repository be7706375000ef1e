"""What is in this machine: processor, memory, devices, libraries, environment."""
