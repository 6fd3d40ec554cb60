"""Why error rates are unequal: from a posterior, or from data and a causal diagram."""
