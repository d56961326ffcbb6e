"""Public programs: their models are trained on synthetic data by the originals and here, and compared step by step."""
