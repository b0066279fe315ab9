"""The interface of model operations, and the rules that derivations and judges share."""
