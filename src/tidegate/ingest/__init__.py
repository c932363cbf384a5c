"""Reading sources in the driver's process: at once what is at hand, in threads what has to be waited for."""
