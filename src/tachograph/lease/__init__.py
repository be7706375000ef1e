"""The lease: exclusive use of a device by a kernel lock."""
