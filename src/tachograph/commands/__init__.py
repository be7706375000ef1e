"""Subcommands of ``tachograph``, one file each: ``add_parser`` declares it, ``run`` does it."""
