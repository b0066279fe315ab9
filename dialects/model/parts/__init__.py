"""The operations that a composite layer falls apart into: those of a router and of latent attention."""
