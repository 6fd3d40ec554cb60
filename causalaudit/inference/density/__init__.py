"""From a program and people to a log-density: parameters in unconstrained space, latents summed and integrated out.

`log_density` says what a sampler sees (the protocol `LogDensity`) and what our own methods use beyond it
(`ProgramDensity`); `marginal_density` and `joint_density` are its two kinds.
"""
