"""Python modules of Towpath: `towpath.charm` has message-driven objects (chares)."""
