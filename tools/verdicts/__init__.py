"""How the verdicts of bp-verify and the outcomes of bp-run are shown."""
