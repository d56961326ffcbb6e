"""Public programs: their own models, trained on made data by the originals and here, compared step by step."""
