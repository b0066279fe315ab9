"""From a Hugging Face configuration to a model that a person could have written.

config.json --json_text--> nodes with places --reading--> slots of a family --decoder--> text of the model
"""
