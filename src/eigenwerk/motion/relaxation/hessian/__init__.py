"""Models of second derivatives: bonds with stiffnesses, and what changes of the gradient teach."""
