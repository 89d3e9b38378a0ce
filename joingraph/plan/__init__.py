"""Planning: a view's definition becomes its plan, all that is settled before the first diff."""
