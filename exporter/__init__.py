"""From a plan to what other programs read: the traces of a training step or an inference phase, one a rank (Chakra)."""
