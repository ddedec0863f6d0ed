"""Settings of a program, `charm.options`."""


class Options:
    """A set of settings."""

    def __str__(self):
        return "".join(f"{name}: {value}\n" for name, value in vars(self).items()
                       if not isinstance(value, Options))


def default_options():
    """The settings that programs of charm4py may set. Only `remote_exec` changes anything here."""
    options = Options()
    options.profiling = False
    options.pickle_protocol = -1
    options.local_msg_optim = False
    options.local_msg_buf_size = 50
    options.auto_flush_wait_queues = True
    options.quiet = False
    options.remote_exec = False
    options.interactive = Options()
    options.interactive.verbose = 1
    options.interactive.broadcast_imports = True
    return options
