"""How the simultaneous intervals of the scores are made.

1. `limits`: exact limits of a proportion (Clopper and Pearson), and how limits of two groups make an interval of their
   difference (Newcombe).
2. `mean_limits`: limits of a mean cost, by a Bayesian bootstrap with one more person.
3. `by_notion`: the interval of each notion for one subgroup, as an image of these limits.
4. `scores`: the level is divided by the number of subgroups searched (Bonferroni), so that the intervals hold for all
   of them at once, and the interval is turned towards the group that is worse off, so that it holds the score.
5. `over_draws`: with a posterior, the union of these intervals over the draws of a simultaneous region.

Beside them, `credible` makes the intervals of draws.
"""
