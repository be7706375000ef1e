"""The machine: devices, samples of the host while a run goes on, facts."""
