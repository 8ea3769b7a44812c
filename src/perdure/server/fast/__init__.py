"""The frequent answers, made inside the protocol class; held equal to the plain way by tests."""
